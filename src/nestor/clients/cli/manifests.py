"""From what a user typed to a NestedAppJob or NestedApp. Pure; the AppDef stays as it is, to the letter."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import yaml

from nestor.api import labels
from nestor.api.objects import Object, status_of
from nestor.api.times import timestamp
from nestor.api.words import NAME_LIMIT
from nestor.clients.cli.exits import Code, Failure
from nestor.kube import Kind, kinds

SUFFIX_LENGTH = 5


@dataclass(frozen=True)
class Wishes:
    """What the options of `nestor run` and `nestor convert` say; None: not given."""

    name: str | None = None
    image: str | None = None
    config_map: str | None = None
    command: str | None = None
    class_name: str | None = None
    machine: str | None = None
    version: str | None = None
    host: str | None = None
    all_targets: bool = False
    parameters: dict[str, Any] = field(default_factory=dict)
    parameters_from: str | None = None
    """Name of a Secret with further parameters."""


def build_job(wishes: Wishes, *, app: str | None = None, appdef: Object | None = None, name: str) -> Object:
    """A job of an application of the catalog (`app`), or of one of its own."""
    spec: Object = {"appRef": {"name": app}} if app else {"app": build_app(wishes, appdef)}
    return with_wishes(_build(kinds.NESTED_APP_JOB, name, spec), wishes)


def build_cluster(name: str, wishes: Wishes) -> Object:
    """A job without an application."""
    return with_wishes(_build(kinds.NESTED_APP_JOB, name, {}), wishes)


def build_catalog_entry(wishes: Wishes, appdef: Object, name: str) -> Object:
    return _build(kinds.NESTED_APP, wishes.name or name, build_app(wishes, appdef))


def _build(kind: Kind, name: str, spec: Object) -> Object:
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, "spec": spec}


def build_app(wishes: Wishes, appdef: Object | None) -> Object:
    """`spec.app`, and all of a NestedApp's spec."""
    app: Object = {"image": wishes.image} if wishes.image else {}
    if wishes.config_map:
        app["templatesFrom"] = {"configMapRef": {"name": wishes.config_map}}
    return app | ({"appDef": appdef} if appdef is not None else {})


def with_wishes(job: Object, wishes: Wishes) -> Object:
    """The job with everything else that was asked for; what was not stays as it is."""
    spec = dict(job["spec"])
    named = {
        "command": wishes.command,
        "className": wishes.class_name,
        "machine": wishes.machine,
        "kubernetesVersion": wishes.version,
    }
    for key, value in named.items():
        if value:
            spec[key] = value
    if wishes.parameters:
        spec["parameters"] = {**(spec.get("parameters") or {}), **wishes.parameters}
    if wishes.parameters_from:
        spec["parametersFrom"] = {"secretRef": {"name": wishes.parameters_from}}
    expose = {**(spec.get("expose") or {}), **({"host": wishes.host} if wishes.host else {})}
    expose |= {"allTargets": True} if wishes.all_targets else {}
    meta = job["metadata"] | ({"name": wishes.name} if wishes.name else {})
    return {**job, "metadata": meta, "spec": spec | ({"expose": expose} if expose else {})}


def name_templates(job: Object) -> str:
    """The ConfigMap of its templates; empty if there is none."""
    found: Any = job["spec"]
    for key in ("app", "templatesFrom", "configMapRef", "name"):
        found = found.get(key) if isinstance(found, dict) else None
    return str(found or "")


def is_image(text: str) -> bool:
    """Whether `nestor run TEXT` means an app image: names of the catalog have neither `/` nor `:`."""
    return "/" in text or ":" in text


def base_name(text: str) -> str:
    """A job's name, made of an image, an application's title or a file's name: letters, digits and dashes, short."""
    last = text.partition("@")[0].rpartition("/")[2].partition(":")[0]
    name = re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-")
    name = name if name[:1].isalpha() else f"app-{name}".rstrip("-")
    return name[: NAME_LIMIT - SUFFIX_LENGTH - 1].rstrip("-")


def end_name(name: str, random: str) -> str:
    """One that no other job has."""
    return f"{name}-{random[:SUFFIX_LENGTH]}"


def build_suspend(job: Object, *, wanted: bool) -> Object:
    """The patch that suspends a job, or resumes one that is suspended or asleep."""
    woken = {"metadata": {"annotations": {labels.WAKE: timestamp()}}} if status_of(job).get("asleep") and not wanted else {}
    return {"spec": {"suspend": wanted}} | woken


def build_rerun(at: datetime) -> Object:
    """The patch that asks for a new run of a job."""
    return {"metadata": {"annotations": {labels.RERUN: at.isoformat(timespec="milliseconds")}}}


def parse_parameters(items: list[str]) -> dict[str, Any]:
    """`k=v` pairs: numbers and booleans as YAML reads them, all else as text. Raises `Failure`."""
    parameters: dict[str, Any] = {}
    for item in items:
        key, separator, value = item.partition("=")
        if not separator or not key.strip():
            raise Failure(f"`--parameter {item}` must have the form NAME=VALUE", Code.USAGE)
        parameters[key.strip()] = _read_value(value)
    return parameters


def _read_value(text: str) -> Any:
    """A scalar, or a list as `[a, b]`; what is neither, or reads back as something else, is the text itself."""
    if not re.fullmatch(r"true|false|-?(0|[1-9][0-9]*)(\.[0-9]+)?|\[.*\]|\".*\"|'.*'", text, re.DOTALL):
        return text
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text
