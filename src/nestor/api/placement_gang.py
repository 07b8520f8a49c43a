"""What a class says about gangs: pods that belong together, and of which either all get a node or none."""

from __future__ import annotations

from typing import Annotated, Literal

from nestor.api.parts import Limits, field, part

GangScheduler = Literal["Nestor", "Kubernetes"]
GangSource = Literal["Annotation", "PodGroup", "JobSet", "IndexedJob"]

DEFAULT_GROUPS: tuple[GangSource, ...] = ("Annotation", "PodGroup", "JobSet")
GANG_LIMIT = 500
"""Pods of one gang."""


@part()
class Gang:
    """Pods that belong together: of one gang, all get nodes, in one place, or none does."""

    scheduler: GangScheduler = field(
        default="Nestor",
        description="What schedules gangs. `Nestor`: it holds the pods by a scheduling gate until one place, the host cluster's "
        "own nodes or one backend, has room for all of them. `Kubernetes`: the host cluster's scheduler, with the feature gates "
        "GenericWorkload and GangScheduling; Nestor makes a PodGroup of group scheduling.k8s.io for each gang. Pods of such a "
        "gang do not overflow if the host cluster's own nodes are full. Defaults to `Nestor`.",
    )
    groups: Annotated[list[GangSource], Limits(min_length=1, max_length=4)] = field(
        default_factory=lambda: list(DEFAULT_GROUPS),
        description="Which pods are a gang. `Annotation`: those with the same annotation (or label) `nestor.dev/gang` in a "
        "namespace, as many as `nestor.dev/gang-size` says, or as their Job runs at a time. `PodGroup`: those of a PodGroup of "
        "group scheduling.k8s.io in the nested cluster. `JobSet`: those of a JobSet. `IndexedJob`: those of an Indexed Job that "
        "runs all of them at a time. Defaults to all but `IndexedJob`.",
    )
