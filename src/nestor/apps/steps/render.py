"""Rendering a template of an app: Jinja2, in a sandbox, an undefined variable is an error. Text in, text out.

A template sees the command's parameters by their names and as `parameters['any name']`, and the job as `job.name`,
`job.namespace`, `job.host`, `job.url`. A line that holds only a `{% … %}` leaves nothing behind; line ends stay what they are.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

from jinja2.exceptions import TemplateSyntaxError, UndefinedError

from nestor.apps.steps.sandbox import Named, make_environment

OUTPUT_LIMIT = 2**20
"""Characters that a template may become."""
SHOWN_NAMES = 40
_FILENAME = "<template>"
"""What Jinja2 calls a template that is no file."""


class RenderError(Exception):
    """A template that cannot be rendered; the message names the template and the line."""


def has_markup(text: str) -> bool:
    """Whether rendering would change anything."""
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
    for piece in make_environment("\r\n" if "\r\n" in text else "\n").from_string(text).generate(known):
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
