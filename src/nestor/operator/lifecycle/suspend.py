"""Suspends a nested cluster, a job's or a user's: stops its pods, then its server if the data is on a volume."""

import logging
import math
import sys
from dataclasses import dataclass

from nestor.api import labels, names, pod_status, times
from nestor.api.names import Part
from nestor.api.objects import Object, is_terminating, labels_of, spec_of, status_of
from nestor.cluster.home import Home
from nestor.kube import NotFound, kinds
from nestor.kube.tasks import together
from nestor.operator import oneshot
from nestor.operator.lifecycle.data_epoch import find_claim
from nestor.operator.world.context import Cache, Context
from nestor.operator.world.ownership import find_home

log = logging.getLogger(__name__)

CONFIRM_SECONDS = 120
"""How long the syncer may take to confirm that no pod is left; a dead syncer must not keep a job running."""

LAST_GRACE_SECONDS = 30
"""What is left to pods that have been ending for too long."""


@dataclass(frozen=True)
class SuspendProgress:
    """The observed state of a cluster that is being suspended or resumed."""

    is_told: bool = False
    """The syncer reports that no pod is left on the host."""
    pods: int = 0
    """Unfinished pods, as the operator sees them; the syncer's report may be about an earlier suspension."""
    ending: int = 0
    """Those of them that have been deleted, and take their grace period."""
    claim: str | None = None
    """The claim of the volume that keeps its data; None: the data lives in the server's pod."""
    is_stopping: bool = False
    """Its StatefulSet is scaled to zero."""
    is_down: bool = False
    """And its server's pod is gone."""


@dataclass(frozen=True)
class SuspendState:
    """How far a suspension is, and what to do next. A dead syncer's word is not awaited for ever."""

    message: str
    is_reached: bool = False
    """The cluster is suspended, as far as it can be."""
    replicas: int = 1
    is_forced: bool = False
    """The operator must delete the remaining pods itself."""
    delay: float = math.inf


def decide_suspend(progress: SuspendProgress, seconds: float, keep: float = math.inf) -> SuspendState:
    """`seconds`: how long ago the suspension was requested. `keep`: for how many a server stays that has no volume. Pure."""
    is_quiet = progress.is_told and not progress.pods
    is_late = not is_quiet and seconds >= CONFIRM_SECONDS
    late = f"its syncer did not confirm within {CONFIRM_SECONDS} s that its pods are stopped"
    delay = math.inf if is_quiet or is_late else CONFIRM_SECONDS - seconds
    if progress.claim is None:
        if is_quiet or progress.is_down:
            return _rest_without_volume(progress, "its pods are stopped", seconds, keep)
        if is_late and not progress.pods:
            return _rest_without_volume(progress, f"{late}; the host cluster has none of them", seconds, keep)
        return SuspendState(late if is_late else _describe_pods(progress), is_forced=is_late, delay=delay)
    kept = f"its data stays in PersistentVolumeClaim '{progress.claim}'"
    if progress.is_down:
        if progress.pods:
            return SuspendState(f"its control plane is stopped; {_describe_pods(progress)}", replicas=0, is_forced=True)
        return SuspendState(f"its pods and its control plane are stopped; {kept}", is_reached=True, replicas=0)
    if is_quiet or is_late:
        return SuspendState(
            f"{late if is_late else 'its pods are stopped'}; its control plane is being stopped; {kept}", replicas=0
        )
    return SuspendState(_describe_pods(progress), delay=delay)


def _rest_without_volume(progress: SuspendProgress, pods: str, seconds: float, keep: float) -> SuspendState:
    """The rest of a cluster whose data lives in its server's pod. `pods`: what became of the others."""
    why = "the class sets no `cluster.persistence`"
    if progress.is_down or seconds >= keep:
        message = f"{pods}; its control plane is stopped, and its objects are gone: {why}"
        return SuspendState(message, is_reached=not progress.pods, replicas=0, is_forced=bool(progress.pods))
    if keep == math.inf:
        return SuspendState(f"{pods}; its control plane keeps running because its data lives in its pod: {why}", is_reached=True)
    message = f"{pods}; its control plane stops {keep} s after the job did, and its objects are gone then: {why}"
    return SuspendState(message, is_reached=True, delay=keep - seconds)


def _find_pods(cache: Cache, home: Home, *components: str) -> list[Object]:
    return [
        pod
        for pod in cache.pods_by_namespace.all(home.namespace)
        if labels_of(pod).get(labels.CLUSTER) == home.name
        and labels_of(pod).get(labels.COMPONENT) in components
        and not pod_status.is_terminal(pod)
    ]


def _describe_pods(progress: SuspendProgress) -> str:
    return f"its pods are being stopped, {progress.pods} left" if progress.pods else "its pods are being stopped"


def find_progress(cache: Cache, home: Home) -> SuspendProgress:
    """How far a cluster's suspension or resumption is, according to the caches."""
    cluster, server = cache.clusters.get(home.name, home.namespace), home.child(Part.SERVER)
    replicas = spec_of(cache.find(kinds.STATEFUL_SET, server, home.namespace)).get("replicas")
    pods = _find_pods(cache, home, labels.COMPONENT_APP, labels.COMPONENT_RUNNER)
    return SuspendProgress(
        is_told=bool(status_of(cluster).get("suspended")),
        pods=len(pods),
        ending=sum(map(is_terminating, pods)),
        claim=find_claim(cache, home),
        is_stopping=replicas == 0,
        is_down=replicas == 0 and cache.find(kinds.POD, names.server_pod(home.name), home.namespace) is None,
    )


def is_quiet(cache: Cache, job: Object) -> bool:
    """Whether a job that was stopped has no pods but those that stay while it is suspended. Until then it uses what it has, and
    counts for it. If its syncer does not confirm that in time, what the host says of its pods counts.
    """
    home, status = find_home(job), status_of(job)
    progress = find_progress(cache, home)
    if cache.clusters.get(home.name, home.namespace) is None:
        return not progress.pods
    since = status.get("suspendTime") or status.get("completionTime")
    return decide_suspend(progress, times.seconds_since(since) if since else 0).is_reached


async def stop(context: Context, home: Home, state: SuspendState | None, *, is_applied: bool, is_overdue: bool = False) -> None:
    """Stop the parts of the application that its syncer does not or cannot stop.

    `is_applied`: the NestedCluster's spec is already suspended. It may not be if the host refused an object or the class is gone.
    `is_overdue`: pods that are ending have had their time.
    """
    if not is_applied:
        await _suspend_as_it_is(context, home, replicas=state.replicas if state else 1)
    await oneshot.end(context.api, context.cache.find(kinds.POD, home.child(Part.RUNNER), home.namespace))
    if is_overdue or (state and state.is_forced):
        await _end_pods(context, home, LAST_GRACE_SECONDS if is_overdue else sys.maxsize)


async def _end_pods(context: Context, home: Home, most: int) -> None:
    """Delete the application's pods in place of their syncer; it is gone, so nothing recreates them.

    `most`: how many seconds they may have, also those that are ending.
    """
    pods = _find_pods(context.cache, home, labels.COMPONENT_APP)
    graces = [(pod["metadata"], grace) for pod in pods if (grace := pod_status.find_grace(pod, most)) is not None]
    if graces:
        log.info("%s: deleting %d pods that no syncer stopped", home.namespace, len(graces))
        deletions = (
            context.api.delete(kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=grace)
            for meta, grace in graces
        )
        await together(*deletions)


async def _suspend_as_it_is(context: Context, home: Home, *, replicas: int) -> None:
    """Suspend a cluster by patches, if its objects cannot be applied."""
    cluster, server = context.cache.clusters.get(home.name, home.namespace), home.child(Part.SERVER)
    live = context.cache.find(kinds.STATEFUL_SET, server, home.namespace)
    try:
        if cluster is not None and not spec_of(cluster).get("suspend"):
            patched = await context.api.patch(kinds.NESTED_CLUSTER, home.name, home.namespace, {"spec": {"suspend": True}})
            context.cache.clusters.put(patched)
        if live is not None and live["spec"].get("replicas") != replicas and replicas == 0:
            await context.api.patch(kinds.STATEFUL_SET, server, home.namespace, {"spec": {"replicas": 0}})
    except NotFound:
        log.debug("%s/%s: is gone", home.namespace, home.name)
