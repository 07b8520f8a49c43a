"""What a job gets with its turn to run, and what it counts for while it runs, in a queue of ours or of Kueue's. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nestor.api.class_parts import DEFAULT_QUOTA
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, status_of
from nestor.api.placement import MOST
from nestor.api.placement_rules import Assigned, AssignedNodes, ClassPlacement
from nestor.api.quantities import parse_quantity, write_quantity
from nestor.operator.admission.placement import apply_machine, with_quota


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
    found = status_of(job).get("assigned")
    return Assigned.model_validate(found) if found else None


def write_assigned(turn: Turn) -> Object | None:
    """For the job's status. Without empty maps: one whose last key goes by server-side apply becomes null, which none may be."""
    if turn.app is None:
        return None
    return {key: value for key, value in turn.app.model_dump(by_alias=True).items() if value}


def find_quota(policy: NestedClassSpec, machine: str | None) -> dict[str, str]:
    quota = apply_machine(policy, machine).namespace.quota or {}
    return DEFAULT_QUOTA | {name: str(value) for name, value in quota.items()}


def find_reserved(
    policy: NestedClassSpec, machine: str | None, recorded: Object | None, granted: Mapping[str, str] | None = None
) -> dict[str, str] | None:
    """What a job that runs counts for, as it is written to its status: what it started with, whatever its quota is now. None if
    nothing is counted. `recorded`: what its status says, unless it starts now. `granted`: what Kueue has counted, and no more.
    """
    most = granted or {}
    started = find_quota(policy, machine) | {key: str(value) for key, value in (recorded or {}).items()}
    keys = [*(policy.queue.quota or {}), *most]
    amounts = {key: [parse_quantity(item[key]) for item in (started, most) if key in item] for key in keys}
    return {key: write_quantity(min(found)) for key, found in amounts.items() if found} or None


def cap_quota(policy: NestedClassSpec, reserved: Object | None) -> NestedClassSpec:
    """The class with a quota not above what the job started with: otherwise another machine would get around the queue."""
    if not reserved:
        return policy
    full = DEFAULT_QUOTA | {name: str(value) for name, value in (policy.namespace.quota or {}).items()}
    lower = {
        name: str(value)
        for name, value in reserved.items()
        if name not in full or parse_quantity(str(value)) < parse_quantity(full[name])
    }
    return with_quota(policy, lower) if lower else policy
