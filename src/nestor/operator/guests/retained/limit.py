"""How much the jobs of a namespace may leave behind. No job begins while it is too much: who may create and delete jobs could
fill the storage of all. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from nestor.api import conditions, labels
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, spec_of, status_of
from nestor.api.quantities import parse_quantity
from nestor.operator.admission.checks import find_most
from nestor.operator.admission.identity import Denial

RETRY_SECONDS = 60.0
"""How soon to look again: volumes are not watched."""
_LEAST = Decimal(2**30)
"""What a volume counts at least: there are as many objects, at a storage system too, as there are volumes, however small."""


def find_limit(policy: NestedClassSpec) -> str | None:
    """How much may be left. None if the class lets nothing stay. `policy`: the class itself, without the wishes of a job."""
    if policy.storage is None or policy.storage.retention != "Retain":
        return None
    given = policy.storage.retained_limit
    return str(given) if given is not None else find_most(policy)


def check_retained(namespace: str, class_name: str, limit: str, left: Iterable[Object]) -> Denial | None:
    """Why no job may begin, if what those of the namespace have left, volumes and contents of snapshots, is as much as the limit
    of the class.
    """
    found = list(left)
    if sum(map(_measure, found), Decimal(0)) < parse_quantity(limit):
        return None
    also = " and `kubectl get volumesnapshotcontents` alike" if any(map(_is_snapshot, found)) else ""
    message = (
        f"the volumes and snapshots that jobs of namespace '{namespace}' have left ({len(found)}) reach the limit of {limit} of "
        f"class '{class_name}' (`storage.retainedLimit`); an admin can delete those that are not needed "
        f"(`kubectl get pv -l {labels.JOB_NAMESPACE}={namespace}`{also}), or raise the limit"
    )
    return Denial(conditions.RETAINED_LIMIT, message, retry_seconds=RETRY_SECONDS)


def _is_snapshot(left: Object) -> bool:
    return "volumeSnapshotRef" in spec_of(left)


def _measure(left: Object) -> Decimal:
    """A snapshot counts as the volume that could be filled from it: how much of that it takes, Kubernetes does not say."""
    size = status_of(left).get("restoreSize") if _is_snapshot(left) else (spec_of(left).get("capacity") or {}).get("storage")
    try:
        return max(_LEAST, parse_quantity(str(size)))
    except ValueError:
        return _LEAST
