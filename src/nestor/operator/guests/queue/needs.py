"""What a job counts for in its class's queue. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from nestor.api import conditions
from nestor.api.nestedclass import NestedClassSpec
from nestor.objects import Object
from nestor.operator.admission.reserved import find_quota
from nestor.quantities import parse_quantity

JOBS = "jobs"
"""The amount that counts jobs themselves."""

Amounts = Mapping[str, Decimal]


def find_limits(policy: NestedClassSpec) -> Amounts:
    """What the jobs of the class may have together."""
    queue = policy.queue
    found = {name: parse_quantity(str(value)) for name, value in (queue.quota or {}).items()}
    return found if queue.max_jobs is None else found | {JOBS: Decimal(queue.max_jobs)}


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
