"""Describes faults in user input, in sentences that name the field and say what is allowed."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

DEPTH_LIMIT = 64
"""Maximum nesting of lists and dictionaries: far more than anybody writes, and far less than Python can handle."""
ITEM_LIMIT = 100_000
TEXT_LIMIT = 4 * 2**20
"""Total number of characters in all strings and keys."""
SENTENCE_LIMIT = 20
"""Maximum number of faults in one message; after fixing that many, the user checks again anyway."""
_KEY_LIMIT = 80
_INTEGER_LIMIT = 2**63

_WORDS = {
    "missing": "must be set",
    "string_type": "must be a string",
    "list_type": "must be a list",
    "dict_type": "must be a dictionary",
    "model_type": "must be a dictionary",
    "dataclass_type": "must be a dictionary",
    "int_type": "must be an integer",
    "int_parsing": "must be an integer",
    "int_parsing_size": "must be an integer",
    "int_from_float": "must be an integer",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
}


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 120
_SHORT.maxlevel = 3


def explain(error: ValidationError, root: str) -> str:
    """One sentence per fault, each naming the field."""
    return join(list_sentences(error, root))


def join(sentences: Sequence[str]) -> str:
    """All sentences, or the first ones and the number of others."""
    more = len(sentences) - SENTENCE_LIMIT
    shown = [*sentences[:SENTENCE_LIMIT], f"and {more} more"] if more > 0 else sentences
    return "; ".join(shown)


def list_sentences(error: ValidationError, root: str) -> list[str]:
    """One sentence per fault."""
    return list(dict.fromkeys(tell(fault, root) for fault in error.errors(include_url=False)))


def tell(fault: ErrorDetails, root: str) -> str:
    """One of Pydantic's faults as a sentence."""
    field, kind, said = name_field(root, fault["loc"]), fault["type"], fault["msg"]
    if kind == "string_type" and isinstance(fault["input"], int | float):
        return f"`{field}` must be a string, not {show(fault['input'])}: put it in quotes"
    if kind in _WORDS:
        return f"`{field}` {_WORDS[kind]}"
    if kind == "value_error":
        return f"`{field}` {said.removeprefix('Value error, ')}"
    return f"`{field}`: {said[:1].lower()}{said[1:]}"


def name_field(root: str, path: Sequence[str | int]) -> str:
    """A path such as `root.key[3].other`. Users' keys can be anything, so they are cut and made printable."""
    field = root
    for part in path:
        if isinstance(part, int):
            field += f"[{part}]"
        else:
            key = part if len(part) <= _KEY_LIMIT else f"{part[:_KEY_LIMIT]}…"
            key = "".join(character if character.isprintable() and character != "`" else "?" for character in key)
            field += f".{key}" if field else key
    return field


def show(value: Any) -> str:
    """A short representation of any value, for use in messages."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # Python does not print integers of thousands of digits
        return "a number with thousands of digits"


def find_fault(value: Any, root: str) -> str | None:
    """Why `value`, which has JSON's types, is not JSON of a reasonable size, as a sentence; None if it is.

    Whatever it is (10 MiB of brackets, YAML with multiplying aliases), this ends soon and raises nothing.
    """
    stack: list[tuple[Any, tuple[str | int, ...]]] = [(value, ())]
    items = text = 0
    while stack:
        item, path = stack.pop()
        fault = _check_item(item, len(path))
        if fault is not None:
            # The full path of a deeply nested value would be absurdly long.
            return f"`{name_field(root, path[:8])}{'…' if len(path) > 8 else ''}` {fault}"
        items += 1 + (len(item) if isinstance(item, list | dict) else 0)
        text += _count_text(item)
        if items > ITEM_LIMIT:
            return f"`{root}` must not contain more than {ITEM_LIMIT} values"
        if text > TEXT_LIMIT:
            return f"`{root}` must not contain more than {TEXT_LIMIT} characters"
        if isinstance(item, list):
            stack.extend((child, (*path, index)) for index, child in enumerate(item))
        elif isinstance(item, dict):
            stack.extend((child, (*path, key)) for key, child in item.items())
    return None


def _count_text(item: Any) -> int:
    if isinstance(item, str):
        return len(item)
    return sum(map(len, item)) if isinstance(item, dict) else 0


def _check_item(item: Any, depth: int) -> str | None:
    if depth > DEPTH_LIMIT:
        return f"must not be nested deeper than {DEPTH_LIMIT} levels"
    if isinstance(item, dict):
        is_broken = any(map(_has_half, item))
        return "must not contain half a character (a `\\ud…` escape without its other half) in its keys" if is_broken else None
    if isinstance(item, str):
        return "must not contain half a character (a `\\ud…` escape without its other half)" if _has_half(item) else None
    if item is None or isinstance(item, bool | list):
        return None
    if isinstance(item, int):
        return None if abs(item) < _INTEGER_LIMIT else "must be a number of at most 63 bits"
    return None if math.isfinite(item) else "must be a finite number"


def _has_half(text: str) -> bool:
    """Whether the text cannot be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
