"""A Jinja2 environment for untrusted templates: no access to Python or files, and no unbounded growth.

Statements are `if`, `for`, `set`, `with` and `raw`; there are no macros, blocks, includes or imports. Each string, list and
number that an expression makes is bounded, as is the number of all loops' rounds together. What is left to a template is to take
its time: some seconds for the worst that these bounds let through, so a caller who must not wait limits that.
"""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jinja2 import StrictUndefined, nodes
from jinja2.exceptions import TemplateAssertionError, TemplateRuntimeError
from jinja2.runtime import LoopContext, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from nestor.api import faults

SIZE_LIMIT = 2**20
"""Characters of a text, entries of a list."""
ROUND_LIMIT = 10_000
"""Rounds of all loops of one rendering together."""
BIT_LIMIT = 4096
"""Bits of an integer."""
STATEMENTS = ("if", "for", "set", "with", "raw")
_BUILTIN_FILTERS = (
    "abs",
    "capitalize",
    "d",
    "default",
    "dictsort",
    "first",
    "float",
    "int",
    "items",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "reverse",
    "round",
    "select",
    "selectattr",
    "sort",
    "sum",
    "title",
    "trim",
    "truncate",
    "unique",
    "upper",
    "urlencode",
)
_TEXT_METHODS = frozenset(
    {
        "capitalize",
        "endswith",
        "find",
        "isalnum",
        "isalpha",
        "isdigit",
        "islower",
        "isupper",
        "lower",
        "lstrip",
        "removeprefix",
        "removesuffix",
        "rsplit",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "title",
        "upper",
    }
)
_REFUSED = (
    nodes.Macro,
    nodes.CallBlock,
    nodes.FilterBlock,
    nodes.AssignBlock,
    nodes.Block,
    nodes.Extends,
    nodes.Include,
    nodes.Import,
    nodes.FromImport,
    nodes.NSRef,
    nodes.ExprStmt,
)


class Named(dict[str, Any]):
    """A dictionary that messages can call by its name."""

    def __init__(self, name: str, content: dict[str, Any]) -> None:
        super().__init__(content)
        self.name_in_messages = name


class Missing(StrictUndefined):
    """An undefined variable, whose message names it as the template does."""

    @property
    def _undefined_message(self) -> str:
        if isinstance(self._undefined_obj, Named):
            return f"'{self._undefined_obj.name_in_messages}.{self._undefined_name}' is undefined"
        return str(super()._undefined_message)


class Sandbox(ImmutableSandboxedEnvironment):
    """For one rendering: it counts the rounds of its loops."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, newline: str) -> None:
        super().__init__(
            undefined=Missing,
            finalize=_finalize,
            keep_trailing_newline=True,
            trim_blocks=True,
            lstrip_blocks=True,
            newline_sequence=newline,
            cache_size=0,
        )
        self._rounds = 0
        self.filters = {name: self.filters[name] for name in _BUILTIN_FILTERS} | _FILTERS | {"_each": self._count}
        self.globals = {"range": _range}

    def guard(self, template: nodes.Template) -> nodes.Template:
        """The same template, bounded. Raises `TemplateAssertionError` for statements that are not allowed."""
        for node in template.find_all(_REFUSED):
            raise TemplateAssertionError(f"only {', '.join(STATEMENTS)} are allowed as statements", node.lineno)
        for loop in template.find_all(nodes.For):
            if loop.recursive:
                raise TemplateAssertionError("recursive loops are not allowed", loop.lineno)
            loop.iter = nodes.Filter(loop.iter, "_each", [], [], None, None, lineno=loop.lineno)
        _Concats().visit(template)
        return template

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """`+`, `*`, `**` and `%`, which can produce large results."""
        _CHECKS[operator](left, right)
        return super().call_binop(context, operator, left, right)

    def wrap_str_format(self, value: Any) -> None:
        """No `'…'.format(…)`: its widths make texts of any size."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """By what is allowed, not by what is forbidden."""
        if isinstance(obj, str):
            return attr in _TEXT_METHODS
        if isinstance(obj, dict):
            return attr in ("get", "items", "keys", "values")
        if isinstance(obj, list | tuple):
            return attr in ("count", "index")
        return isinstance(obj, LoopContext) and super().is_safe_attribute(obj, attr, value)

    def _count(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self._rounds += 1
            if self._rounds > ROUND_LIMIT:
                raise TemplateRuntimeError(f"loops have more than {ROUND_LIMIT} rounds in total")
            yield item


class _Concats(NodeTransformer):
    """`a ~ b` as a filter of ours, which is bounded."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802 - Jinja2 calls it by the node's name
        self.generic_visit(node)
        listed = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(listed, "join", [], [], None, None, lineno=node.lineno)


def _finalize(value: Any) -> Any:
    """What `{{ … }}` puts into the text. JSON's words for what Python writes otherwise; lists have no obvious form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return _to_text(value)


def _to_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Undefined):
        return str(value)  # raises, with its name
    if value is None or isinstance(value, int | float):
        return "" if value is None else str(value)
    raise TemplateRuntimeError(f"{type(value).__name__} cannot be converted to text: use `join` or `tojson`")


def _bound(size: int, what: str) -> None:
    if size > SIZE_LIMIT:
        raise TemplateRuntimeError(f"{what} has more than {SIZE_LIMIT} characters or entries")


def _check_plus(left: Any, right: Any) -> None:
    if isinstance(left, str | list | tuple) and isinstance(right, str | list | tuple):
        _bound(len(left) + len(right), "a sum")
    _check_bits(_bits(left) + 1, _bits(right) + 1)


def _check_times(left: Any, right: Any) -> None:
    for items, count in ((left, right), (right, left)):
        if isinstance(items, str | list | tuple) and isinstance(count, int):
            _bound(len(items) * max(0, count), "a product")
    _check_bits(_bits(left) + _bits(right))


def _check_power(left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(_bits(left) * max(0, right))


def _check_modulo(left: Any, _: Any) -> None:
    if isinstance(left, str):
        raise TemplateRuntimeError("use `~` to join texts; `%` is for numbers")


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 0


def _check_bits(*bits: int) -> None:
    if max(bits) > BIT_LIMIT:
        raise TemplateRuntimeError(f"an integer has more than {BIT_LIMIT} bits")


def _range(*limits: int) -> range:
    found = range(*limits)
    if len(found[: ROUND_LIMIT + 1]) > ROUND_LIMIT:
        raise TemplateRuntimeError(f"a range has more than {ROUND_LIMIT} numbers")
    return found


def _join(items: Iterable[Any], separator: str = "") -> str:
    separator = _to_text(separator)
    texts: list[str] = []
    size = 0
    for item in items:
        texts.append(_finalize(item))
        size += len(texts[-1]) + len(separator)
        _bound(size, "a text")
    return separator.join(texts)


def _replace(text: Any, old: Any, new: Any) -> str:
    source, removed, put = _to_text(text), _to_text(old), _to_text(new)
    _bound(len(source) + source.count(removed) * len(put), "a text")
    return source.replace(removed, put)


def _indent(text: Any, width: int = 2, first: bool = False) -> str:
    source, blanks = _to_text(text), " " * min(max(0, int(width)), 100)
    _bound(len(source) + (source.count("\n") + 1) * len(blanks), "a text")
    lines = source.split("\n")
    shifted = [blanks + line if line and (first or number) else line for number, line in enumerate(lines)]
    return "\n".join(shifted)


def _to_json(value: Any) -> str:
    """JSON, which is YAML as well."""
    if isinstance(value, Undefined):
        str(value)
    value = list(value) if isinstance(value, range) else value
    fault = faults.find_fault(value, "tojson")
    if fault is not None:
        raise TemplateRuntimeError(fault)
    return json.dumps(value, ensure_ascii=False)


def _to_base64(value: Any) -> str:
    """For the data of Secrets."""
    return base64.b64encode(_to_text(value).encode()).decode()


_CHECKS: dict[str, Callable[[Any, Any], None]] = {"+": _check_plus, "*": _check_times, "**": _check_power, "%": _check_modulo}
_FILTERS: dict[str, Callable[..., Any]] = {
    "join": _join,
    "replace": _replace,
    "indent": _indent,
    "string": _to_text,
    "tojson": _to_json,
    "b64encode": _to_base64,
    "quote": lambda value: shlex.quote(_to_text(value)),
}
FILTERS = tuple(sorted([*_BUILTIN_FILTERS, *_FILTERS]))
