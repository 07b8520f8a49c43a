"""Patches, as an API server applies them."""

from typing import Any

_KEYS = {"conditions": "type"} | dict.fromkeys(
    ("containers", "initContainers", "ephemeralContainers", "volumes", "env", "envFrom", "imagePullSecrets", "schedulingGates"),
    "name",
)
"""What the items of a list are told apart by. Other lists are replaced."""


def merge(now: Any, patch: Any) -> Any:
    """A merge patch: None removes."""
    if not isinstance(patch, dict):
        return patch
    there = now if isinstance(now, dict) else {}
    kept = {key: value for key, value in there.items() if key not in patch}
    return kept | {key: merge(there.get(key), value) for key, value in patch.items() if value is not None}


def merge_strategic(now: Any, patch: Any, field: str = "") -> Any:
    """A strategic merge patch, which merges lists."""
    if isinstance(patch, dict):
        there = now if isinstance(now, dict) else {}
        kept = {key: value for key, value in there.items() if key not in patch}
        return kept | {key: merge_strategic(there.get(key), value, key) for key, value in patch.items() if value is not None}
    if not isinstance(patch, list):
        return patch
    if field not in _KEYS:
        return [item for item in patch if item != {"$patch": "replace"}]
    found = {item[_KEYS[field]]: item for item in now or []}
    for item in patch:
        key = item[_KEYS[field]]
        if item.get("$patch") == "delete":
            found.pop(key, None)
        else:
            found[key] = merge_strategic(found.get(key), item)
    return list(found.values())
