"""Classes and entries of the catalogue that not everybody may use.

The chart's access-policy.yaml asks whoever writes an object for the right. Here is refused what nobody can have been asked about:
the API server knows only the classes of the moment. Pure.
"""

from __future__ import annotations

from nestor.api import conditions
from nestor.api.access import VERB, Access
from nestor.objects import Object, spec_of
from nestor.operator.admission.identity import Refused


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
    """The same for the entry of the catalogue that a job names."""
    if item is not None and spec_of(item).get("access") == "Permitted":
        _check_age(job, item, f"NestedApp '{item['metadata']['name']}'", "nestedapps")


def _check_age(job: Object, item: Object, what: str, plural: str) -> None:
    """Within one second, it is not known which was first."""
    if str(job["metadata"].get("creationTimestamp", "")) > str(item["metadata"].get("creationTimestamp", "")):
        return
    message = (
        f"{what} takes jobs only from those who may use it (`access: Permitted`), but is not older than this object, so nobody "
        f"was asked: delete it and create it again; that takes the verb `{VERB}` on {plural} '{item['metadata']['name']}'"
    )
    raise Refused(conditions.CLASS_NOT_PERMITTED, message)
