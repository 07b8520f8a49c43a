"""Whose keys a cluster takes, and when they are renewed: a due Secret by whoever sees it next, a current one costs nothing."""

import base64
import datetime
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from cryptography import x509

from nestor.api import labels, times
from nestor.cluster import pki
from nestor.cluster.pki import Authorities
from nestor.cluster.provision import ForeignObject, Provisioner
from nestor.kube import Api, Kind, kinds
from nestor.kube.applier import RESYNC_SECONDS, Applier
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import build_shape

Object = dict[str, Any]

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
DAY, SECOND = datetime.timedelta(days=1), datetime.timedelta(seconds=1)
PKI, ACCESS, KUBECONFIG = "hello-pki", "hello-access", "hello-kubeconfig"
RENEWED = pytest.mark.parametrize("name", [ACCESS, KUBECONFIG])


class Clock:
    """The time, as the tests set it."""

    now = NOW


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(times, "now", lambda: clock.now)
    return clock


class Scene:
    """A cluster in a memory API, and the operators that look after it, one after another."""

    def __init__(self, lifetimes: pki.Lifetimes | None = None, api: MemoryApi | None = None) -> None:
        self.api, self._lifetimes = api or MemoryApi(), lifetimes
        self.shape = build_shape(kubeconfig={"name": KUBECONFIG, "namespace": "team-a", "labels": {labels.JOB_UID: "1234"}})
        self.restart()

    def restart(self) -> None:
        """Another process, which remembers nothing."""
        services = SimpleNamespace(get=lambda name, namespace: self.api.look(kinds.SERVICE, name, namespace))
        applier = Applier(cast(Api, self.api), {kinds.SERVICE: cast(Any, services)})
        self.provisioner = Provisioner(applier, self._lifetimes)

    async def look_after(self, **changes: Any) -> list[str]:
        """One pass over everything with keys; the Secrets that it writes."""
        shape = replace(self.shape, **changes)
        self.api.asked.clear()
        addresses = await self.provisioner.ensure_surroundings(shape)
        await self.provisioner.ensure_access(shape, addresses)
        await self.provisioner.ensure_kubeconfig(shape, addresses.api)
        return self.list_asked(is_written=True)

    def list_asked(self, *, is_written: bool) -> list[str]:
        """The Secrets that were written, or read, in this pass."""
        found = [line.split(" ") for line in self.api.asked if " secrets " in line]
        return sorted(where.rpartition("/")[2] for verb, _, where in found if (verb != "GET") is is_written)

    def secret(self, name: str) -> Object:
        found = self.api.look(kinds.SECRET, name, self._where(name))
        assert found is not None
        return found

    def drop(self, *names: str) -> None:
        for name in names:
            self.api.drop(kinds.SECRET, name, self._where(name))

    def _where(self, name: str) -> str:
        return "team-a" if name == KUBECONFIG else self.shape.namespace


@pytest.fixture
def scene(clock: Clock) -> Scene:
    return Scene()


def renewal_of(secret: Object) -> datetime.datetime:
    """When it is due."""
    return datetime.datetime.fromisoformat(secret["metadata"]["annotations"][labels.RENEW_AFTER])


def ends_of(secret: Object) -> dict[str, datetime.datetime]:
    """When each leaf certificate in it ends, by key."""
    found = {}
    for key, value in secret["data"].items():
        content = base64.b64decode(value)
        if key.endswith("kubeconfig"):
            # One of them names files, which are in the Secret as well.
            content = base64.b64decode(json.loads(content)["users"][0]["user"].get("client-certificate-data", ""))
        if content.startswith(b"-----BEGIN CERTIFICATE"):
            item = x509.load_pem_x509_certificate(content)
            if not item.extensions.get_extension_for_class(x509.BasicConstraints).value.ca:
                found[key] = item.not_valid_after_utc
    return found


@pytest.mark.parametrize("is_restarted", [False, True], ids=["the same process", "a process started since"])
async def test_certificates_are_renewed_in_time_and_not_before(scene: Scene, clock: Clock, is_restarted: bool) -> None:
    written = {}
    for day in (0, 0.5, 1, 13, 14):
        clock.now = NOW + day * DAY
        if is_restarted:
            scene.restart()
        written[day] = await scene.look_after()
    assert written == {0: [ACCESS, KUBECONFIG, PKI], 0.5: [], 1: [KUBECONFIG], 13: [KUBECONFIG], 14: [ACCESS, KUBECONFIG]}


@RENEWED
async def test_a_due_secret_is_renewed_with_all_of_its_certificates_which_outlive_the_time_of_that(
    scene: Scene, clock: Clock, name: str
) -> None:
    """Whoever issues a certificate for less would have its holder fail before anybody renews it."""
    await scene.look_after()
    first = scene.secret(name)
    before = ends_of(first)
    clock.now = renewal_of(first) + SECOND
    await scene.look_after()
    second = scene.secret(name)
    after = ends_of(second)
    assert before.keys() == after.keys() != set()
    assert all(end > before[key] for key, end in after.items())
    assert min(before.values()) > renewal_of(first)
    assert min(after.values()) > renewal_of(second) > clock.now


async def test_a_secret_seen_a_moment_ago_is_not_asked_for_again(scene: Scene, clock: Clock) -> None:
    await scene.look_after()
    clock.now = NOW + (RESYNC_SECONDS - 1) * SECOND
    await scene.look_after()
    assert scene.list_asked(is_written=False) == []
    clock.now = NOW + (RESYNC_SECONDS + 1) * SECOND
    await scene.look_after()
    # That it was current once does not mean that it is now.
    assert scene.list_asked(is_written=False) == [ACCESS, KUBECONFIG]


@RENEWED
async def test_a_secret_of_other_authorities_is_made_anew(scene: Scene, name: str) -> None:
    """The cluster was made again: what the earlier one signed opens nothing any more."""
    await scene.look_after()
    first, authorities = scene.secret(name), Authorities.from_secret(scene.secret(PKI))
    scene.drop(PKI)
    scene.restart()
    await scene.look_after()
    second, successors = scene.secret(name), Authorities.from_secret(scene.secret(PKI))
    assert authorities != successors
    keys = [secret["metadata"]["annotations"][labels.CONTENT_KEY] for secret in (first, second)]
    assert keys == [pki.content_key(item, "10.43.0.9") for item in (authorities, successors)]


async def test_with_lifetimes_of_seconds_nothing_remembered_stands_in_the_way(clock: Clock) -> None:
    scene, written = Scene(pki.Lifetimes(14 * SECOND, 14 * SECOND)), []
    for seconds in (0, 1, 2, 7):
        clock.now = NOW + seconds * SECOND
        written = await scene.look_after()
    assert written == [ACCESS, KUBECONFIG]


async def test_a_rotation_changes_every_key_once(scene: Scene) -> None:
    await scene.look_after()
    old = scene.secret(PKI)["data"]
    assert await scene.look_after(rotation="leaked") == [ACCESS, KUBECONFIG, PKI]
    new = scene.secret(PKI)["data"]
    assert {key for key in old if old[key] != new[key]} == {"access-ca.crt", "access-ca.key", "trusted-clients.crt"}
    for _ in range(2):
        assert await scene.look_after(rotation="leaked") == []
        assert await scene.look_after() == []  # the annotation is taken away
        scene.restart()


async def test_a_rotation_is_of_the_keys_that_were_read_and_not_of_their_successors(scene: Scene) -> None:
    await scene.look_after()
    uid = scene.secret(PKI)["metadata"]["uid"]
    scene.restart()
    scene.api.bodies.clear()
    await scene.look_after(rotation="leaked")
    (patch,) = [body for body in scene.api.bodies if body and body.get("metadata", {}).keys() == {"uid", "annotations"}]
    assert patch["metadata"]["uid"] == uid


async def test_keys_that_are_made_for_a_rotation_are_made_once(scene: Scene) -> None:
    assert await scene.look_after(rotation="leaked") == [ACCESS, KUBECONFIG, PKI]
    scene.restart()
    assert await scene.look_after(rotation="leaked") == []


@pytest.mark.parametrize("foreign", [None, kinds.SECRET, kinds.SERVICE], ids=["ours", "foreign keys", "foreign service"])
async def test_keys_of_a_refused_cluster_are_kept_up_if_it_was_ever_made_and_is_ours(scene: Scene, foreign: Kind | None) -> None:
    await scene.provisioner.keep_keys(scene.shape)
    assert scene.api.objects == {}
    await scene.look_after()
    scene.drop(ACCESS, KUBECONFIG)
    if foreign is not None:
        name = PKI if foreign is kinds.SECRET else "hello-k3s"
        found = scene.api.look(foreign, name, scene.shape.namespace) or {}
        found["metadata"]["labels"] = {labels.JOB_UID: "another"}
        scene.api.put(foreign, found)
    scene.restart()
    scene.api.asked.clear()
    await scene.provisioner.keep_keys(scene.shape)
    assert scene.list_asked(is_written=True) == ([] if foreign else [ACCESS, KUBECONFIG])


async def test_keys_that_somebody_put_in_place_of_ours_are_told_and_not_used(scene: Scene) -> None:
    await scene.look_after()
    found = scene.secret(PKI)
    scene.api.put(kinds.SECRET, found | {"data": found["data"] | {"access-ca.key": "eA=="}})
    scene.restart()
    with pytest.raises(ForeignObject, match=r"'hello-pki' in namespace '.*' does not hold Nestor's keys any more: restore it"):
        await scene.look_after()


class LateApi(MemoryApi):
    """Does not show a kubeconfig until another of its name is to be made."""

    async def find(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        return None if name == KUBECONFIG else await super().find(kind, name, namespace)

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        return self.look(kind, name, namespace or "") or {}


async def test_a_kubeconfigs_name_that_is_taken_meanwhile_is_refused() -> None:
    scene = Scene(api=LateApi())
    scene.api.put(kinds.SECRET, {"metadata": {"name": KUBECONFIG, "namespace": "team-a", "labels": {labels.JOB_UID: "another"}}})
    for _ in range(2):
        with pytest.raises(ForeignObject, match="'hello-kubeconfig' in namespace 'team-a' already exists and is not Nestor's"):
            await scene.look_after()
