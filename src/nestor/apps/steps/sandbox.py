"""A Jinja2 environment without access to Python or files: Jinja2's own sandbox, with few globals and some filters for manifests.

It does not bound what a template takes. Whoever renders a stranger's template does so in a process with limits.
"""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Iterable
from typing import Any

from jinja2 import StrictUndefined
from jinja2.exceptions import TemplateRuntimeError
from jinja2.runtime import Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Named(dict[str, Any]):
    """A dictionary that messages can call by its name."""

    def __init__(self, name: str, content: dict[str, Any]) -> None:
        super().__init__(content)
        self.name_in_messages = name


class Missing(StrictUndefined):
    """An undefined variable, whose message names it as the template does."""

    @property
    def _undefined_message(self) -> str:
        if isinstance(self._undefined_obj, Named) and not self._undefined_hint:
            return f"'{self._undefined_obj.name_in_messages}.{self._undefined_name}' is undefined"
        return str(super()._undefined_message)


def make_environment(newline: str) -> ImmutableSandboxedEnvironment:
    """For one rendering."""
    environment = ImmutableSandboxedEnvironment(
        undefined=Missing,
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
    """JSON, which is YAML as well."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=list)
