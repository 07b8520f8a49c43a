"""NestedCluster.status: whether the cluster works, how far its templates are, what it came to, how many pods there are."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable

from pydantic import ValidationError

from nestor.api import conditions
from nestor.api.nestedcluster import Outcome, RunStatus
from nestor.contracts import runner
from nestor.kube import Change, Invalid, WorkQueue, kinds
from nestor.objects import Object, conditions_of, status_of
from nestor.syncer.context import RETRY_LIMIT, Context
from nestor.syncer.suspend.rest import Rest
from nestor.times import timestamp

log = logging.getLogger(__name__)

_COUNT_DELAY = 0.25
"""Pods come in bursts; their count is no news that anything waits for."""


class ClusterStatus:
    """Writes the status when it differs from what was written last."""

    def __init__(self, context: Context, cluster: Object, rest: Rest) -> None:
        self._context = context
        self._name = cluster["metadata"]["name"]
        self._generation = cluster["metadata"].get("generation", 1)
        self._conditions = conditions_of(cluster)
        self._version = ""
        self._rest = rest
        self._run: Object | None = None
        self._ready: conditions.Condition | None = None
        self._outcome: Outcome | None = None
        self._written: Object | None = None
        self.queue: WorkQueue[str] = WorkQueue(self._write, workers=1, name="cluster-status", max_delay=RETRY_LIMIT)
        context.caches.host_cluster.on_change(self._on_cluster)
        context.caches.nested_config_maps.on_change(self._on_config_map)
        context.caches.nested_pods.on_change(lambda _: self.queue.add("", _COUNT_DELAY))
        context.caches.host_pods.on_change(lambda _: self.queue.add("", _COUNT_DELAY))

    def set_version(self, version: str) -> None:
        """What the nested API server says that it is; nothing is written before."""
        self._version = version

    def set_ready(self, *, ready: bool, message: str) -> None:
        """Whether the nested cluster works; written at once when it changed."""
        reason = conditions.PROVISIONED if ready else conditions.SERVER_NOT_READY
        condition = conditions.Condition(conditions.READY, "True" if ready else "False", reason, message)
        if condition != self._ready:
            self._ready = condition
            self.queue.add("")

    def set_outcome(self, outcome: Outcome | None) -> None:
        """What the application came to; None without a policy. Written at once when it changed."""
        if outcome != self._outcome:
            self._outcome = outcome
            self.queue.add("")

    def _on_cluster(self, change: Change) -> None:
        generation = change.latest["metadata"].get("generation", 1)
        if generation != self._generation:
            self._generation = generation
            self.queue.add("")

    def _on_config_map(self, change: Change) -> None:
        if change.key == (runner.RECORD_NAMESPACE, runner.RECORD_NAME):
            self._run = read_run(change.new)
            self.queue.add("")

    async def _write(self, _: str) -> None:
        if self._ready is None:
            return
        status = await self._build(self._ready)
        if status != self._written:
            try:
                await self._apply(status)
            except (Invalid, RecursionError) as error:
                if "run" not in status:
                    raise
                # The tenant can write that ConfigMap too; nonsense in it must not hide that the cluster is ready.
                log.warning("progress of the templates is not well-formed: %s", error)
                await self._apply({key: value for key, value in status.items() if key != "run"})
            self._written = status
        if self._rest.is_undecided:
            self.queue.add("", _COUNT_DELAY)

    async def _apply(self, status: Object) -> None:
        """Server-side apply: conditions of other writers stay."""
        meta = {"name": self._name, "namespace": self._context.target.namespace}
        await self._context.host.apply(kinds.NESTED_CLUSTER, {"metadata": meta, "status": status}, subresource="status")

    async def _build(self, ready: conditions.Condition) -> Object:
        merged = conditions.merge(self._conditions, [ready], self._generation, timestamp())
        self._conditions = [item for item in merged if item["type"] == conditions.READY]
        caches = self._context.caches
        result: Object = {
            "conditions": self._conditions,
            "kubernetesVersion": self._version,
            "pods": count_pods(caches.nested_pods),
            "suspended": await self._rest.is_reached(),
        }
        if self._outcome is not None:
            result["outcome"] = self._outcome.model_dump(by_alias=True)
        return result | ({"run": self._run} if self._run is not None else {})


def count_pods(pods: Iterable[Object]) -> Object:
    """How many pods run, and how many are still to, or wait for a resume; finished ones are neither."""
    phases = [status_of(pod).get("phase", "Pending") for pod in pods]
    return {"running": phases.count("Running"), "waiting": phases.count("Pending")}


def read_run(config_map: Object | None) -> Object | None:
    """The runner's record as far as the status has fields for it, or None where there is none that can be read.

    Server-side apply refuses fields that it does not know: a newer runner's record must not be lost for them.
    """
    text = ((config_map or {}).get("data") or {}).get(runner.RECORD_KEY) or ""
    if not text or len(text) > runner.RECORD_LIMIT:
        return None
    try:
        run = RunStatus.model_validate(json.loads(text), by_alias=True)
    except (ValueError, RecursionError) as error:  # brackets without end are a tenant's nonsense as well
        message = f"{error.error_count()} faults" if isinstance(error, ValidationError) else str(error)
        log.warning("progress of the templates is not well-formed: %s", message)
        return None
    return run.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)
