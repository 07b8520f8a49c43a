"""Another cluster as a backend, by a real API server and the documented rights.

What needs a kubelet there (that commands run, that logs have lines) is in `tests/e2e/test_overflow_remote.py`.
"""

import dataclasses
import re
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api import labels
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from nestor.overflow.remote.provider import RemoteProvider
from nestor.pods.providers.base import Backend, Inputs
from nestor.pods.providers.errors import InvalidInput, NoRoom, Unauthorized
from tests.conformance.providers.backend import BackendContract, UpdatesContract
from tests.conformance.providers.contract import ListsContract, LogsContract, StreamsContract
from tests.integration.apiserver import ControlPlane
from tests.integration.providers import remote
from tests.integration.providers.remote import Far
from tests.unit.overflow.remote.conftest import build_pod as build_named
from tests.waiting import eventually

CONFIG = {"metadata": {"name": "settings"}, "data": {"a": "1"}}
VOLUME = {"name": "v", "configMap": {"name": "settings"}}


@pytest.fixture
async def far(host: Api, control_plane: ControlPlane) -> AsyncIterator[Far]:
    """A fresh namespace of the other cluster."""
    async with remote.opened(host, control_plane) as found:
        yield found


class RemotePlace:
    """A namespace of the other cluster."""

    namespace = "pods"

    def __init__(self, far: Far, provider: RemoteProvider) -> None:
        self.provider: Backend = provider
        self._far = far
        self._provider = provider

    def refuse(self, pod: Object) -> tuple[Object, str]:
        """A container without an image's name."""
        return pod | {"spec": pod["spec"] | {"containers": [{"name": "No Name", "image": "x"}]}}, "spec.containers[0].name"

    async def start(self, pod: Object) -> None:
        """A kubelet runs it."""
        await self._far.run(pod["metadata"]["uid"])

    async def end(self, pod: Object, code: int) -> None:
        """A kubelet has run it."""
        await self._far.end(pod["metadata"]["uid"], code)

    async def finish(self, pod: Object) -> None:
        """The kubelet's last request."""
        await self._far.remove(pod["metadata"]["uid"])

    async def forget(self, pod: Object) -> None:
        """Somebody removes it for good; the watch tells a moment later."""
        await self._far.remove(pod["metadata"]["uid"])

        async def is_unknown() -> bool:
            return not await self.provider.statuses([pod])

        await eventually(is_unknown)

    def count_starts(self, pod: Object) -> int:
        """Creations, by UID."""
        return self._far.starts[pod["metadata"]["uid"]]

    async def stop(self) -> None:
        """Nobody listens there any more."""
        api = self._provider._cluster.api
        api._connection = dataclasses.replace(api._connection, server="https://127.0.0.1:1")

    async def add_foreign(self, name: str) -> None:
        """A pod of another backend in the same namespace."""
        marks = {labels.BACKEND_UID: "other", labels.HOST_UID: name}
        meta = {"name": name, "namespace": self._far.space, "labels": marks, "annotations": {labels.NESTED_NAME: name}}
        spec = {"containers": [{"name": "app", "image": "example/web:1"}], "automountServiceAccountToken": False}
        await self._far.api.create(kinds.POD, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


class TestRemote(BackendContract, ListsContract, UpdatesContract, LogsContract, StreamsContract):
    """The contract."""

    @pytest.fixture
    async def place(self, far: Far) -> RemotePlace:
        """A namespace with all documented rights."""
        return RemotePlace(far, await far.connect())


def build_pod(name: str = "web", **spec: Any) -> Object:
    """A host pod with a UID of its own."""
    return build_named(name, str(uuid.uuid4()), **spec)


async def test_copies_belong_to_the_pod_and_go_with_it(far: Far) -> None:
    provider = await far.connect()
    sources = [{"serviceAccountToken": {"path": "token"}}]
    pod = build_pod(volumes=[VOLUME, {"name": "t", "projected": {"sources": sources}}], imagePullSecrets=[{"name": "pull"}])
    pull = {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "e30="}}
    inputs = Inputs({"settings": CONFIG}, {"pull": pull}, {("t", "token"): "one"}, {"KUBERNETES_SERVICE_HOST": "10.43.0.1"})
    await provider.create(pod, inputs)
    there = await far.of(pod["metadata"]["uid"])
    assert "schedulingGates" not in there["spec"]
    copies = [
        item for kind in (kinds.CONFIG_MAP, kinds.SECRET) for item in await far.api.list(kind, far.space, labels=labels.HOST_UID)
    ]
    assert len(copies) == 4
    assert {item["metadata"]["ownerReferences"][0]["uid"] for item in copies} == {there["metadata"]["uid"]}
    assert there["spec"]["serviceAccountName"] == "default"
    assert not [item for item in there["spec"]["volumes"] if item["name"].startswith("kube-api-access")]
    await provider.delete(pod)

    async def is_clean() -> bool:
        return not [*await far.names(kinds.CONFIG_MAP), *await far.names(kinds.SECRET), *await far.names(kinds.POD)]

    await eventually(is_clean)


async def set_quota(far: Far, **amounts: str) -> None:
    """A quota that counts already."""
    body: Object = {"metadata": {"name": "team", "namespace": far.space}, "spec": {"hard": amounts}}
    await far.api.apply(kinds.RESOURCE_QUOTA, body)

    async def counts() -> bool:
        found = await far.api.get(kinds.RESOURCE_QUOTA, "team", far.space)
        return bool((found.get("status") or {}).get("hard") == amounts)

    await eventually(counts)


async def refused(provider: RemoteProvider, kind: type[InvalidInput]) -> str:
    """The text of a refusal, as soon as the API server knows its new rules."""

    async def attempt() -> str | None:
        try:
            await provider.create(build_pod())
        except kind as error:
            return error.message
        return None

    return await eventually(attempt)


async def test_a_quota_is_the_pods_reason(far: Far) -> None:
    await set_quota(far, pods="0")
    provider = await far.connect()
    text = await refused(provider, NoRoom)
    assert re.fullmatch(r"exceeded quota: team, requested: pods=1, used: pods=\d+, limited: pods=0", text)
    await set_quota(far, pods="50")
    pod = build_pod()

    async def is_taken() -> bool:
        try:
            await provider.create(pod)
        except NoRoom:
            return False
        return True

    await eventually(is_taken)


async def test_what_the_namespace_refuses_is_the_pods_fault(far: Far) -> None:
    patch = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    await far.api.patch(kinds.NAMESPACE, far.space, None, patch)
    text = await refused(await far.connect(), InvalidInput)
    assert "violates PodSecurity" in text


async def test_a_field_that_an_older_cluster_does_not_know_is_named(far: Far) -> None:
    with pytest.raises(InvalidInput, match=r'unknown field "spec.containers\[0\].securityContext.ofTheFuture"'):
        await (await far.connect()).create(build_pod(container={"securityContext": {"ofTheFuture": True}}))


async def test_missing_rights_are_named(far: Far) -> None:
    await far.api.patch(kinds.ROLE, "nestor", far.space, {"rules": []})
    await far.until_may("list", "pods", is_allowed=False)
    provider = await far.connect()
    with pytest.raises(Unauthorized, match='cannot list resource "pods"'):
        await provider.check()
    with pytest.raises(Unauthorized, match='cannot create resource "pods"'):
        await provider.create(build_pod())
    with pytest.raises(Unauthorized):
        await provider.statuses([build_pod()])


async def test_a_wrong_token_is_not_accepted_and_a_new_one_is_read(far: Far) -> None:
    provider, good = await far.connect(), far.token
    far.token = "nonsense"
    with pytest.raises(Unauthorized):
        await provider.check()
    far.token = good
    await provider.check()
