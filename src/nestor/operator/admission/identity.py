"""A job's class and home, which are known before its AppDef; and the exception that refuses a job. Pure."""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from nestor.api import conditions
from nestor.api.appdef_keys import suggest
from nestor.api.class_choice import FALLBACK, find_class_name
from nestor.api.faults import explain
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, spec_of, status_of
from nestor.cluster.home import Home
from nestor.operator.lifecycle.record import is_rerun_due
from nestor.operator.world.kept import OVERSIZED, find_fault, read_spec
from nestor.operator.world.ownership import find_home


@dataclass(frozen=True)
class Denial:
    """Why a job is not admitted: a condition's reason and a message for the user."""

    reason: str
    message: str
    retry_seconds: float | None = None
    """When to look again even without an event; None: only when something changes."""
    status: Literal["False", "Unknown"] = "False"
    """Status of condition `Admitted`. `Unknown`: nothing is wrong, but it is not decided yet."""
    queue: Object | None = None
    """`status.queue`, if the job waits in one."""
    is_stuck: bool = False
    """With status `Unknown`: it takes so long that nobody else should have to wait for it."""

    @property
    def is_held(self) -> bool:
        """Whether the job may not run until its turn comes, as if it were suspended. Otherwise what runs goes on."""
        return self.reason == conditions.QUEUED


class Refused(Exception):
    """The job cannot be admitted as it is. A job that only waits is denied by a result, not by an exception."""

    def __init__(self, reason: str, message: str, **more: Any) -> None:
        """`more`: further fields of the `Denial`."""
        super().__init__(message)
        self.denial = Denial(reason, message, **more)


@dataclass(frozen=True, kw_only=True)
class JobIdentity:
    name: str
    namespace: str
    uid: str
    spec: NestedAppJobSpec
    policy: NestedClassSpec
    home: Home
    is_rerun_due: bool = False
    """It is about to run again, and takes its inputs as they are now."""

    @property
    def class_name(self) -> str:
        """Name of its class, which is also in its `spec`, whoever chose it."""
        return self.spec.class_name or ""


def identify(job: Object, classes: dict[str, NestedClassSpec], default: str = FALLBACK) -> JobIdentity:
    """The job with its class. `default`: the class of jobs that name none. Raises `Refused`."""
    meta = job["metadata"]
    if fault := find_fault(job):
        remedy = ": put large files into the app image" if OVERSIZED in job else ""
        raise Refused(conditions.APPDEF_INVALID, fault + remedy)
    try:
        spec = NestedAppJobSpec.model_validate(read_spec(job))
    except ValidationError as error:
        raise Refused(conditions.APPDEF_INVALID, explain(error, "spec")) from error
    class_name = find_class_name(job, default)
    return JobIdentity(
        name=meta["name"],
        namespace=meta["namespace"],
        uid=meta["uid"],
        spec=spec.model_copy(update={"class_name": class_name}),
        policy=find_class(class_name, classes),
        home=find_home(job),
        is_rerun_due=is_rerun_due(job),
    )


def find_class(name: str, classes: dict[str, NestedClassSpec]) -> NestedClassSpec:
    """The class with that name. Raises `Refused`, listing the existing names."""
    if name in classes:
        return classes[name]
    known = ", ".join(f"'{item}'" for item in sorted(classes)) or "none"
    raise Refused(conditions.CLASS_NOT_FOUND, f"no NestedClass named '{name}'; available: {known}{suggest(name, classes)}")


def find_machine_name(job: Object) -> str | None:
    """The machine of a job that was admitted before: the one that it names, or the one that it was given."""
    return spec_of(job).get("machine") or status_of(job).get("machine")
