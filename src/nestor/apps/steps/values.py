"""One parameter's type and limits, and whether a value conforms. Numbers may be strings, as JARVICE's forms send them."""

import dataclasses
import decimal
import fnmatch
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from nestor.api import faults
from nestor.apps.steps.fields import Fields

TYPES = ("CONST", "STR", "INT", "FLOAT", "RANGE", "BOOL", "selection", "FILE", "UPLOAD")
OTHER = "OTHER"
"""A type that is none of ours. KNS does not read parameters at all, so such an AppDef works there."""
EMPTY: dict[str, Any] = {OTHER: "", "CONST": "", "STR": "", "BOOL": False, "FILE": "", "UPLOAD": ""}
"""Values of parameters that are neither given nor required; numbers have none."""
TEXT_LIMIT = 64 * 1024
"""Bytes of a text: less than Linux allows for an environment variable."""
CHOICE_LIMIT = 1000
LIST_LIMIT = 100
_INTEGER_FORM = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_NUMBER_FORM = re.compile(r"[+-]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})([eE][+-]?[0-9]{1,2})?", re.ASCII)
_ARITHMETIC = decimal.Context(prec=400)
"""Exact for all numbers of the form above."""


class ValueFault(ValueError):
    """Why a value is refused, as the end of a sentence that starts with the field's name."""


@dataclass(frozen=True)
class Rule:
    kind: str
    """In capitals, `SELECTION` included: AppDefs write it either way."""
    least: Decimal | None = None
    most: Decimal | None = None
    step: Decimal | None = None
    precision: int | None = None
    choices: tuple[str, ...] = ()
    machine_values: tuple[str, ...] = ()
    """What each of `choices` stands for, in the same order."""
    patterns: tuple[str, ...] = ()
    limit: int = TEXT_LIMIT
    is_list: bool = False
    """Whether there may be several values: `multi`, an extension of ours."""


def read_rule(fields: Fields) -> Rule | None:
    """The rule of a declared parameter, of kind `OTHER` where its type is unknown; None where it has faults."""
    before = len(fields.faults)
    kind = fields.get("type")
    kind = "STR" if kind is None else kind
    if not isinstance(kind, str) or kind.upper() not in [name.upper() for name in TYPES]:
        return Rule(OTHER)
    read = _READERS.get(kind.upper())
    rule = read(fields, kind.upper()) if read else Rule(kind.upper())
    is_list = bool(fields.read_flag("multi"))
    return dataclasses.replace(rule, is_list=is_list) if len(fields.faults) == before else None


def check(rule: Rule, value: Any) -> Any:
    """The value as its type has it: a string, number or boolean, or a list of them. Raises `ValueFault`."""
    if rule.kind == OTHER:
        return _check_text(rule, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    if rule.is_list:
        listed = value if isinstance(value, list) else [value]
        if len(listed) > LIST_LIMIT:
            raise ValueFault(f"must have at most {LIST_LIMIT} values, not {len(listed)}")
        return [_check_one(rule, item) for item in listed]
    return _check_one(rule, value)


def to_text(value: Any) -> str:
    """A checked value as an environment variable has it; lists with commas."""
    if isinstance(value, list):
        return ",".join(to_text(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_one(rule: Rule, value: Any) -> Any:
    if value is None or isinstance(value, list | dict):
        raise ValueFault(f"must be one value, not {faults.show(value)}")
    return _CHECKERS[rule.kind](rule, value)


def _read_numbers(fields: Fields, kind: str) -> Rule:
    least, most, step = (_read_limit(fields, key) for key in ("min", "max", "step"))
    if least is not None and most is not None and least > most:
        fields.fault("min", f"must not be greater than `max`: {least} and {most}")
    if step is not None and step <= 0:
        fields.fault("step", f"must be greater than 0, not {step}")
    return Rule(kind, least, most, step if kind == "RANGE" else None, fields.read_count("precision", 18))


def _read_limit(fields: Fields, key: str) -> Decimal | None:
    value = fields.get(key)
    number = None if value is None else _to_number(value)
    if value is not None and number is None:
        fields.fault(key, f"must be a number, not {faults.show(value)}")
    return number


def _read_selection(fields: Fields, kind: str) -> Rule:
    choices = _read_choices(fields, "values")
    machine = _read_choices(fields, "mvalues") if fields.get("mvalues") is not None else choices
    if not choices:
        fields.fault("values", "must be a list of choices: strings or numbers")
    elif len(choices) != len(machine):
        fields.fault("mvalues", f"must have as many entries as `values`, {len(choices)}, not {len(machine)}")
    return Rule(kind, choices=choices, machine_values=machine)


def _read_choices(fields: Fields, key: str) -> tuple[str, ...]:
    listed = fields.get(key)
    if not isinstance(listed, list) or len(listed) > CHOICE_LIMIT:
        return ()
    is_plain = all(isinstance(item, str | int | float) for item in listed)
    return tuple(to_text(item) for item in listed) if is_plain else ()


def _read_file(fields: Fields, kind: str) -> Rule:
    pattern = fields.read_text("filter", 1024)
    return Rule(kind, patterns=tuple(pattern.split("|")) if pattern else ())


def _read_upload(fields: Fields, kind: str) -> Rule:
    size = fields.read_count("size", 2**30)
    return Rule(kind, limit=min(size or TEXT_LIMIT, TEXT_LIMIT))


def _check_text(rule: Rule, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ValueFault(f"must be a string, not {faults.show(value)}: put it in quotes")
    if "\0" in value or len(value.encode()) > rule.limit:
        raise ValueFault(f"must be a string of at most {rule.limit} bytes, without null characters")
    return value


def _check_constant(rule: Rule, value: Any) -> Any:
    return value if isinstance(value, bool | int | float) else _check_text(rule, value)


def _check_integer(rule: Rule, value: Any) -> int:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole and not (isinstance(value, str) and _INTEGER_FORM.fullmatch(value.strip())):
        raise ValueFault(f"must be an integer{describe(rule)}, not {faults.show(value)}")
    number = int(value)
    _check_range(rule, Decimal(number), value)
    return number


def _check_float(rule: Rule, value: Any) -> float:
    number = _to_number(value)
    if number is None:
        raise ValueFault(f"must be a number{describe(rule)}, not {faults.show(value)}")
    if rule.precision is not None:
        # JARVICE cuts the digits beyond it.
        number = number.quantize(Decimal(1).scaleb(-rule.precision), decimal.ROUND_DOWN, _ARITHMETIC)
    _check_range(rule, number, value)
    return float(number)


def _check_in_steps(rule: Rule, value: Any) -> int | float:
    number = _to_number(value)
    if number is None:
        raise ValueFault(f"must be a number{describe(rule)}, not {faults.show(value)}")
    _check_range(rule, number, value)
    start = rule.least or Decimal(0)
    if rule.step is not None and _ARITHMETIC.remainder(_ARITHMETIC.subtract(number, start), rule.step) != 0:
        raise ValueFault(f"must be a number{describe(rule)}, not {faults.show(value)}")
    return int(number) if number == number.to_integral_value() else float(number)


def _check_range(rule: Rule, number: Decimal, value: Any) -> None:
    if (rule.least is not None and number < rule.least) or (rule.most is not None and number > rule.most):
        raise ValueFault(f"must be a number{describe(rule)}, not {faults.show(value)}")


def describe(rule: Rule) -> str:
    """The limits of a number, each with a blank before it."""
    words = [
        f" from {rule.least}" if rule.least is not None else "",
        f" to {rule.most}" if rule.most is not None else "",
        f" in steps of {rule.step}" if rule.step is not None else "",
    ]
    return "".join(words)


def _check_boolean(_: Rule, value: Any) -> bool:
    text = to_text(value).strip().lower()
    if not isinstance(value, bool | str) or text not in ("true", "false"):
        raise ValueFault(f"must be true or false, not {faults.show(value)}")
    return text == "true"


def _check_selection(rule: Rule, value: Any) -> str:
    text = to_text(value)
    if text in rule.choices:
        return rule.machine_values[rule.choices.index(text)]
    if text in rule.machine_values:
        return text
    shown = ", ".join(f"'{choice}'" for choice in rule.choices[:20])
    raise ValueFault(f"must be one of {shown}{' …' if len(rule.choices) > 20 else ''}, not {faults.show(value)}")


def _check_file(rule: Rule, value: Any) -> str:
    name = _check_text(rule, value)
    if rule.patterns and name and not any(fnmatch.fnmatchcase(name, pattern.strip()) for pattern in rule.patterns):
        shown = " or ".join(f"'{pattern}'" for pattern in rule.patterns)
        raise ValueFault(f"must be the name of a file like {shown}, not {faults.show(value)}")
    return name


def _to_number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str) or not _NUMBER_FORM.fullmatch(str(value).strip()):
        return None
    return Decimal(str(value).strip())


_READERS: dict[str, Callable[[Fields, str], Rule]] = {
    "INT": _read_numbers,
    "FLOAT": _read_numbers,
    "RANGE": _read_numbers,
    "SELECTION": _read_selection,
    "FILE": _read_file,
    "UPLOAD": _read_upload,
}
_CHECKERS: dict[str, Callable[[Rule, Any], Any]] = {
    "CONST": _check_constant,
    "STR": _check_text,
    "INT": _check_integer,
    "FLOAT": _check_float,
    "RANGE": _check_in_steps,
    "BOOL": _check_boolean,
    "SELECTION": _check_selection,
    "FILE": _check_file,
    "UPLOAD": _check_text,
}
