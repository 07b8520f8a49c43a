"""What the form for a new job offers, and the job that it makes. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from nestor.api import labels
from nestor.api.class_choice import find_default
from nestor.api.objects import Object, owner_reference, spec_of
from nestor.api.words import NAME_LIMIT
from nestor.clients.cli import manifests
from nestor.clients.cli.limits import LONGEST
from nestor.clients.cli.manifests import Wishes

NAME_FORM = re.compile(r"[a-z]([-a-z0-9]{0,50}[a-z0-9])?")
SPACE_FORM = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
UNITS = {"minutes": 60, "hours": 3600, "days": 86400}
ENDING = "-parameters"
_MARK = ":"


@dataclass(frozen=True)
class Offer:
    value: str
    label: str


@dataclass(frozen=True)
class ClassOffer:
    name: str
    machines: tuple[Offer, ...]


@dataclass(frozen=True)
class Form:
    """A posted form, but for the parameters."""

    name: str = ""
    namespace: str = ""
    where: str = ""
    command: str = ""
    limit: str = ""
    limit_unit: str = "hours"

    def list_faults(self) -> dict[str, str]:
        found = {}
        if not NAME_FORM.fullmatch(self.name):
            found["name"] = (
                f"must be lower-case letters, digits and '-', begin with a letter, and have at most {NAME_LIMIT} characters"
            )
        if not SPACE_FORM.fullmatch(self.namespace):
            found["namespace"] = "must be the name of a namespace"
        if self.limit and read_seconds(self.limit, self.limit_unit) is None:
            found["limit"] = "must be a number greater than 0, and less than ten years"
        return found


def offer_classes(classes: list[Object], patterns: Sequence[str] = ()) -> list[ClassOffer]:
    """The classes with those of their machines that an application takes, by its `patterns`; the default class first."""
    found, default = [_offer(item, patterns) for item in classes], find_default(classes)
    return sorted(found, key=lambda item: (item.name != default, item.name))


def _offer(item: Object, patterns: Sequence[str]) -> ClassOffer:
    name, placement = item["metadata"]["name"], spec_of(item).get("placement") or {}
    machines = [machine for machine in placement.get("machines") or () if isinstance(machine, dict)]
    taken = [
        machine for machine in machines if not patterns or any(fnmatchcase(str(machine.get("name")), item) for item in patterns)
    ] or machines
    default = placement.get("defaultMachine")
    is_any = not default and len(taken) == len(machines)
    offers = [Offer(f"{name}{_MARK}", "any machine")] if is_any or not machines else []
    return ClassOffer(name, (*offers, *(_describe(name, machine, default) for machine in taken)))


def _describe(name: str, machine: Object, default: str | None) -> Offer:
    quota = ", ".join(f"{key} {amount}" for key, amount in (machine.get("quota") or {}).items())
    about = ", ".join(filter(None, [machine.get("description"), quota]))
    is_usual = " (default)" if machine.get("name") == default else ""
    return Offer(f"{name}{_MARK}{machine.get('name')}", f"{machine.get('name')}{is_usual}" + (f": {about}" if about else ""))


def read_seconds(number: str, unit: str) -> int | None:
    """A time in seconds; None if it is none."""
    try:
        found = round(float(number) * UNITS[unit])
    except (ValueError, KeyError, OverflowError):
        return None
    return found if 1 <= found <= LONGEST else None


def suggest_name(app: str, random: str) -> str:
    return f"{manifests.base_name(app)}-{random[: manifests.SUFFIX_LENGTH]}"


def build_job(app: str, form: Form, plain: Mapping[str, Any], secret: Mapping[str, str], owner: str) -> Object:
    """The job. With `secret` values, it is suspended until the Secret is there from which it reads them."""
    class_name, _, machine = form.where.partition(_MARK)
    wishes = Wishes(
        name=form.name,
        command=form.command or None,
        class_name=class_name or None,
        machine=machine or None,
        parameters=dict(plain),
        parameters_from=form.name + ENDING if secret else None,
    )
    job = manifests.build_job(wishes, app=app, name=form.name)
    job["metadata"] |= {"namespace": form.namespace} | ({"annotations": {labels.CREATED_BY: owner}} if owner else {})
    if form.limit:
        job["spec"]["activeDeadlineSeconds"] = read_seconds(form.limit, form.limit_unit)
    if secret:
        job["spec"]["suspend"] = True
    return job


def build_secret(job: Object, secret: Mapping[str, str]) -> Object:
    """The Secret with the passwords of a job that has been made. It is deleted with the job."""
    meta = job["metadata"]
    owner = owner_reference(job["apiVersion"], job["kind"], meta["name"], meta["uid"])
    own = {"name": meta["name"] + ENDING, "namespace": meta["namespace"], "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": own, "type": "Opaque", "stringData": dict(secret)}
