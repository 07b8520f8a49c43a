"""What is kept in memory of a pod: everything that a backend may need, without what nobody reads. Pure."""

from __future__ import annotations

import sys
from typing import Any

from nestor.objects import Object

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SHARED_LIMIT = 64
"""Characters up to which equal texts of different pods are kept once: names, reasons, images."""


def trim_pod(pod: Object) -> Object:
    """The pod without who wrote which field, which is half of it, and without a second copy of itself."""
    meta = {key: value for key, value in pod["metadata"].items() if key != "managedFields"}
    annotations = meta.get("annotations") or {}
    if _LAST_APPLIED in annotations:
        meta["annotations"] = {key: value for key, value in annotations.items() if key != _LAST_APPLIED}
    shared: Object = _share({**pod, "metadata": meta})
    return shared


def _share(value: Any) -> Any:
    """The same, with keys and short texts that all pods have in common."""
    if isinstance(value, dict):
        return {sys.intern(key): _share(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_share(item) for item in value]
    if isinstance(value, str) and len(value) <= _SHARED_LIMIT:
        return sys.intern(value)
    return value
