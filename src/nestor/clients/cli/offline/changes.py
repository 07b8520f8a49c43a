"""What a folder of manifests is made of, and what two states of it differ in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nestor.clients.cli.exits import Failure
from nestor.clients.cli.offline import documents, files

Identity = tuple[str, str, str, str]
"""Group, kind, namespace and name."""
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


def _read_objects(text: str) -> dict[Identity, dict[str, Any]]:
    items = [item for part in documents.read(text, "") for item in documents.list_items(part.content)]
    return {_identify(item): item for item in items if isinstance(item, dict)}


def _identify(item: dict[str, Any]) -> Identity:
    group, slash, _ = str(item.get("apiVersion")).partition("/")
    meta = item.get("metadata") or {}
    return group * bool(slash), str(item.get("kind")), str(meta.get("namespace") or "default"), str(meta.get("name"))


def read_stamps(folder: Path) -> Stamps:
    """Of all files in it, and of those that its kustomization names elsewhere."""
    roots = [folder]
    for root in roots:
        roots += [path for path in _name_others(root) if path not in roots]
    found: Stamps = {}
    for path in {path for root in roots for path in (root.rglob("*") if root.is_dir() else [root])}:
        try:
            state = path.stat()
        except FileNotFoundError:  # an editor's own, or removed just now
            continue
        found[path] = state.st_mtime_ns, state.st_size
    return found


def _name_others(root: Path) -> Iterator[Path]:
    """Files and folders of this machine that a kustomization names."""
    file = next((root / name for name in files.KUSTOMIZATIONS if (root / name).is_file()), None)
    try:
        found = [part.content for part in documents.read(documents.load(file), "")] if file else []
    except Failure:
        return  # whoever builds it says so
    for content in found:
        for key in ("resources", "bases", "components"):
            items = content.get(key) if isinstance(content, dict) else None
            paths = [root / item for item in (items if isinstance(items, list) else ()) if isinstance(item, str)]
            yield from (path.resolve() for path in paths if path.exists())
