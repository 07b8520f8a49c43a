"""What a job counts for in its class's queue. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from nestor.api import conditions
from nestor.api.class_namespace import DEFAULT_QUOTA
from nestor.api.nestedclass import NestedClassSpec
from nestor.objects import Object
from nestor.operator.admission.placement import apply_machine
from nestor.quantities import parse_quantity, write_quantity

JOBS = "jobs"
"""The amount that counts jobs themselves."""

Amounts = Mapping[str, Decimal]


def find_limits(policy: NestedClassSpec) -> Amounts:
    """What the jobs of the class may have together."""
    queue = policy.queue
    found = {name: parse_quantity(str(value)) for name, value in (queue.quota or {}).items()}
    return found if queue.max_jobs is None else found | {JOBS: Decimal(queue.max_jobs)}


def find_quota(policy: NestedClassSpec, machine: str | None) -> dict[str, str]:
    """The quota of a job on that machine, as it is written."""
    quota = apply_machine(policy, machine).namespace.quota or {}
    return DEFAULT_QUOTA | {name: str(value) for name, value in quota.items()}


def find_needs(policy: NestedClassSpec, machine: str | None, reserved: Object | None = None) -> Amounts:
    """What a job counts for. `reserved`: what it started with, if it runs. What nothing bounds counts for nothing."""
    amounts = find_quota(policy, machine) | {name: str(value) for name, value in (reserved or {}).items()}
    return {JOBS: Decimal(1)} | {name: parse_quantity(amounts.get(name, "0")) for name in policy.queue.quota or {}}


def find_fault(policy: NestedClassSpec, class_name: str, machine: str | None) -> tuple[str, str] | None:
    """Why a job on that machine could never start: reason and message."""
    quota, on = find_quota(policy, machine), f" on machine '{machine}'" if machine else ""
    for name, limit in (policy.queue.quota or {}).items():
        if name not in quota:
            message = (
                f"class '{class_name}' limits `{name}` of all its jobs, but a job{on} has no quota for it, so nobody knows what "
                "it would use"
            )
            return conditions.QUEUE_UNBOUNDED, message
        if parse_quantity(quota[name]) > parse_quantity(str(limit)):
            message = f"a job{on} may use {quota[name]} of `{name}`; all jobs of class '{class_name}' together, {limit}"
            return conditions.TOO_LARGE, message
    return None


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
