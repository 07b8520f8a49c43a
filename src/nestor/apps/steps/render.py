"""Rendering a template of an app: Jinja2, in a sandbox, an undefined variable is an error. Text in, text out.

A template sees the command's parameters by their names and as `parameters['any name']`, and the job as `job.name`,
`job.namespace`, `job.host`, `job.url`. A line that holds only a `{% … %}` leaves nothing behind; line ends stay what they are.
"""

import base64
import json
import shlex
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

from jinja2 import StrictUndefined
from jinja2.exceptions import TemplateRuntimeError, TemplateSyntaxError, UndefinedError
from jinja2.runtime import Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

OUTPUT_LIMIT = 2**20
"""Characters that a template may become."""
SHOWN_NAMES = 40
_FILENAME = "<template>"
"""What Jinja2 calls a template that is no file."""


class RenderError(Exception):
    """A template that cannot be rendered; the message names the template and the line."""


def has_markup(text: str) -> bool:
    return any(mark in text for mark in ("{{", "{%", "{#"))


def render(text: str, *, name: str, parameters: Mapping[str, Any], facts: Mapping[str, str]) -> str:
    """The rendered text. `name` is how messages call it. Raises `RenderError`, and `MemoryError` if the process has a limit.

    A template may take any time and memory: strangers' are rendered by `nestor.apps.runner.rendering`.
    """
    if not has_markup(text):
        return text
    known = dict(parameters) | {"parameters": Named("parameters", dict(parameters)), "job": Named("job", dict(facts))}
    try:
        return _render(text, known)
    except TemplateSyntaxError as error:
        raise RenderError(f"template '{name}', line {error.lineno}: {error.message}") from error
    except UndefinedError as error:
        raise RenderError(f"template '{name}'{_find_line(error)}: {error.message}; available: {_list_names(known)}") from error
    except MemoryError:
        raise
    except RecursionError as error:
        raise RenderError(f"template '{name}' is nested too deeply") from error
    # A template can provoke any exception; none of them is the caller's fault.
    except Exception as error:
        said = str(error) or type(error).__name__
        raise RenderError(f"template '{name}'{_find_line(error)}: {said[:500]}") from error


def render_values(values: Any, *, name: str, parameters: Mapping[str, Any], facts: Mapping[str, str]) -> Any:
    """The same value with all its strings rendered; keys stay. Raises `RenderError`."""
    if isinstance(values, dict):
        return {
            key: render_values(item, name=f"{name}.{key}", parameters=parameters, facts=facts) for key, item in values.items()
        }
    if isinstance(values, list):
        return [
            render_values(item, name=f"{name}[{index}]", parameters=parameters, facts=facts) for index, item in enumerate(values)
        ]
    return render(values, name=name, parameters=parameters, facts=facts) if isinstance(values, str) else values


def _render(text: str, known: dict[str, Any]) -> str:
    pieces, size = [], 0
    for piece in _make_environment("\r\n" if "\r\n" in text else "\n").from_string(text).generate(known):
        pieces.append(piece)
        size += len(piece)
        if size > OUTPUT_LIMIT:
            raise ValueError(f"it becomes longer than {OUTPUT_LIMIT} characters")
    return "".join(pieces)


def _find_line(error: BaseException) -> str:
    """`, line 3`, from the traceback, where Jinja2 puts the template's own lines; nothing when it is not known."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _FILENAME]
    return f", line {lines[-1]}" if lines else ""


def _list_names(known: dict[str, Any]) -> str:
    names = [name for name in known if name not in ("job", "parameters")] + [f"job.{name}" for name in known["job"]]
    shown = ", ".join(names[:SHOWN_NAMES]) or "none"
    return f"{shown} …" if len(names) > SHOWN_NAMES else shown


class Named(dict[str, Any]):
    """A dictionary that messages can call by its name."""

    def __init__(self, name: str, content: dict[str, Any]) -> None:
        super().__init__(content)
        self.name_in_messages = name


class _Missing(StrictUndefined):
    """An undefined variable, whose message names it as the template does."""

    @property
    def _undefined_message(self) -> str:
        if isinstance(self._undefined_obj, Named) and not self._undefined_hint:
            return f"'{self._undefined_obj.name_in_messages}.{self._undefined_name}' is undefined"
        return str(super()._undefined_message)


def _make_environment(newline: str) -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        undefined=_Missing,
        finalize=_finalize,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        newline_sequence=newline,
        cache_size=0,
    )
    environment.globals = {"range": environment.globals["range"]}
    environment.filters.update(
        join=_join,
        indent=_indent,
        string=_to_text,
        tojson=_to_json,
        b64encode=lambda value: base64.b64encode(_to_text(value).encode()).decode(),
        quote=lambda value: shlex.quote(_to_text(value)),
    )
    return environment


def _finalize(value: Any) -> str:
    """What `{{ … }}` puts into the text. JSON's words for what Python writes otherwise; lists have no obvious form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return _to_text(value)


def _to_text(value: Any) -> str:
    if isinstance(value, str | Undefined):
        return str(value)  # raises, with its name, if it is undefined
    if value is None or isinstance(value, int | float):
        return "" if value is None else str(value)
    raise TemplateRuntimeError(f"{type(value).__name__} cannot be converted to text: use `join` or `tojson`")


def _join(items: Iterable[Any], separator: str = "") -> str:
    return _to_text(separator).join(map(_finalize, items))


def _indent(text: Any, width: int = 2, first: bool = False) -> str:
    blanks = " " * int(width)
    lines = _to_text(text).split("\n")
    return "\n".join(blanks + line if line and (first or number) else line for number, line in enumerate(lines))


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=list)
