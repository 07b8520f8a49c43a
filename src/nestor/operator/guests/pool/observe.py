"""What the caches say of the pools, and of jobs that want their room. Sends no requests."""

from __future__ import annotations

from collections.abc import Container

from nestor.api import conditions, labels, names, pod_status
from nestor.api.objects import Object, conditions_of, is_terminating, labels_of, spec_of, status_of
from nestor.api.times import seconds_since
from nestor.kube import kinds
from nestor.operator.guests.pool.decide import Member
from nestor.operator.status.observe import START_SECONDS
from nestor.operator.world.context import Cache
from nestor.operator.world.trim import HELD

NO_ROOM = ("Insufficient cpu", "Insufficient memory")
"""Words of the host's scheduler."""


def find_server(cache: Cache, namespace: str) -> Object | None:
    """The pod of a cluster that was made without a job."""
    return cache.find(kinds.POD, names.server_pod(names.POOLED), namespace)


def list_members(cache: Cache, going: Container[str]) -> list[Member]:
    """All clusters that no job has, each with the class that has recorded it: names and labels prove nothing. `going`: UIDs of
    namespaces that are given or deleted at the moment.
    """
    recorded = {entry["uid"]: item["metadata"]["name"] for item in cache.classes for entry in status_of(item).get("pool") or ()}
    given = {status_of(job).get("namespace") for job in cache.jobs}
    return [
        Member(
            meta["name"],
            meta["uid"],
            labels_of(item)[labels.POOL],
            recorded.get(meta["uid"]),
            seconds_since(meta["creationTimestamp"]),
            is_ready=_is_ready(cache, meta["name"]),
            is_given=meta["name"] in given,
            is_ending=is_terminating(item) or meta["uid"] in going,
        )
        for item in cache.informers[kinds.NAMESPACE]
        if labels.POOL in labels_of(item) and names.is_of_pool((meta := item["metadata"])["name"])
    ]


def _is_ready(cache: Cache, namespace: str) -> bool:
    server, cluster = find_server(cache, namespace), cache.clusters.get(names.POOLED, namespace)
    return conditions.is_true(conditions_of(cluster), conditions.READY) and server is not None and pod_status.is_ready(server)


def look_at_pods(cache: Cache, pooled: Container[str]) -> tuple[bool, bool]:
    """Whether a job is starting, and whether a pod of a job lacks room. `pooled`: namespaces of no job.

    Pods that have waited for long lack more than what a pool can give.
    """
    is_busy = is_short = False
    for pod in cache.informers[kinds.POD]:
        meta = pod["metadata"]
        if meta["namespace"] in pooled or is_terminating(pod):
            continue
        is_placed = bool(spec_of(pod).get("nodeName"))
        is_one = _is_starting(pod) if is_placed else _lacks_room(pod)
        if is_one and seconds_since(meta["creationTimestamp"]) < START_SECONDS:
            is_busy, is_short = is_busy or is_placed, is_short or not is_placed
    return is_busy, is_short


def _lacks_room(pod: Object) -> bool:
    held = status_of(pod).get(HELD) or pod_status.find_unschedulable(pod) or ""
    return any(words in held for words in NO_ROOM)


def _is_starting(pod: Object) -> bool:
    """A runner is busy until it has ended, and a server until it is ready."""
    component = labels_of(pod).get(labels.COMPONENT)
    if component == labels.COMPONENT_RUNNER:
        return not pod_status.is_terminal(pod)
    is_up = pod_status.is_ready(pod) if component == labels.COMPONENT_SERVER else status_of(pod).get("phase") != "Pending"
    return not is_up
