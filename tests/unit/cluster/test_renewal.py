"""Certificates over time: a due Secret is renewed by whoever sees it next, a current one costs no request."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from cryptography import x509

from nestor.api import labels, times
from nestor.cluster import pki
from nestor.cluster.pki import Authorities
from nestor.cluster.provision import Addresses, Provisioner
from nestor.cluster.shape import Shape
from nestor.kube import Api, kinds
from nestor.kube.applier import RESYNC_SECONDS, Applier
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import build_shape

Object = dict[str, Any]

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
ADDRESSES = Addresses("10.43.0.5", "10.43.0.6")
KUBECONFIG = {"name": "hello-kubeconfig", "namespace": "team-a", "labels": {labels.JOB_UID: "1234"}}

Ensure = Callable[[Provisioner, Shape], Awaitable[None]]


async def ensure_access(provisioner: Provisioner, shape: Shape) -> None:
    await provisioner.ensure_access(shape, ADDRESSES)


async def ensure_kubeconfig(provisioner: Provisioner, shape: Shape) -> None:
    await provisioner.ensure_kubeconfig(shape, ADDRESSES.api)


class Clock:
    """The time, as the tests set it."""

    def __init__(self) -> None:
        self.now = NOW

    def set(self, now: datetime.datetime) -> None:
        self.now = now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(times, "now", lambda: clock.now)
    return clock


@pytest.fixture
def shape() -> Shape:
    return build_shape(kubeconfig=KUBECONFIG)


class Scene:
    """A cluster's Secret in a memory API, and the operators that look after it, one after another."""

    def __init__(self, shape: Shape, name: str, namespace: str, ensure: Ensure) -> None:
        self.api = MemoryApi()
        self._shape, self._name, self._namespace, self._ensure = shape, name, namespace, ensure
        self._provisioner = self._start()

    def _start(self) -> Provisioner:
        services = SimpleNamespace(get=lambda name, namespace: self.api.look(kinds.SERVICE, name, namespace))
        return Provisioner(Applier(cast(Api, self.api), {kinds.SERVICE: cast(Any, services)}))

    def restart(self) -> None:
        """Another process, which remembers nothing."""
        self._provisioner = self._start()

    async def look_after(self) -> Object:
        """One pass; the Secret after it."""
        await self._provisioner.ensure_surroundings(self._shape)
        self.api.asked.clear()
        await self._ensure(self._provisioner, self._shape)
        found = self.api.look(kinds.SECRET, self._name, self._namespace)
        assert found is not None
        return found

    @property
    def asked_for_secrets(self) -> list[str]:
        """The last pass's requests for Secrets."""
        return [line for line in self.api.asked if " secrets " in line]


@pytest.fixture(params=["access", "kubeconfig"])
def scene(request: pytest.FixtureRequest, shape: Shape, clock: Clock) -> Scene:
    if request.param == "access":
        return Scene(shape, "hello-access", shape.namespace, ensure_access)
    return Scene(shape, "hello-kubeconfig", "team-a", ensure_kubeconfig)


def renewal_of(secret: Object) -> datetime.datetime:
    """When it is due."""
    return datetime.datetime.fromisoformat(secret["metadata"]["annotations"][labels.RENEW_AFTER])


def certificates_of(secret: Object) -> dict[str, x509.Certificate]:
    """Every leaf certificate in it, by key."""
    found = {}
    for key, value in secret["data"].items():
        content = base64.b64decode(value)
        if key.endswith("kubeconfig"):
            # One of them names files, which are in the Secret as well.
            content = base64.b64decode(json.loads(content)["users"][0]["user"].get("client-certificate-data", ""))
        if content.startswith(b"-----BEGIN CERTIFICATE"):
            found[key] = x509.load_pem_x509_certificate(content)
    return {
        key: item for key, item in found.items() if not item.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    }


@pytest.mark.parametrize("is_restarted", [False, True], ids=["the same process", "a process started since"])
async def test_a_due_secret_is_renewed_with_all_of_its_certificates(scene: Scene, clock: Clock, is_restarted: bool) -> None:
    first = await scene.look_after()
    before = certificates_of(first)
    clock.set(renewal_of(first) + datetime.timedelta(seconds=1))
    if is_restarted:
        scene.restart()
    second = await scene.look_after()
    after = certificates_of(second)
    assert before.keys() == after.keys() != set()
    for key, certificate in after.items():
        assert certificate.not_valid_after_utc > before[key].not_valid_after_utc, key
    assert renewal_of(second) > clock.now


@pytest.mark.parametrize("is_restarted", [False, True], ids=["the same process", "a process started since"])
async def test_a_secret_that_is_not_due_is_left_as_it_is(scene: Scene, clock: Clock, is_restarted: bool) -> None:
    first = await scene.look_after()
    clock.set(renewal_of(first) - datetime.timedelta(seconds=1))
    if is_restarted:
        scene.restart()
    assert await scene.look_after() == first
    # It is asked for: that it was current once does not mean that it is now.
    assert [line.split()[0] for line in scene.asked_for_secrets] == ["GET"]


async def test_a_secret_seen_a_moment_ago_is_not_asked_for_again(scene: Scene, clock: Clock) -> None:
    await scene.look_after()
    clock.set(NOW + datetime.timedelta(seconds=RESYNC_SECONDS - 1))
    await scene.look_after()
    assert scene.asked_for_secrets == []
    clock.set(NOW + datetime.timedelta(seconds=RESYNC_SECONDS + 1))
    await scene.look_after()
    assert [line.split()[0] for line in scene.asked_for_secrets] == ["GET"]


async def test_every_certificate_outlives_the_time_of_its_renewal(scene: Scene) -> None:
    """Whoever issues a certificate for less would have its holder fail before anybody renews it."""
    secret = await scene.look_after()
    found = certificates_of(secret)
    for key, certificate in found.items():
        assert certificate.not_valid_after_utc > renewal_of(secret), key


async def test_a_secret_of_other_authorities_is_made_anew(scene: Scene, shape: Shape) -> None:
    """The cluster was made again: what the earlier one signed opens nothing any more."""
    first = await scene.look_after()
    authorities = Authorities.from_secret(scene.api.look(kinds.SECRET, "hello-pki", shape.namespace) or {})
    scene.api.drop(kinds.SECRET, "hello-pki", shape.namespace)
    scene.restart()
    second = await scene.look_after()
    successors = Authorities.from_secret(scene.api.look(kinds.SECRET, "hello-pki", shape.namespace) or {})
    assert authorities != successors
    keys = [secret["metadata"]["annotations"][labels.CONTENT_KEY] for secret in (first, second)]
    assert keys == [pki.content_key(item, ADDRESSES.api) for item in (authorities, successors)]
