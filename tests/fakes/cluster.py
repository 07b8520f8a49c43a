"""Another cluster in memory: an API server that validates little, a garbage collector, and kubelets that the tests play."""

from collections import Counter
from typing import Any

from nestor.api import labels
from nestor.api.objects import Object
from nestor.kube import Kind, kinds
from tests.fakes.api import MemoryApi

STARTED = "2030-01-01T00:00:00Z"


class MemoryCluster(MemoryApi):
    """Pods that are bound to a node take a while to end; the others go at once, and their copies with them."""

    host = "https://far.example"

    def __init__(self) -> None:
        super().__init__()
        self.starts: Counter[str] = Counter()

    async def close(self) -> None:
        """See `Api.close`."""

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        version: str | None = None,
        grace_seconds: int | None = None,
        **_: Any,
    ) -> bool:
        """See `Api.delete`. A kubelet ends a pod at once that has a second."""
        if kind != kinds.POD:
            return await super().delete(kind, name, namespace, uid=uid)
        await self._enter("DELETE", kind, namespace, name)
        self.bodies[-1] = grace_seconds
        now = self.look(kind, name, namespace or "")
        if now is None or (uid and now["metadata"]["uid"] != uid) or version not in (None, now["metadata"]["resourceVersion"]):
            return False
        grace = now["spec"].get("terminationGracePeriodSeconds", 30) if grace_seconds is None else grace_seconds
        is_over = now["status"].get("phase") in ("Succeeded", "Failed")
        if not now["spec"].get("nodeName") or is_over or grace <= 1:
            self.remove(now)
        else:
            now["metadata"] |= {"deletionTimestamp": STARTED, "deletionGracePeriodSeconds": grace}
            self.put(kind, now)
        return True

    def remove(self, pod: Object) -> None:
        """Have a pod gone, with everything that belongs to it."""
        meta = pod["metadata"]
        self.drop(kinds.POD, meta["name"], meta["namespace"])
        for (plural, namespace, name), item in list(self.objects.items()):
            if any(owner["uid"] == meta["uid"] for owner in item["metadata"].get("ownerReferences") or ()):
                assert plural in ("configmaps", "secrets")
                self.drop(kinds.SECRET if plural == "secrets" else kinds.CONFIG_MAP, name, namespace)

    def of(self, uid: str) -> Object:
        """The pod that runs for a host pod."""
        (found,) = [item for item in self.every("pods") if item["metadata"]["labels"].get(labels.HOST_UID) == uid]
        return found

    def tell(self, uid: str, **status: Any) -> None:
        """The kubelet writes a pod's status."""
        pod = self.of(uid)
        self.put(kinds.POD, pod | {"status": pod["status"] | status})

    def run(self, uid: str) -> None:
        """The pod is placed and runs."""
        pod = self.of(uid)
        assert not pod["spec"].get("schedulingGates")
        pod["spec"]["nodeName"] = "node-1"
        self.put(kinds.POD, pod | {"status": build_running(pod)})

    def end(self, uid: str, code: int) -> None:
        """The pod's containers end."""
        pod = self.of(uid)
        self.put(kinds.POD, pod | {"status": build_ended(pod, code)})

    def _leave(self, verb: str, kind: Kind, made: Object) -> Object:
        if verb == "POST" and kind == kinds.POD:
            made = self.put(kind, made | {"status": {"phase": "Pending"}})
            self.starts[made["metadata"]["labels"].get(labels.HOST_UID, "")] += 1
        return super()._leave(verb, kind, made)


def build_running(pod: Object) -> Object:
    """The status of a pod that runs, as a kubelet writes it."""
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": STARTED} for kind in ("PodScheduled", "Ready", "ContainersReady")
    ]
    state = {"running": {"startedAt": STARTED}}
    items = [_container(item, state, is_ready=True) for item in pod["spec"]["containers"]]
    own = {"phase": "Running", "startTime": STARTED, "podIP": "10.9.9.9", "hostIP": "192.0.2.1", "qosClass": "BestEffort"}
    return own | {"conditions": conditions, "containerStatuses": items}


def build_ended(pod: Object, code: int) -> Object:
    """The status of a pod that has ended."""
    state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": STARTED}}
    items = [_container(item, state, is_ready=False) for item in pod["spec"]["containers"]]
    return {"phase": "Failed" if code else "Succeeded", "startTime": STARTED, "containerStatuses": items}


def _container(item: Object, state: Object, *, is_ready: bool) -> Object:
    plain = {"name": item["name"], "image": item["image"], "imageID": "sha256:1", "restartCount": 0, "lastState": {}}
    return plain | {"ready": is_ready, "started": is_ready, "state": state, "containerID": "containerd://1"}
