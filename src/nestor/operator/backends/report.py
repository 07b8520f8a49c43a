"""The operator's part of a backend's status, and the events about it; the process of its virtual nodes writes the rest."""

from __future__ import annotations

from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.kube import NotFound, kinds
from nestor.objects import Object, status_of
from nestor.operator.backends.drain import about
from nestor.operator.world.context import Context
from nestor.times import timestamp

OURS = ("nodes", "readyNodes", "observedGeneration")


async def report(context: Context, backend: Object, ready: Condition, said: Object) -> None:
    """Write `Ready` and what is `said` of the nodes, if anything has changed; then post an event."""
    status, generation = status_of(backend), backend["metadata"].get("generation", 0)
    old = [item for item in status.get("conditions") or () if item["type"] == conditions.READY]
    body = {"conditions": conditions.merge(old, [ready], generation, timestamp()), "observedGeneration": generation, **said}
    if body == {"conditions": old} | {key: status[key] for key in OURS if key in status}:
        return
    applied = {"metadata": {key: backend["metadata"][key] for key in ("name", "uid")}, "status": body}
    try:
        context.cache.backends.put(await context.api.apply(kinds.OVERFLOW_BACKEND, applied, subresource="status"))
    except NotFound:
        return
    await _tell(context, backend, old[0] if old else {}, ready)


async def _tell(context: Context, backend: Object, old: Object, ready: Condition) -> None:
    """One event when the reason changes to one that somebody should know of."""
    if old.get("reason") == ready.reason:
        return
    if ready.status == "True":
        await context.events.post(about(backend), "Normal", "BackendReady", ready.message)
    elif conditions.reason_of({"reason": ready.reason}).needs != "nobody":
        await context.events.post(about(backend), "Warning", ready.reason, ready.message)
