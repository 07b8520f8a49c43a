"""How a nested cluster is suspended, a job's or a user's: first its pods end, then, where its data is on a volume, its server."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass

from nestor import names
from nestor.api import labels
from nestor.cluster.home import Home
from nestor.kube import NotFound, kinds
from nestor.kube.tasks import together
from nestor.names import Part
from nestor.objects import Object, is_terminating, labels_of, spec_of, status_of
from nestor.operator import oneshot
from nestor.operator.lifecycle.data_epoch import find_claim
from nestor.operator.world import pod_status
from nestor.operator.world.cache import Cache
from nestor.operator.world.context import Context

log = logging.getLogger(__name__)

CONFIRM_SECONDS = 120
"""How long the syncer may take to say that no pod is left; a dead one must not keep a job running."""


@dataclass(frozen=True)
class SuspendProgress:
    """What is seen of a cluster that is, or was, to be suspended."""

    is_told: bool = False
    """The syncer says that no pod of it is left on the host."""
    pods: int = 0
    """Pods of it that have not ended, as the operator sees them; a syncer's word may be of an earlier suspension."""
    claim: str | None = None
    """The claim of the volume that keeps its data; None: the data lives in the server's pod."""
    is_down: bool = False
    """Its StatefulSet is scaled to zero."""


@dataclass(frozen=True)
class SuspendState:
    """How far it is, and what is to be done."""

    message: str
    is_reached: bool = False
    """It is suspended, as far as it can be."""
    replicas: int = 1
    """Of the server's StatefulSet."""
    is_forced: bool = False
    """The pods that are left are to be ended by the operator: nobody else will."""
    delay: float = math.inf


def decide_suspend(progress: SuspendProgress, seconds: float) -> SuspendState:
    """`seconds`: since when the cluster is to be suspended. Pure."""
    is_quiet = progress.is_told and not progress.pods
    is_late = not is_quiet and seconds >= CONFIRM_SECONDS
    late = f"its syncer did not confirm within {CONFIRM_SECONDS} s that its pods have ended"
    delay = math.inf if is_quiet or is_late else CONFIRM_SECONDS - seconds
    if progress.claim is None:
        if is_quiet:
            why = "its data lives in its pod, as the class has no `cluster.persistence`"
            return SuspendState(f"its pods have ended; its control plane runs on, because {why}", is_reached=True)
        return SuspendState(late if is_late else _describe_pods(progress), is_forced=is_late and progress.pods > 0, delay=delay)
    kept = f"its data is kept by PersistentVolumeClaim '{progress.claim}'"
    if progress.is_down:
        if progress.pods:
            return SuspendState(f"its control plane is stopped; {_describe_pods(progress)}", replicas=0, is_forced=True)
        return SuspendState(f"its pods and its control plane are stopped; {kept}", is_reached=True, replicas=0)
    if is_quiet or is_late:
        return SuspendState(
            f"{late if is_late else 'its pods have ended'}; its control plane is being stopped, {kept}", replicas=0
        )
    return SuspendState(_describe_pods(progress), delay=delay)


def _find_pods(cache: Cache, home: Home, *components: str) -> list[Object]:
    """The cluster's pods of these components that have not ended. In a user's namespace there may be another cluster's."""
    return [
        pod
        for pod in cache.pods_by_namespace.all(home.namespace)
        if labels_of(pod).get(labels.CLUSTER) == home.name
        and labels_of(pod).get(labels.COMPONENT) in components
        and not pod_status.is_finished(pod)
    ]


def _describe_pods(progress: SuspendProgress) -> str:
    return f"its pods are being ended, {progress.pods} left" if progress.pods else "its pods are being ended"


def find_progress(cache: Cache, home: Home) -> SuspendProgress:
    """How far a cluster is on its way to being suspended, or back, as the caches show it."""
    cluster, server = cache.clusters.get(home.name, home.namespace), home.child(Part.SERVER)
    replicas = spec_of(cache.find(kinds.STATEFUL_SET, server, home.namespace)).get("replicas")
    return SuspendProgress(
        is_told=bool(status_of(cluster).get("suspended")),
        pods=len(_find_pods(cache, home, labels.COMPONENT_APP, labels.COMPONENT_RUNNER)),
        claim=find_claim(cache, home),
        is_down=replicas == 0 and cache.find(kinds.POD, names.server_pod(home.name), home.namespace) is None,
    )


async def stop(context: Context, home: Home, state: SuspendState | None, *, is_applied: bool) -> None:
    """Stop the application: what its syncer does not do, or cannot.

    `is_applied`: the NestedCluster says so already. Where the host refused one of the objects, or the class is gone, it may not.
    """
    if not is_applied:
        await _suspend_as_it_is(context, home, replicas=state.replicas if state else 1)
    await oneshot.end(context.api, context.cache.find(kinds.POD, home.child(Part.RUNNER), home.namespace))
    if state and state.is_forced:
        await end_pods(context, home)


async def end_pods(context: Context, home: Home) -> None:
    """End the application's pods: their syncer, which should have, is gone, and so nobody makes them again."""
    pods = _find_pods(context.cache, home, labels.COMPONENT_APP)
    found = [pod["metadata"] for pod in pods if not is_terminating(pod)]
    if found:
        log.info("%s: ending %d pods that no syncer ended", home.namespace, len(found))
        await together(*(context.api.delete(kinds.POD, meta["name"], home.namespace, uid=meta["uid"]) for meta in found))


async def _suspend_as_it_is(context: Context, home: Home, *, replicas: int) -> None:
    """Suspend a cluster that cannot be applied."""
    cluster, server = context.cache.clusters.get(home.name, home.namespace), home.child(Part.SERVER)
    live = context.cache.find(kinds.STATEFUL_SET, server, home.namespace)
    try:
        if cluster is not None and not spec_of(cluster).get("suspend"):
            patched = await context.api.patch(kinds.NESTED_CLUSTER, home.name, home.namespace, {"spec": {"suspend": True}})
            context.cache.clusters.put(patched)
        if live is not None and live["spec"].get("replicas") != replicas and replicas == 0:
            await context.api.patch(kinds.STATEFUL_SET, server, home.namespace, {"spec": {"replicas": 0}})
    except NotFound:
        log.debug("%s/%s: went meanwhile", home.namespace, home.name)
