"""Which job it is: its class and its home, known before its AppDef is; and how a job is refused. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from nestor.api import conditions
from nestor.api.appdef import explain
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.cluster.home import Home
from nestor.objects import Object
from nestor.operator.world.homes import find_home


class Refused(Exception):
    """The job cannot be admitted as it is: a reason, and a message for the user."""

    def __init__(
        self, reason: str, message: str, *, retry_seconds: float | None = None, status: Literal["False", "Unknown"] = "False"
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retry_seconds = retry_seconds
        """When to look again although no event will come; None: only when something changes."""
        self.status = status
        """Of condition `Admitted`. `Unknown`: nothing is wrong, it is not decided yet."""


@dataclass(frozen=True, kw_only=True)
class JobIdentity:
    """One job, with its class and its home."""

    name: str
    namespace: str
    uid: str
    spec: NestedAppJobSpec
    policy: NestedClassSpec
    home: Home


def identify(job: Object, classes: dict[str, NestedClassSpec]) -> JobIdentity:
    """The job with its class. Raises `Refused`."""
    meta = job["metadata"]
    try:
        spec = NestedAppJobSpec.model_validate(job["spec"])
    except ValidationError as error:
        raise Refused(conditions.APPDEF_INVALID, explain(error, "spec")) from error
    return JobIdentity(
        name=meta["name"],
        namespace=meta["namespace"],
        uid=meta["uid"],
        spec=spec,
        policy=find_class(spec.class_name, classes),
        home=find_home(job),
    )


def find_class(name: str, classes: dict[str, NestedClassSpec]) -> NestedClassSpec:
    """The class of that name. Raises `Refused`, with the names there are."""
    if name in classes:
        return classes[name]
    known = ", ".join(f"'{item}'" for item in sorted(classes)) or "none"
    raise Refused(conditions.CLASS_NOT_FOUND, f"no NestedClass named '{name}'; there are: {known}")
