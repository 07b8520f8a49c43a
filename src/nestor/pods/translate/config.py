"""Nested ConfigMaps and Secrets as host objects."""

from __future__ import annotations

import json

from nestor.api.objects import Object
from nestor.pods.translate.target import Target

# The host's controllers act on Secrets of these types; its kubelet reads any type.
_ACTIVE_TYPES = frozenset({"kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"})
_DATA = ("data", "binaryData")


def build_config(nested: Object, target: Target) -> Object:
    """The host copy of a ConfigMap or Secret. Never immutable: the nested one may be deleted and recreated."""
    return {"apiVersion": "v1", "kind": nested["kind"], "metadata": target.metadata(nested)} | carry(nested, nested["kind"])


def carry(obj: Object, kind: str) -> Object:
    """What a copy has in common with its original: the data, and a Secret's type if no controller acts on that."""
    result = {key: obj[key] for key in _DATA if obj.get(key)}
    if kind == "Secret":
        own = obj.get("type") or "Opaque"
        result["type"] = "Opaque" if own in _ACTIVE_TYPES else own
    return result


def measure(copy: Object) -> int:
    """Bytes of data in a ConfigMap or Secret; of other kinds, all that it is."""
    if copy.get("kind") not in ("ConfigMap", "Secret"):
        return len(json.dumps(copy))
    pairs = ((key, text) for part in _DATA for key, text in (copy.get(part) or {}).items())
    return sum(len(key) + len(text.encode()) for key, text in pairs)
