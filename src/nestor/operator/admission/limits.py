"""How long the jobs of a class may run. Pure."""

from __future__ import annotations

from dataclasses import replace

from nestor.api import conditions
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.operator.admission.identity import JobIdentity, Refused


def limit_deadline(known: JobIdentity) -> JobIdentity:
    """The job with its class's deadline if it has none. Raises `Refused` if it wants more."""
    most, wanted = known.policy.max_active_deadline_seconds, known.spec.active_deadline_seconds
    if most is not None and wanted is not None and wanted > most:
        message = (
            f"`spec.activeDeadlineSeconds` may not be {wanted}: at most {most} is allowed (class '{known.class_name}', "
            "`maxActiveDeadlineSeconds`)"
        )
        raise Refused(conditions.DEADLINE_NOT_ALLOWED, message)
    return replace(known, spec=cap_deadline(known.spec, known.policy))


def cap_deadline(spec: NestedAppJobSpec, policy: NestedClassSpec | None) -> NestedAppJobSpec:
    """The spec with the shorter of its own deadline and its class's. A job that is refused because of it still ends by it."""
    most = policy.max_active_deadline_seconds if policy else None
    if most is None or (spec.active_deadline_seconds or most + 1) <= most:
        return spec
    return spec.model_copy(update={"active_deadline_seconds": most})
