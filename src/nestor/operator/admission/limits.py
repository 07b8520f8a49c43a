"""How long the jobs of a class may run. Pure."""

from __future__ import annotations

from nestor.api import conditions
from nestor.operator.admission.identity import JobIdentity, Refused


def check_deadline(known: JobIdentity) -> None:
    """Raises `Refused` for a job that wants a longer deadline than its class has."""
    most, wanted = known.policy.max_active_deadline_seconds, known.spec.active_deadline_seconds
    if most is not None and wanted is not None and wanted > most:
        message = (
            f"`spec.activeDeadlineSeconds` may not be {wanted}: at most {most} is allowed (class '{known.class_name}', "
            "`maxActiveDeadlineSeconds`)"
        )
        raise Refused(conditions.DEADLINE_NOT_ALLOWED, message)
