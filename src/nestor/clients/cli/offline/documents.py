"""Files of YAML or JSON documents, read by PyYAML and Python's `json`, within bounds."""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from nestor.clients.cli.exits import Code, Failure

BYTES_LIMIT = 8 * 2**20
VALUE_BYTES = 40
"""What a value counts besides its text."""
DEPTH_LIMIT = 100
_TEXT, _INT, _FLOAT, _DATE, _EQUAL = (f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "timestamp", "value"))


class Loader(yaml.CSafeLoader):
    """PyYAML's safe loader, which reads plain values as kubectl does: `12:30`, `=` and dates are strings, as are all keys."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own name
        first: [item for item in found if item[0] not in (_INT, _FLOAT, _DATE, _EQUAL)]
        for first, found in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key '{key.value}'", key.start_mark)
            seen.add(str(key.value) if isinstance(key, yaml.ScalarNode) else "")
        # Deep: what is merged by `<<` has been built, and is not looked at with what was merged into it.
        found = super().construct_mapping(node, deep=True)
        return {key if isinstance(key, str) else json.dumps(key): item for key, item in found.items()}


Loader.add_constructor(_DATE, lambda _, node: node.value)
Loader.add_implicit_resolver(_INT, re.compile(r"[-+]?(0|0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|[1-9][0-9_]*)\Z"), list("-+0123456789"))
Loader.add_implicit_resolver(
    _FLOAT,
    re.compile(r"([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))\Z"),
    list("-+0123456789."),
)


@dataclass(frozen=True)
class Document:
    """One document: the line it begins at, and what it holds."""

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
        found = _parse(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Failure(f"{name}: {_describe(error)}") from error
    yield from (document for document in found if document.content is not None)


def read_one(file: Path) -> dict[str, Any]:
    """The one document of a file. Raises `Failure`."""
    return pick_one(file, [document.content for document in read(load(file), str(file))])


def pick_one(file: Path, found: list[Any]) -> dict[str, Any]:
    """Raises `Failure` unless there is one."""
    if len(found) != 1 or not isinstance(found[0], dict):
        raise Failure(f"{file}: must contain one AppDef or NestedAppJob, not {len(found)} documents", Code.USAGE)
    return found[0]


def list_items(content: Any) -> list[Any]:
    """The items of a List; the content itself if it is none."""
    is_list = isinstance(content, dict) and content.get("kind") == "List" and isinstance(content.get("items"), list)
    return content["items"] if is_list else [content]


def _parse(text: str) -> list[Document]:
    """Raises ValueError, RecursionError, and YAML's own errors."""
    if text.lstrip()[:1] == "{":
        try:
            return [Document(1, json.loads(text, object_pairs_hook=_build_object))]
        except json.JSONDecodeError:
            pass  # YAML in braces
    lines = _count(text)
    return [Document(*item) for item in zip(lines, yaml.load_all(text, Loader=Loader), strict=True)]


def _count(text: str) -> list[int]:
    """The line of each document. Raises ValueError for what takes too much to build: depth, aliases of aliases, odd tags."""
    lines: list[int] = []
    sizes: dict[str | None, int] = {}
    opened: list[tuple[str | None, int]] = []
    total = 0
    for event in yaml.parse(text, Loader=Loader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            lines.append(line)
            sizes, total = {}, 0
        elif isinstance(event, yaml.AliasEvent):
            total += sizes.get(event.anchor, 0)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            sizes[anchor] = total - before
        elif isinstance(event, yaml.NodeEvent):
            if (tag := getattr(event, "tag", None)) not in (None, "!", _TEXT):
                raise ValueError(f"line {line}: the tag {tag} is not supported; supported: !!str")
            is_open = isinstance(event, yaml.CollectionStartEvent)
            opened += [(event.anchor, total)] if is_open else []
            size = VALUE_BYTES + len(getattr(event, "value", ""))
            sizes[event.anchor] = BYTES_LIMIT if is_open else size  # what contains itself has no end
            total += size
        if total > BYTES_LIMIT:
            raise ValueError(f"line {line}: too large once its aliases are expanded; no API server accepts that")
        if len(opened) > DEPTH_LIMIT:
            raise ValueError(f"line {line}: nested more than {DEPTH_LIMIT} levels deep")
    return lines


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"duplicate key '{key}'")
        found[key] = value
    return found


def _describe(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"nested more than {DEPTH_LIMIT} levels deep"
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return where + str(getattr(error, "problem", None) or error or "cannot be read").replace("\n", " ")
