"""Makes, changes and removes the virtual nodes of backends."""

import logging
from collections.abc import Iterable

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, is_terminating, labels_of, owners_of, status_of
from nestor.api.overflowbackend import OverflowBackendSpec, Shape
from nestor.api.times import now, write
from nestor.kube import ApiError, Conflict, Forbidden, Invalid, NotFound, RetryLater, kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.kube.tasks import together
from nestor.operator.backends.decide import (
    POLL_SECONDS,
    SETTLE_SECONDS,
    Act,
    NodeState,
    Removal,
    decide_removal,
    find_start,
    read_node,
)
from nestor.operator.backends.nodes import Wanted, build_node, find_change, is_of, list_wanted
from nestor.operator.world.context import Context
from nestor.operator.world.ownership import name_left

log = logging.getLogger(__name__)

TOGETHER = 20
"""How many pods are asked to leave at the same time."""
_META = ("name", "namespace", "uid", "deletionTimestamp")


class NodeKeeper:
    def __init__(self, context: Context) -> None:
        self._context = context

    def observe(self, backend: Object) -> list[NodeState]:
        return [_read(node) for node in self._find(backend)]

    async def keep(
        self, backend: Object, spec: OverflowBackendSpec, shapes: Iterable[Shape], *, is_sure: bool
    ) -> tuple[list[NodeState], float | None]:
        """Have a node per shape; and no others, if `is_sure` that these are all shapes. Returns all, and when to look again."""
        wanted = list_wanted(backend["metadata"]["name"], spec, shapes)
        live = {node["metadata"]["name"]: node for node in self._find(backend)}
        found = [await self._ensure(backend, item, live.get(name)) for name, item in wanted.items()]
        delays = []
        for name in live.keys() - wanted.keys():
            left: tuple[Object, float] | None = live[name], RESYNC_SECONDS
            if is_sure:
                left = await self._remove(backend, live[name], limit=spec.drain_seconds)
            if left is not None:
                found.append(_read(left[0]))
                delays.append(left[1])
        return sorted(found, key=lambda item: item.name), min(delays, default=None)

    async def remove_all(self, backend: Object, limit: float) -> tuple[list[NodeState], float | None]:
        """Remove all nodes of a backend that goes. Returns what is left, and when to look again, in seconds; None: not at all."""
        nodes = self._find(backend)
        steps = [await self._remove(backend, node, limit=limit, settle=0) for node in nodes]
        left = [step for step in steps if step is not None]
        return [_read(node) for node, _ in left], min((delay for _, delay in left), default=POLL_SECONDS if nodes else None)

    def _find(self, backend: Object) -> list[Object]:
        """Those that are there to stay: one that is being deleted may be held by others for ever."""
        return [node for node in self._context.cache.informers[kinds.NODE] if is_of(node, backend) and not is_terminating(node)]

    async def _ensure(self, backend: Object, wanted: Wanted, live: Object | None) -> NodeState:
        """The node as it should be. Never touches one that is somebody else's, whatever it is called."""
        try:
            if live is None:
                live = await self._create(backend, wanted)
            elif (patch := find_change(live, wanted)) is not None:
                live = await self._context.api.patch(kinds.NODE, wanted.name, None, patch)
        except (Forbidden, Invalid) as error:
            if error.is_replaced:
                raise
            return NodeState(wanted.name, wanted.shape, conflict=f"node '{wanted.name}': {error.message}")
        except (Conflict, NotFound) as error:  # changed or gone meanwhile
            raise RetryLater(1, error.message) from None
        if not is_of(live, backend):
            return NodeState(wanted.name, wanted.shape, conflict=_explain(live, backend))
        if is_terminating(live):
            return NodeState(wanted.name, wanted.shape, why="it is being deleted")
        return read_node(live, wanted.shape, None)

    async def _create(self, backend: Object, wanted: Wanted) -> Object:
        """A new node, or whatever has its name. A create, because an apply would change the other."""
        try:
            return await self._context.api.create(kinds.NODE, build_node(backend, wanted))
        except Conflict:
            return await self._context.api.get(kinds.NODE, wanted.name)

    async def _remove(
        self, backend: Object, node: Object, *, limit: float, settle: float = SETTLE_SECONDS
    ) -> tuple[Object, float] | None:
        """One step. Returns the node as it is then, and when to look again, in seconds; None: it is gone."""
        name = node["metadata"]["name"]
        pods = []
        if labels.REMOVED_SINCE in annotations_of(node):
            pods = await self._context.api.list(kinds.POD, fields=f"spec.nodeName={name}", trim=trim_pod)
        step = decide_removal(node, pods, now(), limit=limit, settle=settle)
        if step.act == "Cordon":
            return await self._cordon(node), POLL_SECONDS
        if step.act == "Force":
            # First: once they are gone, nobody could name them.
            await self._tell(backend, name, step.pods)
        await self._clear(step)
        if step.act in ("Force", "Remove"):
            await self._context.api.delete(kinds.NODE, name, uid=node["metadata"]["uid"])
            return None
        return node, step.delay

    async def _cordon(self, node: Object) -> Object:
        """In one write with the time, so that whoever finds the one knows of the other. Returns the node as it is then."""
        meta = {"uid": node["metadata"]["uid"], "annotations": {labels.REMOVED_SINCE: write(now())}}
        patch = {"metadata": meta, "spec": {"unschedulable": True}}
        return await self._context.api.patch(kinds.NODE, node["metadata"]["name"], None, patch)

    async def _clear(self, step: Removal) -> None:
        for first in range(0, len(step.pods), TOGETHER):
            pods = step.pods[first : first + TOGETHER]
            await together(*(self._evict(pod) if step.act == "Evict" else self._delete(pod, step.act) for pod in pods))

    async def _evict(self, pod: Object) -> None:
        """Ask the pod to leave. A disruption budget may not allow it yet."""
        meta = pod["metadata"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {key: meta[key] for key in ("name", "namespace")},
            "deleteOptions": {"preconditions": {"uid": meta["uid"]}},
        }
        try:
            await self._context.api.create(kinds.POD, body, subresource="eviction", name=meta["name"])
        except (NotFound, Conflict):
            return
        except ApiError as error:
            if error.status != 429:
                raise
            log.info("pod %s/%s does not leave its node yet: %s", meta["namespace"], meta["name"], error.message)

    async def _delete(self, pod: Object, act: Act) -> None:
        meta, grace = pod["metadata"], 0 if act == "Force" else None
        await self._context.api.delete(kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=grace)

    async def _tell(self, backend: Object, node: str, pods: Iterable[Object]) -> None:
        """Name what may still run at the backend: nobody has confirmed its end."""
        for text in name_left(f"node '{node}' was removed before the backend had confirmed the end", list(pods)):
            log.warning("%s: %s", backend["metadata"]["name"], text)
            await self._context.post(kinds.OVERFLOW_BACKEND, backend, "Warning", "PodsLeftBehind", text)


def _read(node: Object) -> NodeState:
    return read_node(node, labels_of(node).get(labels.SHAPE, ""), find_start(node))


def _explain(node: Object, backend: Object) -> str:
    name, own = node["metadata"]["name"], labels_of(node)
    if own.get(labels.BACKEND) == backend["metadata"]["name"]:
        return f"node '{name}' is that of an earlier backend of this name, which is being deleted"
    whose = f"backend '{own[labels.BACKEND]}'" if labels.BACKEND in own else "the cluster itself"
    return f"there is already a node '{name}', which belongs to {whose}"


def trim_pod(pod: Object) -> Object:
    """What it is, whose, and whether it has ended: users write pods, and memory is shared."""
    meta = {key: value for key, value in pod["metadata"].items() if key in _META}
    meta["ownerReferences"] = [item for item in owners_of(pod) if item.get("controller")]
    return {"metadata": meta, "status": {"phase": status_of(pod).get("phase")}}
