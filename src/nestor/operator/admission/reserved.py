"""What a job counts for while it runs, in a queue of ours or of Kueue's: it gets no more, whatever its class says later. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from nestor.api.class_parts import DEFAULT_QUOTA
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object
from nestor.api.quantities import parse_quantity, write_quantity
from nestor.operator.admission.placement import apply_machine


def find_quota(policy: NestedClassSpec, machine: str | None) -> dict[str, str]:
    """The quota of a job on that machine, as it is written."""
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
    quota = {name: str(value) for name, value in (policy.namespace.quota or {}).items()}
    full = DEFAULT_QUOTA | quota
    lower = {
        name: str(value)
        for name, value in reserved.items()
        if name not in full or parse_quantity(str(value)) < parse_quantity(full[name])
    }
    if not lower:
        return policy
    return policy.model_copy(update={"namespace": policy.namespace.model_copy(update={"quota": quota | lower})})
