"""An AppDef by the operator's own rules: it is read, its commands chosen and their plans built, as for a job. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from nestor.api import faults
from nestor.api.appdef import AppDefError, Chosen, choose_command, list_commands, read_appdef
from nestor.api.appdef_models import AppDef
from nestor.apps.steps import PlanError, build_plan, check_parameters, list_warnings

ROOT = "appDef"
GIVEN = "spec.parameters"


@dataclass
class Findings:
    """What is wrong, and what is accepted but worth knowing."""

    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, messages: Iterable[str], path: str) -> None:
        """Sentences that name their fields below `appDef`; `path` is where that is in the document."""
        self.faults += [relocate(message, path) for message in messages]

    def warn(self, messages: Iterable[str], path: str) -> None:
        """The same for warnings, each once."""
        told = [relocate(message, path) for message in messages]
        self.warnings += [message for message in told if message not in self.warnings]


def check_job(spec: dict[str, Any], path: str) -> Findings:
    """The AppDef of a job, its command and its parameters; nothing when the AppDef is elsewhere."""
    findings = Findings()
    content = (spec.get("app") or {}).get("appDef")
    if content is None:
        return findings
    if (app := _read(content, path, findings)) is not None:
        _check_command(app, spec.get("command"), path, findings, spec)
    return findings


def check_all(content: Any, path: str) -> Findings:
    """An AppDef by itself: each command that has a Kubernetes part. Required parameters are the job's business."""
    findings = Findings()
    if (app := _read(content, path, findings)) is None:
        return findings
    commands: list[str | None] = [*list_commands(app)]
    for command in commands or [None]:
        _check_command(app, command, path, findings, None)
    return findings


def _read(content: Any, path: str, findings: Findings) -> AppDef | None:
    try:
        return read_appdef(content)
    except AppDefError as error:
        findings.add(error.messages, path)
        return None


def _check_command(app: AppDef, command: str | None, path: str, findings: Findings, spec: dict[str, Any] | None) -> None:
    """One command; `spec` is the job's, None where there is no job."""
    try:
        chosen = choose_command(app, command)
    except AppDefError as error:
        findings.add(error.messages, path)
        return
    findings.warn([*chosen.warnings, *list_warnings(chosen.nested.model_dump(), chosen.where)], path)
    _check_parameters(chosen, path, findings, spec)
    try:
        build_plan(chosen.nested.model_dump(), "")
    except PlanError as error:
        named = [
            message.replace("`", f"`{chosen.where}.", 1) if message.startswith("`") else message for message in error.messages
        ]
        findings.add(named, path)


def _check_parameters(chosen: Chosen, path: str, findings: Findings, spec: dict[str, Any] | None) -> None:
    where = faults.name_field(f"{ROOT}.commands", [chosen.id, "parameters"])
    try:
        found = check_parameters(chosen.command.parameters, (spec or {}).get("parameters"), where=where)
    except PlanError as error:
        findings.add([message for message in error.messages if _is_known(message, spec)], path)
        findings.warn(error.warnings, path)
    else:
        findings.warn(found.warnings, path)


def _is_known(message: str, spec: dict[str, Any] | None) -> bool:
    """Whether a fault is certain: what a job has to give is no fault of an AppDef, and it may be in a Secret."""
    if f"`{GIVEN}" not in message:
        return True
    return spec is not None and not (spec.get("parametersFrom") and "` must be set" in message)


def relocate(message: str, path: str) -> str:
    """`appDef.commands…` of the operator's sentences → where it is in this document."""
    for old in (f"`{ROOT}.", f"`{ROOT}["):
        new = f"`{path}{old[-1]}" if path else "`" + old[-1].strip(".")
        message = message.replace(old, new)
    return message.replace(f"`{ROOT}`", f"`{path}`" if path else "the AppDef")
