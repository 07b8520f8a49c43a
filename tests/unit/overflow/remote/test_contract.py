"""Another cluster keeps the contract. Logs and streams need an API server: `tests/integration/providers/test_remote.py`."""

import pytest

from nestor.api import labels
from nestor.api.objects import Object, labels_of
from nestor.kube import kinds
from nestor.overflow.remote.provider import RemoteProvider
from nestor.pods.providers.base import Backend
from tests.conformance.providers.backend import BackendContract, UpdatesContract
from tests.conformance.providers.contract import ListsContract
from tests.unit.overflow.remote.conftest import SPACE, Far, build_node
from tests.waiting import eventually


class RemotePlace:
    namespace = "pods"

    def __init__(self, far: Far, provider: RemoteProvider) -> None:
        self.provider: Backend = provider
        self._far = far

    def refuse(self, pod: Object) -> tuple[Object, str]:
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
        return pod | {"spec": pod["spec"] | {"volumes": [volume]}}, "`spec.volumes[0].persistentVolumeClaim`"

    async def start(self, pod: Object) -> None:
        self._far.api.run(pod["metadata"]["uid"])

    async def end(self, pod: Object, code: int) -> None:
        self._far.api.end(pod["metadata"]["uid"], code)

    async def finish(self, pod: Object) -> None:
        self._far.api.remove(self._far.api.of(pod["metadata"]["uid"]))

    async def forget(self, pod: Object) -> None:
        """Somebody removes it for good; the watch tells a moment later."""
        await self.finish(pod)

        async def is_known() -> bool:
            return not await self.provider.statuses([pod])

        await eventually(is_known)

    def count_starts(self, pod: Object) -> int:
        return self._far.api.starts[pod["metadata"]["uid"]]

    async def stop(self) -> None:
        self._far.api.is_down = True

    async def add_foreign(self, name: str) -> None:
        marks = {labels.BACKEND_UID: "other", labels.HOST_UID: name}
        meta = {"name": name, "namespace": SPACE, "labels": marks, "annotations": {labels.NESTED_NAME: name}}
        self._far.api.put(kinds.POD, {"metadata": meta, "spec": {"containers": []}})
        assert labels_of(self._far.api.of(name))


class TestRemote(BackendContract, ListsContract, UpdatesContract):
    """The contract."""

    @pytest.fixture
    async def place(self, far: Far) -> RemotePlace:
        far.api.put(kinds.NODE, build_node("a"))
        far.api.put(kinds.NODE, build_node("b", labels={"kubernetes.io/arch": "arm64"}, nvidia_com__gpu="2"))
        return RemotePlace(far, far.set_up(shape_labels=("kubernetes.io/arch",)))
