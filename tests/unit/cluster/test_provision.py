"""Whose keys a cluster takes."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any, cast

import pytest

from nestor.api import labels
from nestor.cluster import pki, provision
from nestor.cluster.home import build_secret
from nestor.cluster.provision import ForeignObject, Provisioner
from nestor.cluster.shape import Shape
from nestor.kube import Api, Conflict, Kind, kinds
from nestor.kube.applier import Applier
from tests.unit.operator.builders import build_shape

Object = dict[str, Any]


class FakeApi(Api):
    """Has one Secret, and takes every apply."""

    def __init__(self, secret: Object) -> None:
        self.secret = secret

    async def find(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        """That Secret."""
        return self.secret

    async def apply(self, kind: Kind, body: Object, *, subresource: str | None = None) -> Object:
        """The body, with an address."""
        return {**body, "spec": {"clusterIP": "10.43.0.9"}}


async def test_keys_that_somebody_put_in_place_of_ours_are_told_and_not_used() -> None:
    content = pki.mint_authorities("hello", datetime.datetime.now(datetime.UTC)) | {"access-ca.key": b"x"}
    meta = {"name": "hello-pki", "namespace": "n"}
    provisioner = Provisioner(Applier(FakeApi(build_secret(meta, content))))
    with pytest.raises(ForeignObject, match="'hello-pki' in namespace 'n' does not hold Nestor's keys any more: restore it"):
        await provisioner.ensure_surroundings(build_shape())


class LateApi(FakeApi):
    """Does not show its Secret until another of that name is to be made."""

    async def find(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        """Nothing, but the authorities."""
        return self.secret if name.endswith("pki") else None

    async def create(self, kind: Kind, body: Object, **_: Any) -> Object:
        """It is there."""
        raise Conflict(409, "AlreadyExists", "it is there")

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """The Secret of somebody else."""
        return {"metadata": {"name": name, "labels": {labels.JOB_UID: "another"}}}


async def test_a_kubeconfigs_name_that_is_taken_meanwhile_is_refused() -> None:
    content = pki.mint_authorities("hello", datetime.datetime.now(datetime.UTC))
    provisioner = Provisioner(Applier(LateApi(build_secret({"name": "hello-pki"}, content))))
    shape = build_shape(kubeconfig={"name": "hello-kubeconfig", "namespace": "team-a", "labels": {labels.JOB_UID: "1234"}})
    await provisioner.ensure_surroundings(shape)
    for _ in range(2):
        with pytest.raises(ForeignObject, match="'hello-kubeconfig' in namespace 'team-a' already exists and is not Nestor's"):
            await provisioner.ensure_kubeconfig(shape, "10.43.0.5")


class Services(dict[str, Object]):
    """The operator's cache of them."""

    def get(self, name: str, namespace: str = "") -> Object | None:  # type: ignore[override]
        """One of them."""
        return super().get(name)


class Store(Api):
    """Keeps Secrets and Services, and counts what is written to each Secret."""

    def __init__(self) -> None:
        self.secrets: dict[str, Object] = {}
        self.services = Services()
        self.writes: list[str] = []
        self.patched: list[str | None] = []
        self.latest: dict[Kind, Object] = {}
        self.service: Object = {"metadata": {"labels": {labels.JOB_UID: "1234"}}, "spec": {"clusterIP": "10.43.0.9"}}

    async def find(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        """The Secret; or a Service, while there is a Secret."""
        if kind == kinds.SERVICE and self.secrets:
            return self.service
        return self.secrets.get(name)

    async def create(
        self, kind: Kind, body: Object, *, subresource: str | None = None, name: str | None = None, strict: bool = False
    ) -> Object:
        """Keep it."""
        return await self.apply(kind, body)

    async def apply(self, kind: Kind, body: Object, *, subresource: str | None = None) -> Object:
        """Keep it, or give it an address."""
        self.latest[kind] = body
        if kind == kinds.SECRET:
            self.secrets[body["metadata"]["name"]] = body
            self.writes.append(body["metadata"]["name"])
        if kind == kinds.SERVICE:
            body = self.services[body["metadata"]["name"]] = {**body, "spec": {**body["spec"], "clusterIP": "10.43.0.9"}}
        return body

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str | None,
        patch: Any,
        *,
        subresource: str | None = None,
        how: str = "merge",
        strict: bool = False,
    ) -> Object:
        """Merge data and annotations."""
        old = self.secrets[name]
        self.patched.append(patch["metadata"]["uid"])
        annotations = old["metadata"].get("annotations", {}) | patch["metadata"]["annotations"]
        new = {**old, "metadata": {**old["metadata"], "annotations": annotations}, "data": old["data"] | patch["data"]}
        return await self.apply(kind, new)


KUBECONFIG = {"name": "hello-kubeconfig", "namespace": "team-a", "labels": {labels.JOB_UID: "1234"}}


def provision_in(store: Store, lifetimes: pki.Lifetimes | None = None) -> Provisioner:
    """What an operator that has just started knows of the store."""
    return Provisioner(Applier(store, {kinds.SERVICE: cast(Any, store.services)}), lifetimes)


START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


async def ensure(provisioner: Provisioner, shape: Shape) -> None:
    """One pass over everything with keys."""
    addresses = await provisioner.ensure_surroundings(shape)
    await provisioner.ensure_access(shape, addresses)
    await provisioner.ensure_kubeconfig(shape, addresses.api)


async def test_certificates_are_renewed_in_time_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    store, shape = Store(), build_shape(kubeconfig=KUBECONFIG)
    provisioner = provision_in(store)
    written = {}
    for day in (0, 0.5, 1, 13, 14):
        monkeypatch.setattr(provision, "_now", lambda day=day: START + datetime.timedelta(days=day))
        await ensure(provisioner, shape)
        written[day], store.writes = sorted(store.writes), []
    assert written == {
        0: ["hello-access", "hello-kubeconfig", "hello-pki"],
        0.5: [],
        1: ["hello-kubeconfig"],
        13: ["hello-kubeconfig"],
        14: ["hello-access", "hello-kubeconfig"],
    }


async def test_with_lifetimes_of_seconds_nothing_remembered_stands_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    store, shape, second = Store(), build_shape(kubeconfig=KUBECONFIG), datetime.timedelta(seconds=1)
    provisioner = provision_in(store, pki.Lifetimes(14 * second, 14 * second))
    for seconds in (0, 1, 2, 7):
        monkeypatch.setattr(provision, "_now", lambda seconds=seconds: START + seconds * second)
        store.writes.clear()
        await ensure(provisioner, shape)
    assert sorted(store.writes) == ["hello-access", "hello-kubeconfig"]


async def test_a_rotation_changes_every_key_once() -> None:
    store, shape = Store(), build_shape(kubeconfig=KUBECONFIG)
    provisioner = provision_in(store)
    await ensure(provisioner, shape)
    old = {name: secret["data"] for name, secret in store.secrets.items()}
    store.writes.clear()
    wanted = replace(shape, rotation="leaked")
    await ensure(provisioner, wanted)
    assert sorted(store.writes) == ["hello-access", "hello-kubeconfig", "hello-pki"]
    kept = {key for key, value in old["hello-pki"].items() if store.secrets["hello-pki"]["data"][key] == value}
    assert old["hello-pki"].keys() - kept == {"access-ca.crt", "access-ca.key", "trusted-clients.crt"}
    store.writes.clear()
    for again in (provisioner, provision_in(store)):
        await ensure(again, wanted)
        await ensure(again, shape)  # the annotation is taken away
    assert store.writes == []


async def test_a_rotation_is_of_the_keys_that_were_read_and_not_of_their_successors() -> None:
    store, shape = Store(), build_shape(kubeconfig=KUBECONFIG)
    await ensure(provision_in(store), shape)
    store.secrets["hello-pki"]["metadata"]["uid"] = "u1"
    await ensure(provision_in(store), replace(shape, rotation="leaked"))
    assert store.patched == ["u1"]


async def test_keys_that_are_made_for_a_rotation_are_made_once() -> None:
    store, shape = Store(), build_shape(kubeconfig=KUBECONFIG, rotation="leaked")
    for provisioner in (provision_in(store), provision_in(store)):
        await ensure(provisioner, shape)
    assert sorted(store.writes) == ["hello-access", "hello-kubeconfig", "hello-pki"]


async def test_a_kubeconfig_that_somebody_changed_is_written_anew() -> None:
    store, shape = Store(), build_shape(kubeconfig=KUBECONFIG)
    await ensure(provision_in(store), shape)
    store.secrets["hello-kubeconfig"]["data"] = {"kubeconfig": "e30="}
    await ensure(provision_in(store), shape)
    authorities = pki.Authorities.from_secret(store.secrets["hello-pki"])
    assert pki.is_issued(store.secrets["hello-kubeconfig"], authorities, "10.43.0.9", datetime.datetime.now(datetime.UTC))


@pytest.mark.parametrize("is_made", [False, True])
async def test_keys_of_a_refused_cluster_are_kept_up_if_it_was_ever_made(is_made: bool) -> None:
    store, shape = Store(), build_shape(kubeconfig=KUBECONFIG)
    if is_made:
        await ensure(provision_in(store), shape)
        for name in ("hello-access", "hello-kubeconfig"):
            del store.secrets[name]
        store.writes.clear()
    await provision_in(store).keep_keys(shape)
    assert sorted(store.writes) == (["hello-access", "hello-kubeconfig"] if is_made else [])


@pytest.mark.parametrize("foreign", ["secret", "service"])
async def test_nothing_is_made_for_a_refused_cluster_whose_names_others_have(foreign: str) -> None:
    store, shape = Store(), build_shape(kubeconfig=KUBECONFIG)
    await ensure(provision_in(store), shape)
    found = store.secrets["hello-pki"] if foreign == "secret" else store.service
    found["metadata"] = found["metadata"] | {"labels": {labels.JOB_UID: "another"}}
    for name in ("hello-access", "hello-kubeconfig"):
        del store.secrets[name]
    store.writes.clear()
    await provision_in(store).keep_keys(shape)
    assert store.writes == []
