"""One pass over one OverflowBackend: its process, its virtual nodes, the operator's part of its status; and its end."""

import logging

from pydantic import ValidationError

from nestor.api import conditions, names
from nestor.api.conditions import Condition
from nestor.api.faults import explain
from nestor.api.objects import Object, conditions_of, is_terminating, spec_of, status_of
from nestor.api.overflowbackend import OverflowBackendSpec, OverflowBackendStatus, Shape
from nestor.api.times import timestamp
from nestor.kube import Forbidden, Invalid, NotFound, kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.operator.backends.decide import END_SECONDS, NodeState, count_ready, decide_ready, find_process, not_ready
from nestor.operator.backends.keeper import NodeKeeper
from nestor.operator.backends.process import build_process
from nestor.operator.backends.requests import is_process
from nestor.operator.world.context import Context, Result
from nestor.operator.world.kept import find_fault
from nestor.operator.world.ownership import ensure_finalizer, has_finalizer, remove_finalizer

log = logging.getLogger(__name__)

CONFLICT_SECONDS = 30.0
"""When to look again whether a name has become free."""


class BackendReconciler:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._nodes = NodeKeeper(context)

    async def reconcile(self, name: str) -> Result:
        backend = self._context.cache.backends.get(name)
        if backend is None:
            return Result()
        if is_terminating(backend):
            return await self._finalize(backend)
        # A finalizer, because pods are bound to its nodes: these must not vanish while somebody could still end them.
        backend = await ensure_finalizer(self._context.api, kinds.OVERFLOW_BACKEND, backend)
        try:
            spec = read_spec(backend)
        except ValueError as error:
            await self._report(backend, not_ready(conditions.BACKEND_INVALID, str(error)))
            return Result(RESYNC_SECONDS)
        try:
            for kind, body in build_process(backend, spec, self._context.settings):
                await self._context.applier.ensure(kind, body)
        except (Forbidden, Invalid) as error:
            await self._report(backend, not_ready(conditions.NOT_DEPLOYED, error.message))
            return Result(error=error)
        return await self._keep_nodes(backend, spec)

    async def _keep_nodes(self, backend: Object, spec: OverflowBackendSpec) -> Result:
        shapes = spec.shapes if spec.shapes is not None else read_shapes(backend)
        reachable = conditions.find(conditions_of(backend), conditions.REACHABLE)
        delay: float | None = None
        if shapes is None:
            # Nothing was ever told: what there is stays, as after a restart with another spec.
            nodes = self._nodes.observe(backend)
        else:
            is_sure = spec.shapes is not None or (reachable or {}).get("status") == "True"
            nodes, delay = await self._nodes.keep(backend, spec, shapes, is_sure=is_sure)
        name = backend["metadata"]["name"]
        pods = self._context.cache.pods_by_namespace.all(self._context.settings.namespace)
        process = find_process(names.vnode(name), [pod for pod in pods if is_process(pod, name)])
        certified = conditions.find(conditions_of(backend), conditions.CERTIFIED)
        ready = decide_ready(process, reachable, certified, nodes, has_shapes=bool(shapes))
        await self._report(backend, ready, nodes)
        has_conflict = any(item.conflict for item in nodes)
        return Result(RESYNC_SECONDS).within(delay, CONFLICT_SECONDS if has_conflict else None)

    async def _finalize(self, backend: Object) -> Result:
        """Empty and delete its nodes while its process can still end their pods; then let it go, and its process with it."""
        if not has_finalizer(backend):
            return Result()
        limit = _read_limit(backend)
        nodes, delay = await self._nodes.remove_all(backend, limit)
        if delay is not None:
            if nodes:
                left = ", ".join(item.name for item in nodes)
                said = f"its nodes are being removed, which takes at most {limit + END_SECONDS:.0f} s: {left}"
                await self._report(backend, not_ready(conditions.TERMINATING, said), nodes)
            return Result(delay)
        await remove_finalizer(self._context.api, kinds.OVERFLOW_BACKEND, backend)
        return Result()

    async def _report(self, backend: Object, ready: Condition, nodes: list[NodeState] | None = None) -> None:
        """Write `Ready` and what there is to say of the nodes, if anything has changed; then post an event, if the reason is
        a new one that somebody should know of. `nodes` is None where they were not looked at: what was said of them stays.
        """
        status, generation, context = status_of(backend), backend["metadata"].get("generation", 0), self._context
        ours = {key: status[key] for key in ("nodes", "readyNodes", "observedGeneration") if key in status}
        old = [item for item in status.get("conditions") or () if item["type"] == conditions.READY]
        said = {} if nodes is None else {"nodes": [item.to_dict() for item in nodes], "readyNodes": count_ready(nodes)}
        merged = conditions.merge(old, [ready], generation, timestamp())
        body = ours | said | {"conditions": merged, "observedGeneration": generation}
        if body == ours | {"conditions": old}:
            return
        try:
            await context.apply_status(kinds.OVERFLOW_BACKEND, backend, body)
        except NotFound:
            return
        if old and old[0].get("reason") == ready.reason:
            return
        if ready.status == "True":
            await context.post(kinds.OVERFLOW_BACKEND, backend, "Normal", "BackendReady", ready.message)
        elif conditions.reason_of({"reason": ready.reason}).needs != "nobody":
            await context.post(kinds.OVERFLOW_BACKEND, backend, "Warning", ready.reason, ready.message)


def read_spec(backend: Object) -> OverflowBackendSpec:
    """Raises `ValueError`, which names the fields, if an older definition has admitted what this version cannot read."""
    if fault := find_fault(backend):
        raise ValueError(fault)
    try:
        return OverflowBackendSpec.model_validate(spec_of(backend))
    except ValidationError as error:
        raise ValueError(explain(error, "spec")) from error


def read_shapes(backend: Object) -> list[Shape] | None:
    """The shapes that the process has told; None if it has told nothing yet, or what cannot be read."""
    try:
        return OverflowBackendStatus.model_validate({"shapes": status_of(backend).get("shapes")}).shapes
    except ValidationError as error:
        log.warning("%s: the reported shapes cannot be read: %s", backend["metadata"]["name"], error)
        return None


def _read_limit(backend: Object) -> float:
    """How long its nodes may take to be emptied, in seconds."""
    found = spec_of(backend).get("drainSeconds")
    default = OverflowBackendSpec.model_fields["drain_seconds"].default
    return float(found if isinstance(found, int) else default)
