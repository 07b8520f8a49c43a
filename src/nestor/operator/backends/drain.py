"""Removes virtual nodes whose shape or backend is gone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, owners_of, status_of
from nestor.api.times import now, write
from nestor.kube import ApiError, Conflict, Invalid, NotFound, kinds
from nestor.kube.tasks import together
from nestor.operator.backends.removal import POLL_SECONDS, SETTLE_SECONDS, Removal, decide_removal
from nestor.operator.world.context import Context

log = logging.getLogger(__name__)

TOGETHER = 20
"""How many pods are asked to leave at the same time."""
_META = ("name", "namespace", "uid", "deletionTimestamp")
NAMED = 4
"""How many of those left behind an event names: its message has a limit."""
EVENTS = 25
"""How many events there are at most."""


class Drain:
    """Empties nodes and deletes them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._api = context.api

    async def remove(
        self, backend: Object, node: Object, *, limit: float, settle: float = SETTLE_SECONDS
    ) -> tuple[Object, float] | None:
        """One step. Returns the node as it is then, and when to look again, in seconds; None: it is gone."""
        name = node["metadata"]["name"]
        pods = []
        if labels.REMOVED_SINCE in annotations_of(node):
            pods = await self._api.list_trimmed(kinds.POD, trim_pod, fields=f"spec.nodeName={name}")
        step = decide_removal(node, pods, now(), limit=limit, settle=settle)
        if step.act == "Cordon":
            return await self._cordon(node), POLL_SECONDS
        if step.act == "Force":
            # First: once they are gone, nobody could name them.
            await self._tell(backend, name, step.pods)
        await self._clear(step)
        if step.act in ("Force", "Remove"):
            await self._api.delete(kinds.NODE, name, uid=node["metadata"]["uid"])
            return None
        return node, step.delay

    async def _cordon(self, node: Object) -> Object:
        """In one write with the time, so that whoever finds the one knows of the other. Returns the node as it is then."""
        meta = {"uid": node["metadata"]["uid"], "annotations": {labels.REMOVED_SINCE: write(now())}}
        patch = {"metadata": meta, "spec": {"unschedulable": True}}
        try:
            return await self._api.patch(kinds.NODE, node["metadata"]["name"], None, patch)
        except NotFound:
            return node
        except (Conflict, Invalid) as error:
            if not error.is_replaced:
                raise
            return node

    async def _clear(self, step: Removal) -> None:
        ways: dict[str, Callable[[Object], Coroutine[Any, Any, None]]] = {
            "Evict": self._evict,
            "Delete": self._delete,
            "Force": self._force,
        }
        if (way := ways.get(step.act)) is not None:
            for first in range(0, len(step.pods), TOGETHER):
                await together(*(way(pod) for pod in step.pods[first : first + TOGETHER]))

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
            await self._api.create(kinds.POD, body, subresource="eviction", name=meta["name"])
        except (NotFound, Conflict):
            return
        except ApiError as error:
            if error.status != 429:
                raise
            log.info("pod %s/%s does not leave its node yet: %s", meta["namespace"], meta["name"], error.message)

    async def _delete(self, pod: Object) -> None:
        meta = pod["metadata"]
        await self._api.delete(kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"])

    async def _force(self, pod: Object) -> None:
        meta = pod["metadata"]
        await self._api.delete(kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=0)

    async def _tell(self, backend: Object, node: str, pods: Iterable[Object]) -> None:
        """Name what may still run at the backend: nobody has confirmed its end."""
        texts = describe_left(node, list(pods))
        for text in texts:
            log.warning("%s: %s", backend["metadata"]["name"], text)
        rest = [f"more pods may be left of node '{node}': the operator's log names all"] if len(texts) > EVENTS else []
        for text in [*texts[:EVENTS], *rest]:
            await self._context.events.post(about(backend), "Warning", "PodsLeftBehind", text)


def describe_left(node: str, pods: Sequence[Object]) -> list[str]:
    """Messages that name these pods, with the UIDs by which the backend knows them."""
    found = [f"{pod['metadata']['namespace']}/{pod['metadata']['name']} ({pod['metadata']['uid']})" for pod in pods]
    message = f"node '{node}' was removed before the backend had confirmed the end of these pods, and may still have them: "
    return [message + ", ".join(found[first : first + NAMED]) for first in range(0, len(found), NAMED)]


def trim_pod(pod: Object) -> Object:
    """What it is, whose, and whether it has ended: users write pods, and memory is shared."""
    meta = {key: value for key, value in pod["metadata"].items() if key in _META}
    meta["ownerReferences"] = [item for item in owners_of(pod) if item.get("controller")]
    return {"metadata": meta, "status": {"phase": status_of(pod).get("phase")}}


def about(backend: Object) -> Object:
    """The subject of an event about a backend."""
    kind = kinds.OVERFLOW_BACKEND
    return {**backend, "apiVersion": kind.api_version, "kind": kind.name}
