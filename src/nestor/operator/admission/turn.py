"""What a job gets with its turn to run. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, status_of
from nestor.api.placement import MOST
from nestor.api.placement_rules import Assigned, AssignedNodes, ClassPlacement


@dataclass(frozen=True)
class Turn:
    """Nothing but leave to run, unless Kueue has admitted the job."""

    app: Assigned | None = None
    """The nodes for the application's pods."""
    server: AssignedNodes = field(default_factory=AssignedNodes)
    runner: AssignedNodes = field(default_factory=AssignedNodes)
    granted: Mapping[str, str] = field(default_factory=dict)
    """What Kueue has counted for the application, by the keys of the job's quota."""
    warnings: tuple[str, ...] = ()
    """What the user should know."""


def assign_nodes(policy: NestedClassSpec, nodes: AssignedNodes | None) -> NestedClassSpec:
    """The class with the nodes that were assigned: their labels are demanded and their taints tolerated, as its own are."""
    if nodes is None or not nodes.to_pod():
        return policy
    said = policy.placement or ClassPlacement()
    changes: dict[str, Any] = {
        "node_selector": said.node_selector | nodes.node_selector,
        "tolerations": [*said.tolerations, *(item for item in nodes.tolerations if item not in said.tolerations)][:MOST],
    }
    return policy.model_copy(update={"placement": replace(said, **changes)})


def read_assigned(job: Object) -> Assigned | None:
    """What the job's status records."""
    found = status_of(job).get("assigned")
    return Assigned.model_validate(found) if found else None


def write_assigned(turn: Turn) -> Object | None:
    """For the job's status. Without empty maps: one whose last key goes by server-side apply becomes null, which none may be."""
    if turn.app is None:
        return None
    return {key: value for key, value in turn.app.model_dump(by_alias=True).items() if value}
