"""What the checked files tell about a cluster: its classes, and which of them jobs get that name none. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from nestor.api.class_choice import FALLBACK, find_class_name, find_default
from nestor.api.nestedclass import NestedClassSpec, resolve_class
from nestor.clients.cli.offline.documents import list_items


@dataclass(frozen=True)
class Known:
    """The classes among some documents."""

    classes: Mapping[str, NestedClassSpec] = field(default_factory=dict)
    """By name; without those that have a fault, because their own check names it."""
    default: str = FALLBACK
    """The class of jobs that name none."""

    def find_class(self, content: dict[str, Any]) -> tuple[str, NestedClassSpec | None]:
        """Name and content of the class of a NestedAppJob; None for one that is not known."""
        name = find_class_name({"spec": content["spec"]}, self.default)
        return name, self.classes.get(name)


NOTHING = Known()


def read_known(contents: Iterable[Any], default: str | None = None) -> Known:
    """What the documents tell. `default`: the default class, where it is not for their annotations to say."""
    items = _list_classes(contents)
    found: dict[str, NestedClassSpec] = {}
    for item in items:
        try:
            found[item["metadata"]["name"]] = resolve_class(item.get("spec") or {})
        except ValidationError:
            continue
    return Known(found, default or find_default(items))


def _list_classes(contents: Iterable[Any]) -> list[dict[str, Any]]:
    items = [item for content in contents for item in list_items(content) if isinstance(item, dict)]
    return [item for item in items if item.get("kind") == "NestedClass" and _is_named(item.get("metadata"))]


def _is_named(meta: Any) -> bool:
    return isinstance(meta, dict) and isinstance(meta.get("name"), str) and isinstance(meta.get("annotations") or {}, dict)
