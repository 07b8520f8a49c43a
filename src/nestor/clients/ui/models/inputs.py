"""The fields of a form, from a command's `parameters`; from what was posted to a job's parameters; and these without passwords.

Pure.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nestor.api import faults
from nestor.api.objects import Object, spec_of, status_of
from nestor.apps.steps import parameters, values
from nestor.apps.steps.fields import Fields
from nestor.apps.steps.plan import PlanError

PREFIX = "p."
"""What the names of parameters begin with in a posted form."""
LONG_TEXT = 80
"""Characters of a default that get a box of several lines."""

Shape = Literal["text", "number", "checkbox", "select", "many", "lines", "password"]

_SECRET_TYPE = re.compile(r"pass(word|wd|phrase)?|secret", re.IGNORECASE)
_SECRET_NAME = re.compile(
    r"(^|[^a-z0-9])(pass(word|wd|phrase|code)?|secret|token|api[-_ ]?key|private[-_ ]?key|credentials?)($|[^a-z0-9])",
    re.IGNORECASE,
)
_TEXTS = ("STR", "CONST")
_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
HIDDEN = "••••••"


@dataclass(frozen=True)
class Input:
    """One field of a form, with what was entered and what is wrong with it."""

    name: str
    label: str
    shape: Shape
    help: str = ""
    limits: str = ""
    """In words: `from 1 to 10`."""
    value: str = ""
    chosen: tuple[str, ...] = ()
    """Of `select` and `many`."""
    is_required: bool = False
    least: str = ""
    most: str = ""
    step: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    """Value and label."""
    shown_if: tuple[str, ...] = ()
    """Checkboxes that are to be on; `hidden_if`: that are to be off."""
    hidden_if: tuple[str, ...] = ()
    error: str = ""

    @property
    def id(self) -> str:
        """What the element is named in the page."""
        return "f-" + re.sub(r"[^A-Za-z0-9]", lambda found: f"_{ord(found[0]):x}", self.name)

    @property
    def is_secret(self) -> bool:
        return self.shape == "password"


def is_secret(name: str, kind: Any = None) -> bool:
    """Whether a parameter's value is a password or the like, by its type or its name."""
    if isinstance(kind, str) and _SECRET_TYPE.fullmatch(kind.strip()):
        return True
    is_text = str(kind or "STR").upper() in _TEXTS or str(kind).upper() not in {known.upper() for known in values.TYPES}
    return is_text and _SECRET_NAME.search(_WORD_BREAK.sub("_", name)) is not None


def build_inputs(declared: Any, entered: Mapping[str, Sequence[str]] | None = None, said: Sequence[str] = ()) -> list[Input]:
    """The fields for what can be set. `entered`: what was posted, by parameter, or None for a fresh form; `said`: the sentences
    about it, of which each names its field.
    """
    if not isinstance(declared, dict):
        return []
    told = {name: _find_error(name, said) for name in declared}
    found = [
        _build(name, content, None if entered is None else entered.get(name, ()), told[name])
        for name, content in declared.items()
        if isinstance(content, dict) and str(content.get("type") or "").upper() != "CONST"
    ]
    return _order(found)


def _order(found: list[Input]) -> list[Input]:
    """API servers sort by name. Here, what must be set comes first, and what depends on a box comes after it."""
    after: dict[str, list[Input]] = {}
    names = {item.name for item in found}
    for item in found:
        after.setdefault(next((name for name in item.shown_if + item.hidden_if if name in names), ""), []).append(item)
    ordered: list[Input] = []
    pending = sorted(after.pop("", []), key=lambda item: not item.is_required)
    while pending:
        ordered.append(pending.pop(0))
        pending = after.pop(ordered[-1].name, []) + pending
    return ordered + [item for left in after.values() for item in left]


def _fields(content: Mapping[str, Any]) -> Fields:
    return Fields(dict(content), "", [])


def _build(name: str, content: Mapping[str, Any], entered: Sequence[str] | None, error: str) -> Input:
    fields = _fields(content)
    rule = values.read_rule(fields) or values.Rule(values.OTHER)
    default = list_texts(content.get("value"))
    shape = _find_shape(name, content, rule, "".join(default))
    known = list(default if entered is None else entered)
    label = fields.read_text("name", 200) or name
    return Input(
        name,
        label,
        shape,
        help=str(fields.get("description") or "")[:2000],
        limits=_describe(rule),
        value="" if shape == "password" else "\n".join(known) if rule.is_list else "".join(known[:1]),
        chosen=tuple(_to_choice(rule, item) for item in known),
        is_required=bool(fields.read_flag("required")) and not default,
        least=_show(rule.least),
        most=_show(rule.most),
        step=_show(rule.step) or ("1" if rule.kind == "INT" else "any"),
        choices=tuple((item, item) for item in rule.choices),
        shown_if=_list_names(content.get("if")),
        hidden_if=_list_names(content.get("ifnot")),
        error=error,
    )


def _find_shape(name: str, content: Mapping[str, Any], rule: values.Rule, default: str) -> Shape:
    if is_secret(name, content.get("type")):
        return "password"
    if rule.kind == "SELECTION":
        return "many" if rule.is_list else "select"
    if rule.is_list or rule.kind == "UPLOAD" or len(default) > LONG_TEXT or "\n" in default:
        return "lines"
    if rule.kind == "BOOL":
        return "checkbox"
    return "number" if rule.kind in ("INT", "FLOAT", "RANGE") else "text"


def list_texts(value: Any) -> list[str]:
    if value is None or value == "":
        return []
    return [values.to_text(item) for item in (value if isinstance(value, list) else [value])]


def _to_choice(rule: values.Rule, text: str) -> str:
    """A default may be written as the value that stands behind a choice."""
    is_machine = text not in rule.choices and text in rule.machine_values
    return rule.choices[rule.machine_values.index(text)] if is_machine else text


def _describe(rule: values.Rule) -> str:
    ends = [values.describe(rule).strip()]
    ends += ["one value per line" if rule.is_list and rule.kind != "SELECTION" else ""]
    ends += [f"the name of a file like {' or '.join(rule.patterns)}" if rule.patterns else ""]
    return " ".join(filter(None, ends))


def _show(number: Any) -> str:
    return "" if number is None else str(number)


def _list_names(condition: Any) -> tuple[str, ...]:
    found = [condition] if isinstance(condition, str) and condition else condition
    return tuple(item for item in found if isinstance(item, str)) if isinstance(found, list) else ()


def _find_error(name: str, said: Sequence[str]) -> str:
    """What is said of one parameter, whose sentence begins with where the job gives it."""
    starts = (
        f"`{faults.name_field('spec.parameters', [name])}` ",
        f"`spec.parametersFrom`: key '{faults.name_field('', [name])}' ",
    )
    return next((said_of.removeprefix(start) for said_of in said for start in starts if said_of.startswith(start)), "")


@dataclass(frozen=True)
class Entered:
    """A posted form, read: what goes into the job, what into a Secret, and what is wrong."""

    plain: dict[str, Any]
    secret: dict[str, str]
    faults: tuple[str, ...]


def read_entered(declared: Any, entered: Mapping[str, Sequence[str]]) -> Entered:
    """The parameters of a job, checked as the operator will check them. What is left as it was is left out."""
    plain: dict[str, Any] = {}
    secret: dict[str, str] = {}
    shown = build_inputs(declared, entered)
    for item in shown:
        found = _read(item, declared[item.name], entered.get(item.name, ()))
        if found is None:
            continue
        if item.is_secret:
            secret[item.name] = str(found)
        else:
            plain[item.name] = found
    known = declared if isinstance(declared, dict) else {}
    unknown = {name: "".join(given) for name, given in entered.items() if name not in known}
    try:
        checked = parameters.check(declared, {**plain, **secret, **unknown}, hidden=secret)
    except PlanError as error:
        return Entered(plain, secret, tuple(error.messages))
    numbers = {item.name for item in shown if item.shape == "number"} & plain.keys() & checked.values.keys()
    return Entered(plain | {name: checked.values[name] for name in numbers}, secret, ())


def _read(item: Input, content: Mapping[str, Any], given: Sequence[str]) -> Any:
    """One parameter's value; None if it was left as it was."""
    default = list_texts(content.get("value"))
    if item.shape == "checkbox":
        is_on = "true" in given
        return None if is_on is ([text.lower() for text in default] == ["true"]) else is_on
    is_list = bool(_fields(content).read_flag("multi"))
    if item.shape == "many" or is_list:
        lines = [line.strip() for text in given for line in text.splitlines() if line.strip()]
        return None if lines == default else lines
    text = "".join(given[:1]).replace("\r\n", "\n")
    if item.shape in ("number", "select", "password") and not text.strip():
        return None
    return None if [text] == default or (not text and not default) else text


def list_parameters(job: Object) -> list[tuple[str, str]]:
    given: Mapping[str, Any] = spec_of(job).get("parameters") or {}
    declared = _find_declared(job)
    found = [(name, HIDDEN if is_secret(name, type_of(declared, name)) else _show_value(value)) for name, value in given.items()]
    secret = ((spec_of(job).get("parametersFrom") or {}).get("secretRef") or {}).get("name")
    return found + ([("further values", f"from Secret '{secret}', not shown")] if secret else [])


def type_of(declared: Any, name: str) -> Any:
    return _read_content(declared, name).get("type")


def default_of(declared: Any, name: str) -> Any:
    return _read_content(declared, name).get("value")


def _read_content(declared: Any, name: str) -> Object:
    found = declared.get(name) if isinstance(declared, dict) else None
    return found if isinstance(found, dict) else {}


def _find_declared(job: Object) -> Any:
    spec = spec_of(job)
    commands = ((spec.get("app") or {}).get("appDef") or {}).get("commands")
    chosen = status_of(job).get("command") or spec.get("command")
    command = commands.get(chosen) if isinstance(commands, dict) else None
    return command.get("parameters") if isinstance(command, dict) else None


def _show_value(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 300 else text[:299] + "…"
