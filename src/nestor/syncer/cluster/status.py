"""Writes NestedCluster.status: readiness, progress of the templates, the job's outcome, pod counts."""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from nestor.api import conditions, data
from nestor.api.contracts import runner
from nestor.api.objects import Object, conditions_of, labels_of, status_of
from nestor.api.observed import Outcome, RunStatus
from nestor.api.placement import Placement
from nestor.api.pod_status import is_terminal
from nestor.api.times import timestamp
from nestor.api.words import HOST
from nestor.kube import Change, Invalid, RetryLater, WorkQueue, kinds
from nestor.kube.pace import Bucket
from nestor.pods.translate.node_rules import find_backend
from nestor.pods.translate.placement import explain
from nestor.syncer import limits
from nestor.syncer.view.context import RETRY_LIMIT, Context

log = logging.getLogger(__name__)

_PLACES = 64
_REASON_LIMIT = 1024

_COUNT_DELAY = 0.25
"""Seconds. Pods come in bursts, and nothing waits for their count."""


class ClusterStatus:
    """Writes the status whenever it differs from the last one written."""

    def __init__(self, context: Context, cluster: Object, is_creating: Callable[[], bool]) -> None:
        self._context = context
        self._name = cluster["metadata"]["name"]
        self._generation = cluster["metadata"].get("generation", 1)
        self._conditions = conditions_of(cluster)
        self.version = ""
        self._is_creating = is_creating
        self._run: Object | None = None
        self._writes, self._count_writes = Bucket(limits.STATUS_WRITES), Bucket(limits.COUNT_WRITES)
        self._ready: conditions.Condition | None = None
        self._outcome: Outcome | None = None
        self._idle_since: str | None = None
        self._written: Object | None = None
        self.queue: WorkQueue[str] = WorkQueue(self._write, workers=1, name="cluster-status", max_delay=RETRY_LIMIT)
        context.caches.host_cluster.on_change(self._on_cluster)
        context.caches.nested(kinds.CONFIG_MAP).on_change(self._on_config_map)
        for pods in (context.caches.nested(kinds.POD), context.caches.host(kinds.POD)):
            pods.on_change(lambda _: self.queue.add("", _COUNT_DELAY))
        context.caches.host_nodes.on_change(self._on_node)

    def set_ready(self, *, ready: bool, message: str) -> None:
        """Set whether the nested cluster works; a change is written at once. Nothing is written before the first call."""
        reason = conditions.PROVISIONED if ready else conditions.SERVER_NOT_READY
        condition = conditions.Condition(conditions.READY, "True" if ready else "False", reason, message)
        if condition != self._ready:
            self._ready = condition
            self.queue.add("")

    def set_outcome(self, outcome: Outcome | None) -> None:
        """Set the application's outcome (None without a policy); a change is written at once."""
        if outcome != self._outcome:
            self._outcome = outcome
            self.queue.add("")

    def set_idle(self, since: str | None) -> None:
        """Set since when the pods have done nothing (None if they work, or it is not known); a change is written at once."""
        if since != self._idle_since:
            self._idle_since = since
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

    def _on_node(self, change: Change) -> None:
        if labels_of(change.old) != labels_of(change.new):
            self.queue.add("", _COUNT_DELAY)

    async def _write(self, _: str) -> None:
        if self._ready is None:
            return
        now, status = time.monotonic(), self._build(self._ready)
        if self._context.caches.is_suspended and self._is_creating():
            self.queue.add("", _COUNT_DELAY)  # a host pod that was requested before may still appear
        if status != self._written:
            if wait := self._writes.find_wait(now) or self._find_pause(status, now):
                raise RetryLater(wait, "too many changes of the status")
            self._writes.take(now)
            try:
                await self._apply(status)
            except (Invalid, RecursionError) as error:
                if "run" not in status:
                    raise
                # The tenant can write that ConfigMap too; bad data in it must not hide that the cluster is ready.
                log.warning("ignoring the runner's record, which is malformed: %s", error)
                await self._apply({key: value for key, value in status.items() if key != "run"})
            self._written = status

    def _find_pause(self, status: Object, now: float) -> float:
        """Seconds until the status may be written, if it tells nothing new but the number of pods; otherwise 0."""
        if self._written is None or status != self._written | {"pods": status["pods"]}:
            return 0
        wait = self._count_writes.find_wait(now)
        if not wait:
            self._count_writes.take(now)
        return wait

    async def _apply(self, status: Object) -> None:
        """Server-side apply, so that conditions of other writers stay."""
        meta = {"name": self._name, "namespace": self._context.target.namespace}
        await self._context.host.apply(kinds.NESTED_CLUSTER, {"metadata": meta, "status": status}, subresource="status")

    def _is_suspended(self) -> bool:
        """Whether a suspend is complete: nothing runs in the host, and nothing that was requested before may still appear."""
        caches = self._context.caches
        return caches.is_suspended and not self._is_creating() and all(map(is_terminal, caches.host(kinds.POD)))

    def _count_pods(self) -> Object:
        caches = self._context.caches
        pods = list(caches.nested(kinds.POD))
        found = count_pods(pods)
        if caches.policy.places.overflow is None:
            return found
        nodes = {node["metadata"]["name"]: node for node in caches.host_nodes}
        return found | {"places": count_places(pods, nodes, caches.policy.places, caches.host_by_uid.get)}

    def _build(self, ready: conditions.Condition) -> Object:
        merged = conditions.merge(self._conditions, [ready], self._generation, timestamp())
        self._conditions = [item for item in merged if item["type"] == conditions.READY]
        result: Object = {
            "conditions": self._conditions,
            "kubernetesVersion": self.version,
            "pods": self._count_pods(),
            "suspended": self._is_suspended(),
        }
        if self._outcome is not None:
            result["outcome"] = data.write(self._outcome)
        if self._idle_since is not None:
            result["idleSince"] = self._idle_since
        return result | ({"run": self._run} if self._run is not None else {})


def count_pods(pods: Iterable[Object]) -> Object:
    """How many pods are running, and how many are waiting to run (also for a resume). Finished pods do not count."""
    phases = [status_of(pod).get("phase", "Pending") for pod in pods]
    return {"running": phases.count("Running"), "waiting": phases.count("Pending")}


def count_places(
    pods: Iterable[Object], nodes: Mapping[str, Object], placement: Placement, find_host: Callable[[str], Object | None]
) -> list[Object]:
    """Where the pods are that have a node and have not finished: first those on the host cluster's own nodes, if any.

    A node that is not known yet is left out: the counts come again when it is. `find_host`: finds host pods by nested UID.
    """
    counts: dict[str, Counter[str]] = {}
    reasons: dict[str, Counter[str]] = {}
    for pod in pods:
        phase, node = status_of(pod).get("phase", "Pending"), nodes.get(pod["spec"].get("nodeName") or "")
        if node is not None and phase in ("Running", "Pending"):
            place = find_backend(node, placement) or HOST
            counts.setdefault(place, Counter())[phase] += 1
            if place != HOST and (host := find_host(pod["metadata"]["uid"])):
                reasons.setdefault(place, Counter())[explain(host)] += 1
    found = []
    for place in sorted(counts, key=lambda name: (name != HOST, name))[:_PLACES]:
        found.append({"name": place, "running": counts[place]["Running"], "starting": counts[place]["Pending"]})
        if why := reasons.get(place):  # the most frequent one; of several, always the same
            found[-1]["reason"] = min(why, key=lambda text: (-why[text], text))[:_REASON_LIMIT]
    return found


def read_run(config_map: Object | None) -> Object | None:
    """The part of the runner's record that the status has fields for; None if there is no readable record.

    Server-side apply rejects unknown fields, so those of a newer runner are dropped. Messages are cut to what a runner writes.
    """
    text = ((config_map or {}).get("data") or {}).get(runner.RECORD_KEY) or ""
    if not text or len(text) > runner.RECORD_LIMIT:
        return None
    try:
        found = data.trim(RunStatus, json.loads(text))
    except (ValueError, RecursionError) as error:  # a tenant may write endlessly nested brackets
        log.warning("ignoring the runner's record, which is malformed: %s", error)
        return None
    for step in found.get("steps") or ():
        if "message" in step:
            step["message"] = step["message"][: runner.MESSAGE_LIMIT]
    return found
