"""How a nested cluster comes to rest, a job's or a user's: first its pods, then, where its data is kept, its server. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from nestor.api import labels
from nestor.objects import Object, labels_of
from nestor.operator.world import pod_status as pods

CONFIRM_SECONDS = 120
"""How long the syncer may take to say that no pod is left; a dead one must not keep a job running."""


@dataclass(frozen=True)
class Stand:
    """What is seen of a cluster that is, or was, to rest."""

    is_told: bool = False
    """The syncer says that no pod of it is left on the host."""
    pods: int = 0
    """Pods of it that have not ended, as the operator sees them; a syncer's word may be of an earlier rest."""
    claim: str | None = None
    """The claim of the volume that keeps its data; None: the data lives in the server's pod."""
    is_down: bool = False
    """Its StatefulSet is scaled to zero."""


@dataclass(frozen=True)
class Rest:
    """How far it is."""

    message: str
    is_reached: bool = False
    replicas: int = 1
    """Of the server's StatefulSet."""
    is_forced: bool = False
    """The pods that are left are to be ended by the operator: nobody else will."""
    delay: float = math.inf


def decide_rest(stand: Stand, seconds: float) -> Rest:
    """`seconds`: since when the cluster is to rest."""
    is_quiet = stand.is_told and not stand.pods
    is_late = not is_quiet and seconds >= CONFIRM_SECONDS
    late = f"its syncer did not confirm within {CONFIRM_SECONDS} s that its pods have ended"
    delay = math.inf if is_quiet or is_late else CONFIRM_SECONDS - seconds
    if stand.claim is None:
        if is_quiet:
            why = "its data lives in its pod, as the class has no `cluster.persistence`"
            return Rest(f"its pods have ended; its control plane runs on, because {why}", is_reached=True)
        return Rest(late if is_late else _describe_pods(stand), is_forced=is_late and stand.pods > 0, delay=delay)
    kept = f"its data is kept by PersistentVolumeClaim '{stand.claim}'"
    if stand.is_down:
        if stand.pods:
            return Rest(f"its control plane is stopped; {_describe_pods(stand)}", replicas=0, is_forced=True)
        return Rest(f"its pods and its control plane are stopped; {kept}", is_reached=True, replicas=0)
    if is_quiet or is_late:
        return Rest(f"{late if is_late else 'its pods have ended'}; its control plane is being stopped, {kept}", replicas=0)
    return Rest(_describe_pods(stand), delay=delay)


def count_pods(found: Iterable[Object]) -> int:
    """The pods of a namespace that still work for the application: its own and the runner."""
    ours = (labels.COMPONENT_APP, labels.COMPONENT_RUNNER)
    return sum(labels_of(pod).get(labels.COMPONENT) in ours and not pods.is_finished(pod) for pod in found)


def _describe_pods(stand: Stand) -> str:
    return f"its pods are being ended, {stand.pods} left" if stand.pods else "its pods are being ended"
