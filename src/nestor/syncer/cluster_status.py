"""NestedCluster.status: whether the cluster works, how far its templates are, how many pods there are."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable

from nestor.api import conditions
from nestor.kube import Change, Invalid, WorkQueue, kinds
from nestor.kube.client import Object
from nestor.kube.events import now
from nestor.syncer.context import RETRY_LIMIT, Context

log = logging.getLogger(__name__)

RUN = ("kube-system", "nestor-run")
"""The nested ConfigMap in which the runner keeps its progress."""
_RUN_KEY = "run.json"
_RUN_LIMIT = 256 * 1024
_COUNT_DELAY = 0.25
"""Pods come in bursts; their count is no news that anything waits for."""


class ClusterStatus:
    """Writes the status when it differs from what was written last."""

    def __init__(self, context: Context, cluster: Object, version: str) -> None:
        self._context = context
        self._name = cluster["metadata"]["name"]
        self._generation = cluster["metadata"].get("generation", 1)
        self._conditions = (cluster.get("status") or {}).get("conditions") or []
        self._version = version
        self._ready: conditions.Condition | None = None
        self._written: Object | None = None
        self.queue: WorkQueue[str] = WorkQueue(self._write, workers=1, name="cluster-status", max_delay=RETRY_LIMIT)
        context.caches.nested_config_maps.on_change(self._on_config_map)
        context.caches.nested_pods.on_change(lambda _: self.queue.add("", _COUNT_DELAY))
        context.caches.host_pods.on_change(lambda _: self.queue.add("", _COUNT_DELAY))

    def set_ready(self, *, ready: bool, message: str) -> None:
        """Whether the nested cluster works; written at once when it changed."""
        reason = conditions.PROVISIONED if ready else conditions.SERVER_NOT_READY
        condition = conditions.Condition(conditions.READY, "True" if ready else "False", reason, message)
        if condition != self._ready:
            self._ready = condition
            self.queue.add("")

    def _on_config_map(self, change: Change) -> None:
        if change.key == RUN:
            self.queue.add("")

    async def _write(self, _: str) -> None:
        if self._ready is None:
            return
        status = self._build(self._ready)
        if status == self._written:
            return
        try:
            await self._apply(status)
        except (Invalid, RecursionError) as error:
            if "run" not in status:
                raise
            # The tenant can write that ConfigMap too; nonsense in it must not hide that the cluster is ready.
            log.warning("progress of the templates is not well-formed: %s", error)
            await self._apply({key: value for key, value in status.items() if key != "run"})
        self._written = status

    async def _apply(self, status: Object) -> None:
        """Server-side apply: conditions of other writers stay."""
        meta = {"name": self._name, "namespace": self._context.target.namespace}
        await self._context.host.apply(kinds.NESTED_CLUSTER, {"metadata": meta, "status": status}, subresource="status")

    def _build(self, ready: conditions.Condition) -> Object:
        merged = conditions.merge(self._conditions, [ready], self._generation, now())
        self._conditions = [item for item in merged if item["type"] == conditions.READY]
        caches = self._context.caches
        pods = count_pods(caches.nested_pods)
        result: Object = {"conditions": self._conditions, "kubernetesVersion": self._version, "pods": pods}
        run = read_run(caches.nested_config_maps.get(RUN[1], RUN[0]))
        return result | ({"run": run} if run is not None else {})


def count_pods(pods: Iterable[Object]) -> Object:
    """How many pods run, and how many are still to; finished ones are neither."""
    phases = [(pod.get("status") or {}).get("phase", "Pending") for pod in pods]
    return {"running": phases.count("Running"), "waiting": phases.count("Pending")}


def read_run(config_map: Object | None) -> Object | None:
    """The runner's record, or None where there is none that can be read."""
    text = ((config_map or {}).get("data") or {}).get(_RUN_KEY) or ""
    if not text or len(text) > _RUN_LIMIT:
        return None
    try:
        run = json.loads(text)
    except (ValueError, RecursionError):  # brackets without end are a tenant's nonsense as well
        return None
    return run if isinstance(run, dict) else None
