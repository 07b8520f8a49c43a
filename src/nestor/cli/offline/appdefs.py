"""An AppDef by the operator's own rules: it is read, its commands chosen and their plans built, as for a job. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from nestor.api.appdef import AppDef, AppDefError, Chosen, choose_command, list_commands, read_appdef
from nestor.cli.offline.faults import Fault
from nestor.steps import PlanError, build_plan

ROOT = "appDef"
NESTED = "nested_kubernetes"


@dataclass
class Findings:
    """What is wrong, and what is accepted but worth knowing."""

    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, messages: Iterable[str], path: str) -> None:
        """Sentences that name their fields below `appDef`; `path` is where that is in the document."""
        self.faults += [Fault("", relocate(message, path)) for message in messages]


def check_job(spec: dict[str, Any], path: str) -> Findings:
    """The AppDef of a job, its command and its parameters; nothing when the AppDef is elsewhere."""
    findings = Findings()
    content = (spec.get("app") or {}).get("appDef")
    if content is None:
        return findings
    if (app := _read(content, path, findings)) is not None:
        _check_command(app, spec.get("command"), path, findings, spec.get("parameters"))
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


def _check_command(app: AppDef, command: str | None, path: str, findings: Findings, parameters: Any) -> None:
    try:
        chosen = choose_command(app, command)
    except AppDefError as error:
        findings.add(error.messages, path)
        return
    findings.warnings += [relocate(warning, path) for warning in chosen.warnings if warning not in findings.warnings]
    _check_plan(chosen, path, findings, parameters)


def _check_plan(chosen: Chosen, path: str, findings: Findings, parameters: Any) -> None:
    try:
        build_plan(chosen.nested.model_dump(), "")
    except PlanError as error:
        where = f"{ROOT}.commands.{chosen.id}.{NESTED}."
        named = [message.replace("`", f"`{where}", 1) if message.startswith("`") else message for message in error.messages]
        findings.add(named, path)


def relocate(message: str, path: str) -> str:
    """`appDef.commands…` of the operator's sentences → where it is in this document."""
    for old in (f"`{ROOT}.", f"`{ROOT}["):
        new = f"`{path}{old[-1]}" if path else "`" + old[-1].strip(".")
        message = message.replace(old, new)
    return message.replace(f"`{ROOT}`", f"`{path}`" if path else "the AppDef")
