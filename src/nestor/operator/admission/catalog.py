"""The catalog: reports in each NestedApp's status whether jobs can run it, by the same rules that apply to jobs."""

import contextlib

from nestor.api import conditions
from nestor.api.appdef import AppDefError, Chosen, choose_command, list_commands, read_appdef
from nestor.api.appdef_models import AppDef
from nestor.api.conditions import Condition
from nestor.api.faults import join, name_field
from nestor.api.objects import Object, conditions_of, is_terminating, spec_of, status_of
from nestor.api.times import timestamp
from nestor.apps.steps import PlanError, build_plan, check_parameters, list_warnings
from nestor.kube import NotFound, kinds
from nestor.operator.admission.admit import JOBS_PARAMETERS
from nestor.operator.admission.app_source import read_catalog
from nestor.operator.admission.identity import Refused
from nestor.operator.world.context import Context

COMMAND_LIMIT, ID_LIMIT, TITLE_LIMIT = 64, 253, 1024
"""The limits in the CRD's schema."""


async def reconcile_app(context: Context, name: str) -> None:
    app = context.cache.apps.get(name)
    if app is not None and not is_terminating(app) and (status := build_status(app, timestamp())) != status_of(app):
        with contextlib.suppress(NotFound):
            await context.apply_status(kinds.NESTED_APP, app, status)


def build_status(app: Object, time: str) -> Object:
    generation = app["metadata"].get("generation", 0)
    accepted, title, commands = describe(app)
    old = conditions_of(app)
    told = {key: value for key, value in (("title", title), ("commands", commands)) if value}
    return told | {"conditions": conditions.merge(old, [accepted], generation, time), "observedGeneration": generation}


def describe(app: Object) -> tuple[Condition, str, list[Object]]:
    """Whether jobs can run it, its title, and the valid values of `command`."""
    spec = spec_of(app)
    title = str(spec.get("title") or "")
    try:
        source = read_catalog(app["metadata"]["name"], [app])
    except Refused as refused:
        return _accept(refused.denial.reason, refused.denial.message), title, []
    if source.app_def is None:
        said = "the AppDef is read from the image when a job runs; to show its commands before that, set `appDef` as well"
        return _accept(conditions.ADMITTED_REASON, said), title, []
    try:
        found = read_appdef(source.app_def)
    except AppDefError as error:
        return _accept(conditions.APPDEF_INVALID, str(error)), title, []
    return _check_commands(found), title or (found.name or "")[:TITLE_LIMIT], list_entries(found)


def list_entries(app: AppDef) -> list[Object]:
    entries = []
    for command in list_commands(app)[:COMMAND_LIMIT]:
        content = app.commands[command]
        texts = {key: str(content.get(key) or "")[:TITLE_LIMIT] for key in ("name", "description")}
        entries.append({"id": command[:ID_LIMIT], **texts})
    return entries


def _check_commands(app: AppDef) -> Condition:
    """Check that every command a job could choose produces a plan."""
    faults: list[str] = []
    warnings: list[str] = []
    wanted: list[str | None] = [*list_commands(app)]
    for command in wanted or [None]:
        try:
            chosen = choose_command(app, command)
            warnings += [*chosen.warnings, *list_warnings(chosen.nested.model_dump(), chosen.where), *_check_plan(chosen)]
        except AppDefError as error:
            faults += error.messages
        except PlanError as error:
            faults += [f"command '{command}': {message}" for message in error.messages]
    if faults:
        return _accept(conditions.APPDEF_INVALID, join(faults))
    said = "; ".join(["jobs can run it", *(f"warning: {warning}" for warning in dict.fromkeys(warnings))])
    return _accept(conditions.ADMITTED_REASON, said)


def _check_plan(chosen: Chosen) -> tuple[str, ...]:
    """Warnings about its parameters. Raises `PlanError`, but not for a required parameter, which only a job can set."""
    where = name_field("appDef.commands", [chosen.id, "parameters"])
    found: list[str] = []
    try:
        warnings = check_parameters(chosen.command.parameters, {}, where=where).warnings
    except PlanError as error:
        warnings = error.warnings
        found += [message for message in error.messages if not message.startswith(JOBS_PARAMETERS)]
    try:
        build_plan(chosen.nested.model_dump(), "")
    except PlanError as error:
        found += error.messages
    if found:
        raise PlanError(found)
    return warnings


def _accept(reason: str, message: str) -> Condition:
    return Condition(conditions.ACCEPTED, "True" if reason == conditions.ADMITTED_REASON else "False", reason, message)
