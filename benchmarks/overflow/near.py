"""A node of the host cluster itself, whose kubelet takes no time: what is left is Kubernetes' own share."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from nestor.api.objects import Object, is_terminating
from nestor.api.pod_status import is_terminal
from nestor.api.times import timestamp
from nestor.kube import Api, Change, Informer, NotFound, WorkQueue, kinds

NODE = "near"


@contextlib.asynccontextmanager
async def near(api: Api, space: str) -> AsyncIterator[str]:
    """The node, for the length of a `with` block; yields its name."""
    await api.create(kinds.NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    pods = Informer(api, kinds.POD, space, fields=f"spec.nodeName={NODE}")

    async def work(name: str) -> None:
        pod = pods.get(name, space)
        if pod is None:
            return
        with contextlib.suppress(NotFound):
            if is_terminating(pod):
                await api.delete(kinds.POD, name, space, grace_seconds=0)
            elif not is_terminal(pod):
                await api.patch(kinds.POD, name, space, {"status": _end(pod)}, subresource="status")

    queue: WorkQueue[str] = WorkQueue(work, name="near")

    def note(change: Change) -> None:
        queue.add(change.latest["metadata"]["name"])

    pods.on_change(note)
    tasks = [asyncio.create_task(part) for part in (pods.run(), queue.run())]
    try:
        yield NODE
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _end(pod: Object) -> Object:
    time = timestamp()
    state = {"terminated": {"exitCode": 0, "startedAt": time, "finishedAt": time, "reason": "Completed"}}
    plain = {"ready": False, "restartCount": 0, "imageID": "", "state": state}
    found = [{"name": item["name"], "image": item["image"], **plain} for item in pod["spec"]["containers"]]
    return {"phase": "Succeeded", "startTime": time, "containerStatuses": found}
