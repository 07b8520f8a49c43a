"""Files of YAML or JSON documents, read as an API server's clients read them: bounded, and without multiplying aliases."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from nestor.cli.exits import Code, Failure
from nestor.cli.offline.yamlreader import DEPTH_LIMIT, Loader, Unreadable, check_structure
from nestor.values import dataclass

BYTES_LIMIT = 8 * 2**20


@dataclass(frozen=True)
class Document:
    """One document: its number in the file from 1, the line it begins at, and what it holds."""

    number: int
    line: int
    content: Any


def load(file: Path) -> str:
    """The text of a file; `-` is standard input. Raises `Failure`."""
    try:
        if str(file) == "-":
            content = sys.stdin.buffer.read(BYTES_LIMIT + 1)
        else:
            with file.open("rb") as stream:
                content = stream.read(BYTES_LIMIT + 1)
    except OSError as error:
        raise Failure(f"{file}: {error.strerror or error}", Code.USAGE) from error
    if len(content) > BYTES_LIMIT:
        raise Failure(f"{file}: larger than {BYTES_LIMIT // 2**20} MiB, which no API server accepts")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Failure(f"{file}: not UTF-8 text ({error.reason} at byte {error.start})") from error


def read(text: str, name: str) -> Iterator[Document]:
    """The documents of a file, empty ones left out. Raises `Failure` that names file and line."""
    try:
        if text.lstrip()[:1] == "{" and (found := _try_json(text)) is not None:
            yield Document(1, 1, found)
            return
        lines = check_structure(text)
        loaded = list(yaml.load_all(text, Loader=Loader))
    except Unreadable as error:
        raise Failure(f"{name}: {error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Failure(f"{name}: {_describe(error)}") from error
    for number, (line, content) in enumerate(zip(lines, loaded, strict=True), 1):
        if content is not None:
            yield Document(number, line, content)


def _try_json(text: str) -> Any:
    """The content of a JSON file; None when it is YAML in braces. Raises `Unreadable` for JSON with a key twice, or too deep."""
    try:
        found = json.loads(text, object_pairs_hook=_build_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError:
        return None
    except RecursionError:
        raise Unreadable(f"nested more than {DEPTH_LIMIT} levels deep") from None
    level = [found]
    for _ in range(DEPTH_LIMIT):
        level = [child for item in level for child in _children(item)]
        if not level:
            return found
    raise Unreadable(f"nested more than {DEPTH_LIMIT} levels deep")


def _children(item: Any) -> list[Any]:
    return list(item.values()) if isinstance(item, dict) else item if isinstance(item, list) else []


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise Unreadable(f"duplicate key '{key}'")
        found[key] = value
    return found


def _refuse_constant(name: str) -> Any:
    raise Unreadable(f"{name} is not a JSON number")


def _describe(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return where + str(getattr(error, "problem", None) or error or "cannot be read").replace("\n", " ")
