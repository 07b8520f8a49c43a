"""What the operator would say of AppDefs and jobs, by its own rules and decisions, as far as files can tell. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from nestor.api import conditions, faults
from nestor.api.appdef import AppDefError, choose_command, list_commands, read_appdef
from nestor.api.appdef_models import AppDef
from nestor.api.class_choice import FALLBACK, find_class_name, find_default
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec, resolve_class
from nestor.apps.steps import PlanError, build_plan, check_parameters, list_warnings
from nestor.clients.cli.offline.documents import list_items
from nestor.operator.admission.admit import Resolved, admit, check_wishes, choose_version
from nestor.operator.admission.app_source import AppSource, find_source
from nestor.operator.admission.checks import check_image
from nestor.operator.admission.identity import JobIdentity, Refused
from nestor.operator.guests.queue.entry import find_fault
from nestor.operator.world.ownership import find_home

ROOT = "appDef"
GIVEN = "spec.parameters"
PATH = "spec.app.appDef"
NOBODY = "00000000-0000-0000-0000-000000000000"
"""A UID, which an object gets only in a cluster."""


Findings = tuple[list[str], list[str]]
"""Faults and warnings: sentences that name their fields."""


def check_appdef(content: Any, path: str, job: dict[str, Any] | None = None) -> Findings:
    """An AppDef, which is at `path` of its document: the command that a job's spec chooses, with the job's parameters; without a
    job, each command that has a Kubernetes part.
    """
    try:
        app = read_appdef(content)
    except AppDefError as error:
        return [relocate(message, path) for message in error.messages], []
    commands: list[str | None] = [*list_commands(app)] or [None]
    checked = [_check_command(app, command, job) for command in (commands if job is None else [job.get("command")])]
    warnings = dict.fromkeys(message for _, told in checked for message in told)
    return [relocate(message, path) for faults, _ in checked for message in faults], [relocate(item, path) for item in warnings]


def _check_command(app: AppDef, command: str | None, job: dict[str, Any] | None) -> Findings:
    """With fields below `appDef`."""
    try:
        chosen = choose_command(app, command)
    except AppDefError as error:
        return error.messages, []
    found: list[str] = []
    warnings = [*chosen.warnings, *list_warnings(chosen.nested.model_dump(), chosen.where)]
    where = faults.name_field(f"{ROOT}.commands", [chosen.id, "parameters"])
    try:
        warnings += check_parameters(chosen.command.parameters, (job or {}).get("parameters"), where=where).warnings
    except PlanError as error:
        found += [message for message in error.messages if _is_known(message, job)]
        warnings += error.warnings
    try:
        build_plan(chosen.nested.model_dump(), "")
    except PlanError as error:
        found += [
            message.replace("`", f"`{chosen.where}.", 1) if message.startswith("`") else message for message in error.messages
        ]
    return found, warnings


def _is_known(message: str, job: dict[str, Any] | None) -> bool:
    """Whether a fault is certain: what a job has to give is no fault of an AppDef, and it may be in a Secret."""
    if f"`{GIVEN}" not in message:
        return True
    return job is not None and not (job.get("parametersFrom") and "` must be set" in message)


def relocate(message: str, path: str) -> str:
    """`appDef.commands…` of the operator's sentences → where it is in this document."""
    for old in (f"`{ROOT}.", f"`{ROOT}["):
        new = f"`{path}{old[-1]}" if path else "`" + old[-1].strip(".")
        message = message.replace(old, new)
    return message.replace(f"`{ROOT}`", f"`{path}`" if path else "the AppDef")


@dataclass(frozen=True)
class Known:
    classes: Mapping[str, NestedClassSpec] = field(default_factory=dict)
    """By name; without those that have a fault, because their own check names it."""
    default: str = FALLBACK
    """The class of jobs that name none."""

    def find_class(self, content: dict[str, Any]) -> tuple[str, NestedClassSpec | None]:
        """Name and content of the class of a NestedAppJob; None for one that is not known."""
        name = find_class_name({"spec": content["spec"]}, self.default)
        return name, self.classes.get(name)


NOTHING = Known()


def read_known(contents: Iterable[Any], default: str | None = None) -> Known:
    """What the documents tell. `default`: the default class, where it is not for their annotations to say."""
    items = _list_classes(contents)
    found: dict[str, NestedClassSpec] = {}
    for item in items:
        try:
            found[item["metadata"]["name"]] = resolve_class(item.get("spec") or {})
        except ValidationError:
            continue
    return Known(found, default or find_default(items))


def _list_classes(contents: Iterable[Any]) -> list[dict[str, Any]]:
    items = [item for content in contents for item in list_items(content) if isinstance(item, dict)]
    classes = [item for item in items if item.get("kind") == "NestedClass" and not faults.find_fault(item, "NestedClass")]
    return [item for item in classes if _is_named(item.get("metadata"))]


def _is_named(meta: Any) -> bool:
    return isinstance(meta, dict) and isinstance(meta.get("name"), str) and isinstance(meta.get("annotations") or {}, dict)


def check_admission(content: dict[str, Any], known: Known) -> Findings:
    """Of a NestedAppJob that is well-formed. Nothing if its class is not known."""
    name, policy = known.find_class(content)
    if policy is None:
        return [], []
    if policy.access == "Permitted" and not content["spec"].get("className"):
        return [
            f"`spec.className` must be set: class '{name}' takes jobs only from those who may use it (`access: Permitted`)"
        ], []
    job = _identify(content, name, policy)
    if job is None:
        return [], []
    try:
        resolved = _admit(job)
        if resolved is None:
            return [], []
        resolved.build_plan("", 0)
    except Refused as refused:
        is_unknown = refused.denial.reason == conditions.PARAMETERS_INVALID and job.spec.parameters_from is not None
        return [] if is_unknown else [relocate(refused.denial.message, PATH)], []
    faults = [route.refusal[1] for route in resolved.routes if route.refusal and route.is_requested]
    return faults, [relocate(item, PATH) for item in resolved.warnings]


def _identify(content: dict[str, Any], class_name: str, policy: NestedClassSpec) -> JobIdentity | None:
    """The job; None if it cannot be read, for a reason that its own check names."""
    try:
        spec = NestedAppJobSpec.model_validate(content["spec"])
    except ValidationError:
        return None
    said = content.get("metadata") or {}
    meta = {"name": str(said.get("name") or "job"), "namespace": str(said.get("namespace") or "default"), "uid": NOBODY}
    return JobIdentity(
        name=meta["name"],
        namespace=meta["namespace"],
        uid=NOBODY,
        spec=spec.model_copy(update={"class_name": class_name}),
        policy=policy,
        home=find_home({"metadata": meta}),
    )


def _admit(job: JobIdentity) -> Resolved | None:
    """The admitted job; None where its AppDef is elsewhere, but nothing that is known is against it. Raises `Refused`."""
    fault = find_fault(job.policy, job.class_name, job.spec.machine)
    if fault is not None:
        raise Refused(*fault)
    source = AppSource() if job.spec.app_ref else find_source(job, ())
    if source.app_def is not None:
        return admit(job, source)
    check_wishes(job)
    check_image(job, source)
    choose_version(job.spec.kubernetes_version, job.class_name, job.policy.cluster)
    return None
