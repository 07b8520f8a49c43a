"""`nested_kubernetes` of an AppDef command → plan. All faults are found at once, so that a user corrects them at once."""

from __future__ import annotations

import json
from typing import Any

from nestor import names
from nestor.steps import paths
from nestor.steps.plan import (
    DEFAULT_RETRY,
    DEFAULT_RETRY_SLEEP_SECONDS,
    DEFAULT_TIMEOUT_SECONDS,
    Plan,
    PlanError,
    Step,
)

SUPPORTED_TYPES = ("kubectl",)
LATER_TYPES = ("kustomize", "custom", "helm")
STEP_LIMIT = 100
NAME_LIMIT = 100
COUNT_LIMIT = 10_000
SECONDS_LIMIT = 86_400


def build_plan(nested: dict[str, Any], sources_hash: str) -> Plan:
    """The plan of one AppDef command.

    `nested` is the command's `nested_kubernetes`, verbatim; `sources_hash` stands for where the templates come from (image
    or ConfigMap content): another value is another plan. Raises `PlanError`. Unknown keys are left alone.
    """
    faults: list[str] = []
    defaults = _read_defaults(nested.get("templates_settings"), faults)
    steps = _read_steps(nested.get("templates"), defaults, faults)
    if faults:
        raise PlanError(faults)
    content = json.dumps([step.model_dump() for step in steps], sort_keys=True)
    return Plan(hash=names.digest(content, sources_hash, length=16), steps=tuple(steps))


def _read_defaults(settings: Any, faults: list[str]) -> tuple[int, int]:
    """`global_retry` and `global_retry_sleep`, which hold for steps that do not say otherwise."""
    if settings is None:
        settings = {}
    if not isinstance(settings, dict):
        faults.append("`templates_settings` must be a dictionary; known keys: `global_retry`, `global_retry_sleep`")
        settings = {}
    retry = _read_count(settings, "global_retry", "templates_settings", COUNT_LIMIT, faults)
    sleep = _read_count(settings, "global_retry_sleep", "templates_settings", SECONDS_LIMIT, faults)
    return (DEFAULT_RETRY if retry is None else retry, DEFAULT_RETRY_SLEEP_SECONDS if sleep is None else sleep)


def _read_steps(templates: Any, defaults: tuple[int, int], faults: list[str]) -> list[Step]:
    if not isinstance(templates, list) or not templates:
        faults.append("`templates` must be a list of at least one step, each with `name`, `type` and `path`")
        return []
    if len(templates) > STEP_LIMIT:
        faults.append(f"`templates` must not have more than {STEP_LIMIT} steps, not {len(templates)}")
        return []
    steps: list[Step] = []
    seen: dict[str, int] = {}
    for index, template in enumerate(templates):
        where = f"templates[{index}]"
        if not isinstance(template, dict):
            faults.append(f"`{where}` must be a dictionary with `name`, `type` and `path`")
            continue
        name = _read_name(template, where, seen, index, faults)
        before = len(faults)
        step = _read_step(template, where, name, defaults, faults)
        if step is not None and len(faults) == before:
            steps.append(step)
    return steps


def _read_step(
    template: dict[str, Any], where: str, name: str, defaults: tuple[int, int], faults: list[str],
) -> Step | None:
    """The step with its own retry rules where it has some, each of the two on its own."""
    _check_type(template, where, faults)
    _check_format(template, where, faults)
    path = _read_path(template, where, faults)
    retry = _read_count(template, "retry", where, COUNT_LIMIT, faults)
    sleep = _read_count(template, "retry_sleep", where, SECONDS_LIMIT, faults)
    timeout = _read_count(template, "timeout_seconds", where, SECONDS_LIMIT, faults, least=1)
    if path is None:
        return None
    return Step(
        name=name, type="kubectl", path=path,
        retry=defaults[0] if retry is None else retry,
        retry_sleep_seconds=defaults[1] if sleep is None else sleep,
        timeout_seconds=DEFAULT_TIMEOUT_SECONDS if timeout is None else timeout,
    )


def _read_name(template: dict[str, Any], where: str, seen: dict[str, int], index: int, faults: list[str]) -> str:
    name = template.get("name")
    if not isinstance(name, str) or not name.strip():
        faults.append(f"`{where}.name` must be set: it labels the step's log lines and state")
        return ""
    if len(name) > NAME_LIMIT or not name.isprintable():
        faults.append(f"`{where}.name` must be at most {NAME_LIMIT} printable characters on one line")
    elif name in seen:
        faults.append(f"`{where}.name` '{name}' must be unique, `templates[{seen[name]}]` has it already")
    seen.setdefault(name, index)
    return name


def _check_type(template: dict[str, Any], where: str, faults: list[str]) -> None:
    kind = template.get("type")
    allowed = f"allowed: {', '.join(SUPPORTED_TYPES)}"
    if kind is None:
        faults.append(f"`{where}.type` must be set, {allowed}")
    elif kind in LATER_TYPES:
        faults.append(f"`{where}`: type '{kind}' is not supported yet, {allowed}")
    elif kind not in SUPPORTED_TYPES:
        faults.append(f"`{where}`: type '{kind}' is unknown, {allowed}")


def _check_format(template: dict[str, Any], where: str, faults: list[str]) -> None:
    value = template.get("format")
    if value == "url":
        faults.append(f"`{where}`: format 'url' is not supported yet; put the file into /templates of the image")
    elif value not in (None, "", "file"):
        faults.append(f"`{where}`: format '{value}' is unknown, leave `format` out for a file of the image")


def _read_path(template: dict[str, Any], where: str, faults: list[str]) -> str | None:
    if template.get("format") == "url":
        return None
    path = template.get("path")
    if path is None:
        if template.get("type") not in LATER_TYPES:
            faults.append(f"`{where}.path` must be set: the file's path relative to /templates of the image")
        return None
    if not isinstance(path, str):
        faults.append(f"`{where}.path` must be a string")
        return None
    fault = paths.find_fault(path)
    if fault is not None:
        faults.append(f"`{where}.path` {fault}")
        return None
    return path


def _read_count(
    source: dict[str, Any], key: str, where: str, most: int, faults: list[str], *, least: int = 0,
) -> int | None:
    """An optional integer; None when it is not set."""
    value = source.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        faults.append(f"`{where}.{key}` must be an integer from {least} to {most}, not {value!r}")
        return None
    return value
