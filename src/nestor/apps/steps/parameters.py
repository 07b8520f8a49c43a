"""A command's `parameters`, as JARVICE's AppDef declares them, and the values that a job gives them.

Types: `CONST`, `STR` (the default), `INT`, `FLOAT`, `RANGE`, `BOOL`, `selection`, `FILE`, `UPLOAD`.
Another type is taken as text, with a warning. Keys: `required`, `value` (the default), `min`, `max`, `step`, `precision`,
`values` and `mvalues`, `filter`, `size`, `if` and `ifnot`, `variable`; of ours: `multi` (several values). What only means
something to a command line or a form (`FORM_KEYS`) is left alone.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from nestor.api import faults
from nestor.api.appdef_keys import UnknownKey, suggest, warn_of_unknown
from nestor.apps.steps import values
from nestor.apps.steps.fields import Fields
from nestor.apps.steps.plan import PlanError

COUNT_LIMIT = 256
NAME_LIMIT = 253
SHOWN_NAMES = 20
_VARIABLE_FORM = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
FORM_KEYS = frozenset({"name", "description", "positional", "target"})
_RESERVED = ("PATH", "HOME", "KUBECONFIG", "TMPDIR")
_SUBSTITUTION_FORM = re.compile(r"%[A-Z0-9]+%", re.ASCII)


@dataclass(frozen=True)
class Parameters:
    """What a job's parameters come to."""

    values: dict[str, Any]
    """Strings, numbers, booleans and lists of them by name, with defaults. What has neither value nor default is not here."""
    environment: dict[str, str]
    """Those that the AppDef marks by `variable`, for scripts."""
    warnings: tuple[str, ...] = ()


@dataclass
class _Reading:
    declared: dict[str, Fields]
    given: Mapping[str, Any]
    faults: list[str]
    warnings: list[str]
    hidden: Collection[str] = ()

    def name_given(self, name: str) -> str:
        if name in self.hidden:
            return f"`spec.parametersFrom`: key '{faults.name_field('', [name])}'"
        return f"`{faults.name_field('spec.parameters', [name])}`"


def check(
    declared: Any, given: Mapping[str, Any] | None, *, where: str = "parameters", hidden: Collection[str] = ()
) -> Parameters:
    """The checked values. `declared`: the command's `parameters`, verbatim; `given`: the job's; `where` names the former.

    `hidden`: names in `given` whose values come from a Secret, and are not shown in messages.
    Raises `PlanError` with all faults, of the AppDef and of the job.
    """
    given = given or {}
    for content, root in ((declared, where), (given, "spec.parameters")):
        fault = faults.find_fault(content, root)
        if fault is not None:
            raise PlanError([fault])
    found: list[str] = []
    reading = _Reading(_read_declared(declared, where, found), given, found, [], hidden)
    _refuse_unknown(reading)
    checked, environment = _check_all(reading)
    # JARVICE's own examples carry keys of one type in another, which is not worth a warning.
    known = FORM_KEYS | _list_keys()
    unknown = [
        UnknownKey(fields.where, key, fields.asked | FORM_KEYS)
        for fields in reading.declared.values()
        for key in fields.unread
        if key not in known
    ]
    warnings = (*reading.warnings, *warn_of_unknown(unknown))
    if reading.faults:
        raise PlanError(list(dict.fromkeys(reading.faults)), warnings)
    return Parameters(checked, environment, warnings)


def _check_all(reading: _Reading) -> tuple[dict[str, Any], dict[str, str]]:
    """What templates see, and scripts."""
    checked = {name: _read_value(name, fields, reading) for name, fields in reading.declared.items()}
    active = [name for name in reading.declared if _is_active(name, checked, reading)]
    _require(active, checked, reading)
    environment = _build_environment(active, checked, reading)
    return {name: checked[name] for name in active if checked[name] is not None}, environment


@cache
def _list_keys() -> frozenset[str]:
    """The keys of all types: those that are asked for where there are none."""
    declared = {kind: Fields({"type": kind}, "", []) for kind in values.TYPES}
    _check_all(_Reading(declared, {}, [], []))
    return frozenset().union(*(fields.asked for fields in declared.values()))


def _read_declared(declared: Any, where: str, found: list[str]) -> dict[str, Fields]:
    if declared is None or declared == "":
        return {}
    if not isinstance(declared, dict):
        raise PlanError([f"`{where}` must be a dictionary of parameters by name, or `{{}}`"])
    if len(declared) > COUNT_LIMIT:
        raise PlanError([f"`{where}` must have at most {COUNT_LIMIT} entries, not {len(declared)}"])
    entries = {}
    for name, content in declared.items():
        field = faults.name_field(where, [name])
        if not name.strip() or len(name) > NAME_LIMIT:
            found.append(f"`{where}` must have names of 1 to {NAME_LIMIT} characters, not {faults.show(name)}")
        elif isinstance(content, dict):
            entries[name] = Fields(content, field, found)
        else:
            found.append(f"`{field}` must be a dictionary that describes the parameter")
    return entries


def _refuse_unknown(reading: _Reading) -> None:
    unknown = [name for name in reading.given if name not in reading.declared]
    if unknown and not reading.declared:
        field = "parametersFrom" if unknown[0] in reading.hidden else "parameters"
        reading.faults.append(f"`spec.{field}` may not be set: the command has no parameters")
        return
    known = _list_known([*reading.declared])
    told = faults.SENTENCE_LIMIT - 1
    for name in unknown[:told]:
        reading.faults.append(f"{reading.name_given(name)} is unknown; the command has: {known}{suggest(name, reading.declared)}")
    if more := unknown[told:]:
        where = "parametersFrom" if more[0] in reading.hidden else "parameters"
        reading.faults.append(f"`spec.{where}`: {len(more)} more are unknown")


def _list_known(names: list[str]) -> str:
    """Of many or long names, the first ones."""
    more = len(names) - SHOWN_NAMES
    shown = [faults.name_field("", [name]) for name in names[:SHOWN_NAMES]]
    return ", ".join(f"'{name}'" for name in shown) + (f", … {more} more" if more > 0 else "")


def _read_value(name: str, fields: Fields, reading: _Reading) -> Any:
    """The job's value or the default, checked; None when there is neither."""
    rule = values.read_rule(fields)
    if rule is not None and rule.kind == values.OTHER:
        known = ", ".join(values.TYPES)
        reading.warnings.append(
            f"`{fields.where}.type` {faults.show(fields.get('type'))} is unknown, the value is taken as text; known: {known}"
        )
    default = _read_default(fields, rule, reading.warnings)
    given = reading.given.get(name)
    if given is None or rule is None:
        return default
    field = reading.name_given(name)
    if rule.kind == "CONST":
        reading.faults.append(f"{field} may not be set: it is a constant of the AppDef")
        return None
    try:
        return values.check(rule, given)
    except values.ValueFault as fault:
        said = f"has no value of type {rule.kind} as the AppDef allows it" if name in reading.hidden else fault
        reading.faults.append(f"{field} {said}")
        return None


def _read_default(fields: Fields, rule: values.Rule | None, warnings: list[str]) -> Any:
    if rule is None:
        return None
    default = fields.get("value")
    if default is None:
        return _find_blank(fields, rule)
    if rule.kind == "CONST" and isinstance(default, str) and _SUBSTITUTION_FORM.search(default):
        warnings.append(
            f"`{fields.where}.value`: {_SUBSTITUTION_FORM.findall(default)[0]} is a JARVICE placeholder and is not replaced"
        )
    try:
        return values.check(rule, default)
    except values.ValueFault as fault:
        fields.fault("value", str(fault))
        return None


def _find_blank(fields: Fields, rule: values.Rule) -> Any:
    """The value used without a default: the first choice of a list, as in a form; None if a value is required."""
    if rule.kind == "SELECTION":
        return values.check(rule, rule.choices[0])
    if rule.kind != "CONST" and fields.read_flag("required"):
        return None
    return [] if rule.is_list else values.EMPTY.get(rule.kind)


def _is_active(name: str, checked: dict[str, Any], reading: _Reading) -> bool:
    """Whether the parameter's conditions hold: all of `if` true, all of `ifnot` false."""
    fields = reading.declared[name]
    holds = [
        bool(checked[other]) is wanted
        for key, wanted in (("if", True), ("ifnot", False))
        for other in _read_condition(fields, key, reading)
    ]
    if all(holds):
        return True
    if name in reading.given:
        reading.warnings.append(f"{reading.name_given(name)} is not used: its conditions do not hold")
    return False


def _read_condition(fields: Fields, key: str, reading: _Reading) -> list[str]:
    condition = fields.get(key)
    names = [condition] if isinstance(condition, str) else condition or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        fields.fault(key, f"must be a list of names of BOOL parameters, not {faults.show(condition)}")
        return []
    known = []
    for name in names:
        other = reading.declared.get(name)
        if other is None or str(other.get("type")).upper() != "BOOL":
            fields.fault(key, f"must name parameters of type BOOL, not {faults.show(name)}")
        else:
            known.append(name)
    return known


def _require(active: list[str], checked: dict[str, Any], reading: _Reading) -> None:
    for name in active:
        is_given = reading.given.get(name) is not None
        if reading.declared[name].read_flag("required") and checked[name] is None and not is_given:
            description = reading.declared[name].get("description")
            meaning = f" ({description[:200]})" if isinstance(description, str) and description.isprintable() else ""
            reading.faults.append(f"`{faults.name_field('spec.parameters', [name])}` must be set{meaning}")


def _build_environment(active: list[str], checked: dict[str, Any], reading: _Reading) -> dict[str, str]:
    environment = {}
    for name, fields in reading.declared.items():
        if not fields.read_flag("variable"):
            continue
        if not _VARIABLE_FORM.fullmatch(name) or name in _RESERVED or name.startswith(("NESTOR_", "LD_")):
            fields.fault(
                "variable", f"may be true only if the name is valid for an environment variable, unlike {faults.show(name)}"
            )
        elif name in active and checked[name] is not None:
            environment[name] = values.to_text(checked[name])
    return environment
