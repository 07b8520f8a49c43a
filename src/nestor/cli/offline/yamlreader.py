"""YAML as Kubernetes' clients read it, and within bounds: counted by events before anything is built."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any

import yaml

from nestor.values import dataclass

NODES_LIMIT = 200_000
"""Nodes that a document may come to once its aliases are followed."""
DEPTH_LIMIT = 100


class Unreadable(Exception):
    """The file, or one document of it, is not what it should be; the message is a sentence."""


class Loader(yaml.CSafeLoader):
    """No dates, no base-60 numbers, no key twice; keys are strings."""


def _drop_resolver(tag: str) -> None:
    for character, known in list(Loader.yaml_implicit_resolvers.items()):
        Loader.yaml_implicit_resolvers[character] = [item for item in known if item[0] != tag]


Loader.yaml_implicit_resolvers = {key: list(value) for key, value in yaml.CSafeLoader.yaml_implicit_resolvers.items()}
for _tag in ("timestamp", "int", "float"):
    _drop_resolver(f"tag:yaml.org,2002:{_tag}")
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]*|[1-9][0-9_]*)\Z"), list("-+0123456789")
)
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))\Z"),
    list("-+0123456789."),
)


def _construct_mapping(loader: Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    loader.flatten_mapping(node)
    found: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str | int | float | bool) or key is None:
            raise yaml.constructor.ConstructorError(None, None, "a key must be a string", key_node.start_mark)
        key = _key_text(key)
        if key in found:
            raise yaml.constructor.ConstructorError(None, None, f"duplicate key '{key}'", key_node.start_mark)
        found[key] = loader.construct_object(value_node, deep=True)
    return found


def _key_text(key: str | float | bool) -> str:
    """Keys that are no strings become some, as in JSON."""
    return str(key).lower() if isinstance(key, bool) else str(key)


def _construct_int(loader: Loader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node)).replace("_", "")
    sign, digits = (-1, text[1:]) if text[:1] == "-" else (1, text.lstrip("+"))
    if digits.isdigit() and len(digits) > 1 and digits.startswith("0"):
        return sign * int(digits, 8)
    return sign * int(digits, 0)


def _construct_float(loader: Loader, node: yaml.ScalarNode) -> float:
    text = str(loader.construct_scalar(node)).lower().replace("_", "")
    return float(text.replace(".inf", "inf").replace(".nan", "nan"))


Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)
Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)


@dataclass
class _Counter:
    """Sizes of anchored nodes and of what is open, as the events of one document come."""

    sizes: dict[str, int] = field(default_factory=dict)
    open: list[tuple[str | None, int]] = field(default_factory=list)
    total: int = 0

    def take(self, event: yaml.Event) -> None:
        """Count one event. Raises `Unreadable`."""
        line = f"line {_line(event)}"
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.sizes:
                raise Unreadable(f"{line}: alias '*{event.anchor}' is undefined or refers to itself")
            self.total += self.sizes[event.anchor]
        elif isinstance(event, yaml.ScalarEvent):
            self.total += 1
            if event.anchor:
                self.sizes[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            self.open.append((event.anchor, self.total))
            self.total += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = self.open.pop()
            if anchor:
                self.sizes[anchor] = self.total - before
        if self.total > NODES_LIMIT:
            raise Unreadable(f"{line}: more than {NODES_LIMIT} values once its aliases are expanded; no API server accepts that")
        if len(self.open) > DEPTH_LIMIT:
            raise Unreadable(f"{line}: nested more than {DEPTH_LIMIT} levels deep")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def check_structure(text: str) -> list[int]:
    """The line of each document. Raises `Unreadable` for what would grow without bound, and YAML's own errors."""
    lines: list[int] = []
    counter = _Counter()
    for event in yaml.parse(text, Loader=Loader):
        if isinstance(event, yaml.DocumentStartEvent):
            lines.append(_line(event))
            counter = _Counter()
        counter.take(event)
    return lines
