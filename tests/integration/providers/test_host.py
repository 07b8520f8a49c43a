"""The host cluster keeps the contract, on a real API server whose scheduler and kubelet are played."""

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, kinds
from nestor.pods.providers.errors import InvalidInput
from tests.conformance.providers.contract import HostContract, LogsContract, Place, StreamsContract, build_pod
from tests.fakes.host import ReadableHost
from tests.waiting import eventually

NODE = "conformance"


class HostPlace:
    """A namespace of a bare control plane, where Pod Security `baseline` holds."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.provider = ReadableHost(api)
        self.namespace = namespace
        self.invalid_patch: Object = {"spec": {"hostNetwork": True}}
        self._api = api

    def refuse(self, pod: Object) -> tuple[Object, str]:
        """A container without an image's name."""
        return pod | {"spec": pod["spec"] | {"containers": [{"name": "No Name", "image": "x"}]}}, "spec.containers[0].name"

    async def start(self, pod: Object) -> Object:
        """Bound to a node: only its kubelet ends it."""
        meta = pod["metadata"]
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": NODE},
        }
        await self._api.create(kinds.POD, body, subresource="binding", name=meta["name"])
        return await self._api.get(kinds.POD, meta["name"], meta["namespace"])

    async def finish(self, pod: Object) -> None:
        """The kubelet's last request."""
        await self._api.delete(kinds.POD, pod["metadata"]["name"], self.namespace, grace_seconds=0)

    async def change(self, pod: Object) -> None:
        """Somebody else writes an annotation."""
        await self._api.patch(kinds.POD, pod["metadata"]["name"], self.namespace, {"metadata": {"annotations": {"a": "b"}}})


class TestHostProvider(HostContract, LogsContract, StreamsContract):
    """The contract, in the host cluster."""

    @pytest.fixture
    async def place(self, host: Api, namespace: str) -> HostPlace:
        """A fresh namespace that takes pods, and a node."""
        await eventually(lambda: host.find(kinds.SERVICE_ACCOUNT, "default", namespace))
        await host.apply(kinds.NODE, {"metadata": {"name": NODE}})
        return HostPlace(host, namespace)

    async def test_fields_that_an_older_host_does_not_know_are_named(self, place: Place, name: str) -> None:
        pod = build_pod(place, name)
        future = pod | {"spec": pod["spec"] | {"hostnameOfTheFuture": "web"}}
        with pytest.raises(InvalidInput, match=r'unknown field "spec.hostnameOfTheFuture"'):
            await place.provider.create(future)
        created = await place.provider.create(pod)
        debug = {"name": "debug", "image": "x", "fieldOfTheFuture": True}
        with pytest.raises(InvalidInput, match=r'unknown field "spec.ephemeralContainers\[0\].fieldOfTheFuture"'):
            await place.provider.patch(created, {"spec": {"ephemeralContainers": [debug]}}, "ephemeralcontainers")
