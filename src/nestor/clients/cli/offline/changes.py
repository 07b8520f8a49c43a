"""What a folder of manifests is made of, and what two states of it differ in."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nestor.clients.cli.offline import documents, files

Stamps = dict[Path, tuple[int, int]]
"""When a file was changed, and its size."""


def compare(before: str, after: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """`+`, `~` or `-`, and the object in question. What was removed comes last, in reverse order. Pure."""
    old, new = _read_objects(before), _read_objects(after)
    for identity, item in new.items():
        if old.get(identity) != item:
            yield "~" if identity in old else "+", item
    for identity in reversed([*old]):
        if identity not in new:
            yield "-", old[identity]


def _read_objects(text: str) -> dict[tuple[str, str, str, str], dict[str, Any]]:
    items = [item for part in documents.read(text, "") for item in documents.list_items(part.content)]
    return {_identify(item): item for item in items if isinstance(item, dict)}


def _identify(item: dict[str, Any]) -> tuple[str, str, str, str]:
    """Group, kind, namespace and name."""
    group, slash, _ = str(item.get("apiVersion")).partition("/")
    meta = item.get("metadata") or {}
    return group * bool(slash), str(item.get("kind")), str(meta.get("namespace") or "default"), str(meta.get("name"))


def read_stamps(folder: Path) -> Stamps:
    """Of all files in it, and of those that its kustomization names elsewhere."""
    roots = [folder]
    for root in roots:
        others = files.list_named(root, ("resources", "bases", "components"))
        roots += [path for path in others if path.exists() and path not in roots]
    found: Stamps = {}
    for path in (path for root in roots for path in (_list_files(root) if root.is_dir() else [root])):
        with contextlib.suppress(FileNotFoundError):  # an editor's own, or removed just now
            found[path] = path.stat().st_mtime_ns, path.stat().st_size
    return found


def _list_files(root: Path) -> Iterator[Path]:
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if not name.startswith(".")]
        yield from (Path(folder, name) for name in names)
