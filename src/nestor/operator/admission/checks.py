"""What of a class is not for every job: long deadlines, images, volumes, and the class or the entry of the catalog itself. Pure.

The chart's access-policy.yaml asks whoever writes an object for the right. Here is refused what nobody can have been asked about:
the API server knows only the classes of the moment.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from nestor.api import conditions, data, labels
from nestor.api.allowances import JobStorage, Storage
from nestor.api.class_parts import DEFAULT_QUOTA
from nestor.api.images import find_fault
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, labels_of, spec_of, status_of
from nestor.api.quantities import parse_quantity
from nestor.api.words import VERB, Access
from nestor.operator.admission.app_source import AppSource
from nestor.operator.admission.identity import JobIdentity, Refused
from nestor.operator.admission.placement import apply_machine, list_allowed, with_quota


def check_deadline(known: JobIdentity) -> None:
    """Raises `Refused` for a job that wants a longer deadline than its class has."""
    most, wanted = known.policy.max_active_deadline_seconds, known.spec.active_deadline_seconds
    if most is not None and wanted is not None and wanted > most:
        message = (
            f"`spec.activeDeadlineSeconds` may not be {wanted}: at most {most} is allowed (class '{known.class_name}', "
            "`maxActiveDeadlineSeconds`)"
        )
        raise Refused(conditions.DEADLINE_NOT_ALLOWED, message)


def is_of_kueue(job: Object, policy: NestedClassSpec) -> bool:
    """Whether Kueue starts it. Its label may be taken away while it runs."""
    mode = policy.queue.kueue
    return mode == "Require" or (mode == "Allow" and (labels.KUEUE_QUEUE in labels_of(job) or "assigned" in status_of(job)))


def find_idle_limit(policy: NestedClassSpec, spec: NestedAppJobSpec | None) -> int | None:
    """After how many seconds without work a job is put to sleep; None: never."""
    own = spec.idle_seconds if spec else None
    return min((limit for limit in (own, policy.max_idle_seconds) if limit is not None), default=None)


def check_image(known: JobIdentity, source: AppSource) -> None:
    if source.image and (fault := find_fault(source.image, known.policy.images.allowed)):
        raise Refused(conditions.IMAGE_NOT_ALLOWED, source.blame(f"app image {fault} (class '{known.class_name}')"))


def check_class(job: Object, item: Object | None, access: Access) -> None:
    """Raises `Refused` for a new job whose writer was not asked whether he may use its class."""
    if access == "Everyone" or item is None:
        return
    name = item["metadata"]["name"]
    if not spec_of(job).get("className"):
        message = (
            f"class '{name}' takes jobs only from those who may use it (`access: Permitted`), and so it must be named: delete "
            f"the job and create it again with `className: {name}`, or with another class"
        )
        raise Refused(conditions.CLASS_NOT_PERMITTED, message)
    _check_age(job, item, f"class '{name}'", "nestedclasses")


def check_app(job: Object, item: Object | None) -> None:
    """The same for the entry of the catalog that a job names."""
    if item is not None and spec_of(item).get("access") == "Permitted":
        _check_age(job, item, f"NestedApp '{item['metadata']['name']}'", "nestedapps")


def _check_age(job: Object, item: Object, what: str, plural: str) -> None:
    """Within one second, it is not known which was first."""
    if str(job["metadata"].get("creationTimestamp", "")) > str(item["metadata"].get("creationTimestamp", "")):
        return
    message = (
        f"{what} takes jobs only from those who may use it (`access: Permitted`), but is not older than this object, so your "
        f"permission was not checked: delete it and create it again; that takes the verb `{VERB}` on {plural} "
        f"'{item['metadata']['name']}'"
    )
    raise Refused(conditions.CLASS_NOT_PERMITTED, message)


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


_VOLUMES = {"FILE", "BLOCK", "BLOCK_ARRAY"}
_KINDS = {*_VOLUMES, "OBJECT", "NONE", ""}
"""JARVICE's kinds of vaults."""


def check_vaults(known: JobIdentity, source: AppSource, vaults: Iterable[str]) -> str | None:
    """What to say of an AppDef's `vault-types`, if anything. Raises `Refused` for StorageClasses that the class lacks."""
    allowed, words = (known.policy.storage or Storage()).classes, [word.strip() for word in vaults]
    own = [word for word in words if word.upper() not in _KINDS and word == word.lower()]
    if missing := [word for word in own if word not in allowed]:
        needed = ", ".join(f"'{word}'" for word in missing)
        message = f"`appDef.vault-types` names StorageClass {needed}: {list_allowed(allowed)} (class '{known.class_name}')"
        raise Refused(conditions.STORAGE_NOT_ALLOWED, source.blame(message))
    kinds = {word.upper() for word in words}
    if own or not kinds or kinds & {"NONE", ""} or kinds >= {*_VOLUMES, "OBJECT"} or (allowed and kinds & _VOLUMES):
        return None
    listed = ", ".join(f"'{word}'" for word in words)
    return f"`appDef.vault-types` ({listed}): class '{known.class_name}' has no such storage"


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
    return with_quota(policy, {_SIZE: str(wishes.size)})
