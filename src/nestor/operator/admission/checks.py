"""What of a class is not for every job: long deadlines, images, and the class or the entry of the catalog itself. Pure.

The chart's access-policy.yaml asks whoever writes an object for the right. Here is refused what nobody can have been asked about:
the API server knows only the classes of the moment.
"""

from __future__ import annotations

from nestor.api import conditions
from nestor.api.images import find_fault
from nestor.api.objects import Object, spec_of
from nestor.api.words import VERB, Access
from nestor.operator.admission.app_source import AppSource
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


def check_image(known: JobIdentity, source: AppSource) -> None:
    """Raises `Refused` for an app image that the class does not allow."""
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
