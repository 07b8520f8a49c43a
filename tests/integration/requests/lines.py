"""A request as a line: its verb, its path, and the fields that it changes.

    APPLY host /apis/nestor.dev/v1alpha1/namespaces/team/nestedappjobs/hello/status: status.conditions.Ready -status.message
    POST host /api/v1/namespaces/team/pods/hello -> 409: metadata spec

APPLY is a server-side apply. A field changes if it differs from what the controller last wrote into it; one that it takes away
has a minus; `=` stands for none. Where many fields change, the ones that hold them are named; of a condition only its type, and
of a new object no metadata.
"""

from typing import Any

from nestor.api.objects import Object

Leaves = dict[tuple[str, ...], Any]
"""Values by path."""

MOST_FIELDS = 6
_NONE = object()
_NAMES = ("name", "type", "key")
"""What items of a list are told apart by."""
_IDENTITY = {("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"), ("metadata", "uid")}


class Lines:
    """Knows what was written, by target, from one step to the next."""

    def __init__(self) -> None:
        self._written: dict[str, Leaves] = {}

    def write(self, target: str, requests: list[Object]) -> list[str]:
        """The lines of the writes to one target."""
        return [self._line(target, item) for item in requests]

    def _line(self, target: str, item: Object) -> str:
        answer = f" -> {item['answer']}" if "answer" in item else ""
        line = f"{item['verb']} {target}{item['query']}{answer}"
        if item["verb"] == "DELETE":
            self._written.pop(target, None)
            conditions = _names(set(find_leaves(item["body"] or {})) - _IDENTITY)
            return f"{line}: {' '.join(conditions)}" if conditions else line
        return f"{line}: {' '.join(self._changed(target, item))}"

    def _changed(self, target: str, item: Object) -> list[str]:
        leaves = {path: value for path, value in find_leaves(item["body"]).items() if path not in _IDENTITY}
        before = {} if item["verb"] == "POST" else self._written.get(target, {})
        changed = {path for path, value in leaves.items() if before.get(path, _NONE) != value}
        gone = {path for path in changed if leaves[path] is None} if item["verb"] == "PATCH" else set()
        changed -= gone
        if before and item["verb"] == "PATCH":
            gone = {path for path in gone if any(other[: len(path)] == path for other in before)}
        elif before:
            gone = set(before) - set(leaves)
        elif item["verb"] != "PATCH":
            changed = {path for path in changed if path[0] != "metadata"} or changed
        self._written[target] = before | leaves if item["verb"] == "PATCH" else leaves
        return [*_names(changed), *(f"-{name}" for name in _names(gone))] or ["="]


def find_leaves(value: Any, path: tuple[str, ...] = ()) -> Leaves:
    """Every value that holds no others, by the keys that lead to it; in a list, by the names of its items if all have one."""
    if isinstance(value, list):
        value = _by_name(value) or value
    if not isinstance(value, dict) or not value:
        return {path: value} if path else {}
    return {found: leaf for key, item in value.items() for found, leaf in find_leaves(item, (*path, str(key))).items()}


def _by_name(items: list[Any]) -> Object | None:
    found: Object = {}
    for item in items:
        key = next((key for key in _NAMES if key in item), None) if isinstance(item, dict) else None
        if key is None or item[key] in found:
            return None
        found[item[key]] = {other: item[other] for other in item if other != key}
    return found


def _names(paths: set[tuple[str, ...]]) -> list[str]:
    paths = {path[: path.index("conditions") + 2] if "conditions" in path else path for path in paths}
    depth = max(map(len, paths), default=0)
    while len(paths) > MOST_FIELDS and depth > 1:
        depth -= 1
        paths = {path[:depth] for path in paths}
    return sorted(".".join(path) for path in paths)
