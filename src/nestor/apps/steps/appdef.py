"""`nested_kubernetes` of an AppDef command → plan. All faults are reported together."""

import json
from collections.abc import Mapping
from typing import Any

from nestor.api import faults, names
from nestor.api.appdef_keys import UnknownKey, warn_of_unknown
from nestor.apps.steps import types
from nestor.apps.steps.fields import Fields
from nestor.apps.steps.plan import Plan, PlanError, Remote, Step
from nestor.apps.steps.types import TYPES, Reading

STEP_LIMIT = 100
NAME_LIMIT = 100
PLAN_LIMIT = 900 * 1024
"""Bytes of `plan.json`: a Secret holds 1 MiB, with its names and labels."""


def build_plan(
    nested: Mapping[str, Any],
    base: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    facts: Mapping[str, str] | None = None,
    remote: Remote | None = None,
    salt: str = "",
) -> Plan:
    """The plan of one AppDef command.

    `nested` is the command's `nested_kubernetes`, verbatim; unknown keys are left alone. `base` stands for everything under
    which what was done counts: content of the templates, the cluster's data, the user's wish to run all again. `parameters` and
    `environment` come from `parameters.check`, `facts` about the job are what templates see as `job.name` …, `remote` is the
    class's policy. `salt` goes into the hashes of steps that see parameters, where a value is secret. Raises `PlanError`.
    """
    fault = faults.find_fault(nested, "nested_kubernetes")
    if fault is not None:
        raise PlanError([fault])
    reading = Reading(remote or Remote())
    _read_settings(nested.get("templates_settings"), reading)
    steps = _read_steps(nested.get("templates"), reading)
    if reading.faults:
        raise PlanError(reading.faults)
    values, variables, known = dict(parameters or {}), dict(environment or {}), dict(facts or {})
    hashed = tuple(step.model_copy(update={"hash": hash_step(step, values, variables, known, salt)}) for step in steps)
    plan = Plan(
        hash=_hash_plan(base, hashed, reading.remote),
        base=base,
        steps=hashed,
        parameters=values,
        environment=variables,
        facts=known,
        remote=reading.remote,
    )
    size = len(plan.to_json().encode())
    if size > PLAN_LIMIT:
        raise PlanError(
            [
                f"`templates` and parameters make a plan of {size // 1024} KiB, more than {PLAN_LIMIT // 1024} KiB: move scripts "
                "and values into files in /templates of the image"
            ]
        )
    return plan


def list_warnings(nested: Mapping[str, Any], where: str) -> list[str]:
    """What `build_plan` leaves alone in the steps and their settings: one sentence per key that nothing reads, of the first ones.

    `where` is the place of `nested` in the AppDef. What is no dictionary of a reasonable size has faults, not warnings.
    """
    if faults.find_fault(nested, where) is not None:
        return []
    reading = Reading(Remote())
    _read_settings(nested.get("templates_settings"), reading)
    _read_steps(nested.get("templates"), reading)
    settings = reading.settings
    unknown = [UnknownKey(f"{where}.{settings.where}", key, settings.asked) for key in settings.unread] if settings else []
    for entry in reading.entries:
        unknown += types.find_unknown(entry, f"{where}.{entry.where}")
    return warn_of_unknown(unknown)


def hash_step(
    step: Step, parameters: Mapping[str, Any], environment: Mapping[str, str], facts: Mapping[str, str], salt: str = ""
) -> str:
    """Changes with what the step does: neither with its name and limits, nor with parameters that it does not see.

    Defaults are left out, so that a key of a later version changes nothing for steps that do not have it: another hash runs the
    steps of a running job again.
    """
    ignored = {"name", "hash", "retry", "retry_sleep_seconds", "timeout_seconds", "final_exit_codes"}
    content: dict[str, Any] = {"does": step.model_dump(exclude=ignored, exclude_defaults=True)}
    if step.render:
        content |= {"parameters": dict(parameters), "facts": dict(facts)}
    if TYPES[step.type].is_script and environment:
        content |= {"environment": dict(environment)}
    if salt and len(content) > 1:
        content |= {"salt": salt}
    return names.digest_json(content, length=16)


def _hash_plan(base: str, steps: tuple[Step, ...], remote: Remote) -> str:
    """Changes with all that a runner must know; what a class says about URLs only where a step may fetch something.

    Addresses of the host's API do not count: they may change whenever the operator starts, and that must not restart a plan.
    """
    content = [
        [step.hash, step.name, step.retry, step.retry_sleep_seconds, step.timeout_seconds, *step.final_exit_codes]
        for step in steps
    ]
    rules = remote.model_dump_json(exclude_defaults=True, exclude={"denied_addresses"})
    says = rules if rules != "{}" and any(TYPES[step.type].may_fetch(step) for step in steps) else ""
    return names.digest(base, json.dumps(content), says, length=16)


def _read_settings(settings: Any, reading: Reading) -> None:
    if settings is None or settings == "":
        return
    if not isinstance(settings, dict):
        reading.faults.append(
            "`templates_settings` must be a dictionary; known keys: `global_retry`, `global_retry_sleep`, `render`"
        )
        return
    fields = Fields(settings, "templates_settings", reading.faults)
    reading.settings = fields
    retry, sleep = (
        fields.read_count("global_retry", types.COUNT_LIMIT),
        fields.read_count("global_retry_sleep", types.SECONDS_LIMIT),
    )
    reading.retry = reading.retry if retry is None else retry
    reading.retry_sleep = reading.retry_sleep if sleep is None else sleep
    reading.render = bool(fields.read_flag("render"))


def _read_steps(templates: Any, reading: Reading) -> list[Step]:
    if not isinstance(templates, list) or not templates:
        reading.faults.append("`templates` must be a list of at least one step, each with `name` and `type`")
        return []
    if len(templates) > STEP_LIMIT:
        reading.faults.append(f"`templates` must have at most {STEP_LIMIT} steps, not {len(templates)}")
        return []
    steps = []
    for index, template in enumerate(templates):
        where = f"templates[{index}]"
        if isinstance(template, dict):
            fields = Fields(template, where, reading.faults)
            reading.entries.append(fields)
            name = _read_name(fields, reading.names)
            step = types.read_step(fields, name, reading)
            steps += [step] if step is not None else []
        else:
            reading.faults.append(f"`{where}` must be a dictionary with `name`, `type` and the type's own fields")
    return steps


def _read_name(fields: Fields, taken: set[str]) -> str:
    """The step's name. KNS allows duplicates; here they are made unique, to tell logs and states apart."""
    name = fields.read_text("name", NAME_LIMIT)
    if name is None:
        if fields.get("name") is None:
            fields.fault("name", "must be set: it labels the step's log lines and state")
        return ""
    unique, count = name, 2
    while unique in taken:
        unique, count = f"{name}-{count}", count + 1
    taken.add(unique)
    return unique
