"""Whose keys a cluster takes."""

from __future__ import annotations

import base64
import datetime
from typing import Any

import pytest

from nestor.api import labels
from nestor.cluster import pki
from nestor.cluster.access import build_secret
from nestor.cluster.provision import Addresses, ForeignObject, Provisioner
from nestor.kube import Api, Conflict, Kind, RetryLater
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


@pytest.mark.parametrize(("owner", "is_taken"), [("now", True), ("before", False), (None, True)])
async def test_keys_of_a_deleted_cluster_of_the_same_name_are_not_taken_over(owner: str | None, is_taken: bool) -> None:
    content = pki.mint_authorities("hello", datetime.datetime.now(datetime.UTC))
    owners = [{"uid": owner}] if owner else []
    provisioner = Provisioner(Applier(FakeApi(build_secret({"name": "hello-pki", "ownerReferences": owners}, content))))
    work = provisioner.ensure_surroundings(build_shape(owner={"uid": "now"}))
    if is_taken:
        assert (await work).api == "10.43.0.9"
        return
    with pytest.raises(RetryLater, match="of an earlier cluster with this name is being deleted"):
        await work


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
        return {"metadata": {"name": name, "labels": {labels.CLUSTER: "another"}}}


async def test_a_kubeconfigs_name_that_is_taken_meanwhile_is_refused() -> None:
    content = pki.mint_authorities("hello", datetime.datetime.now(datetime.UTC))
    provisioner = Provisioner(Applier(LateApi(build_secret({"name": "hello-pki"}, content))))
    shape = build_shape(kubeconfig={"name": "hello-kubeconfig", "namespace": "team-a", "labels": {labels.CLUSTER: "hello"}})
    await provisioner.ensure_surroundings(shape)
    for _ in range(2):
        with pytest.raises(ForeignObject, match="'hello-kubeconfig' in namespace 'team-a' already exists and is not Nestor's"):
            await provisioner.ensure_kubeconfig(shape, Addresses("10.43.0.5", "10.43.0.6"))


class KeptApi(FakeApi):
    """Has the authorities, and one kubeconfig as it was applied or tampered with last."""

    kubeconfig: Object | None = None
    applied = 0

    async def find(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        """One of the two."""
        return self.secret if name.endswith("pki") else self.kubeconfig

    async def create(
        self, kind: Kind, body: Object, *, subresource: str | None = None, name: str | None = None, strict: bool = False
    ) -> Object:
        """Keep it."""
        self.kubeconfig = body
        return body

    async def apply(self, kind: Kind, body: Object, *, subresource: str | None = None) -> Object:
        """Keep it."""
        if kind.plural == "secrets":
            self.kubeconfig, self.applied = body, self.applied + 1
        return await super().apply(kind, body)


@pytest.mark.parametrize("is_tampered", [False, True])
async def test_a_kubeconfig_that_somebody_changed_is_made_anew_whatever_its_annotations_say(is_tampered: bool) -> None:
    content = pki.mint_authorities("hello", datetime.datetime.now(datetime.UTC))
    api = KeptApi(build_secret({"name": "hello-pki"}, content))
    shape = build_shape(kubeconfig={"name": "hello-kubeconfig", "namespace": "team-a", "labels": {labels.CLUSTER: "hello"}})
    for _ in range(2):
        provisioner = Provisioner(Applier(api))  # as after a restart: nothing is remembered
        await provisioner.ensure_surroundings(shape)
        await provisioner.ensure_kubeconfig(shape, Addresses("10.43.0.5", "10.43.0.6"))
        assert api.kubeconfig is not None
        before = api.kubeconfig["data"]
        if is_tampered:
            api.kubeconfig = api.kubeconfig | {"data": {"kubeconfig": base64.b64encode(b'{"users": []}').decode()}}
    assert api.applied == int(is_tampered)
    assert before["kubeconfig"] != base64.b64encode(b'{"users": []}').decode()
