"""The volumes of one job: what its class says, and its own wishes as far as they are allowed. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nestor.api import conditions, data
from nestor.api.allowances import JobStorage, Storage
from nestor.api.class_parts import DEFAULT_QUOTA
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, spec_of
from nestor.api.quantities import parse_quantity
from nestor.operator.admission.identity import Refused
from nestor.operator.admission.overflow import list_allowed
from nestor.operator.admission.placement import apply_machine

_SIZE = "requests.storage"


def check_storage(policy: NestedClassSpec, job: NestedAppJobSpec) -> None:
    """Raises `Refused` for wishes that the class does not allow."""
    if problems := list(_find_problems(policy, job)):
        raise Refused(conditions.STORAGE_NOT_ALLOWED, f"{'; '.join(problems)} (class '{job.class_name}')")


def _find_problems(policy: NestedClassSpec, job: NestedAppJobSpec) -> Iterator[str]:
    wishes, allowed = job.storage or JobStorage(), policy.storage or Storage()
    if wishes.class_name and wishes.class_name not in allowed.classes:
        yield f"`spec.storage.className` may not be '{wishes.class_name}': {list_allowed(allowed.classes)}"
    if wishes.size is None:
        return
    most = find_most(apply_machine(policy, job.machine))
    if not allowed.classes:
        yield f"`spec.storage.size` may not be '{wishes.size}': the class allows no persistent volumes"
    elif parse_quantity(str(wishes.size)) > parse_quantity(most):
        yield f"`spec.storage.size` may not be '{wishes.size}': at most {most} is allowed"


def find_most(policy: NestedClassSpec) -> str:
    """How much the volumes of one job may have together."""
    given = policy.namespace.quota or {}
    return str(given.get(_SIZE, DEFAULT_QUOTA[_SIZE]))


def resolve_storage(policy: NestedClassSpec, job: NestedAppJobSpec | None) -> Storage | None:
    """The volumes that the job's claims may get. None if the class says nothing. `job`: None if its spec cannot be read."""
    if policy.storage is None:
        return None
    found = Storage(**{name: getattr(policy.storage, name) for name in data.list_names(Storage)})
    wished = job.storage.class_name if job and job.storage else None
    if wished not in found.classes:
        return found
    return replace(found, classes=[wished, *(name for name in found.classes if name != wished)])


def read_wishes(job: Object) -> JobStorage | None:
    """The wishes in a job that may be invalid otherwise. None if they cannot be read."""
    try:
        wishes = data.read(JobStorage, spec_of(job).get("storage") or {})
        parse_quantity(str(wishes.size or 0))
    except ValueError:
        return None
    return wishes


def apply_size(policy: NestedClassSpec, wishes: JobStorage | None) -> NestedClassSpec:
    """The class with the size that a job wishes, if that is less than what it allows. `policy`: with the job's machine."""
    if wishes is None or wishes.size is None or parse_quantity(str(wishes.size)) > parse_quantity(find_most(policy)):
        return policy
    own = policy.namespace
    quota = {**(own.quota or {}), _SIZE: str(wishes.size)}
    return policy.model_copy(update={"namespace": own.model_copy(update={"quota": quota})})
