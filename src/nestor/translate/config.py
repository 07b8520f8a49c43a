"""Nested ConfigMaps and Secrets as host objects."""

from __future__ import annotations

from nestor.objects import Object, labels_of
from nestor.translate.target import Target

# The host's controllers act upon Secrets of these types; its kubelet reads any type.
_ACTIVE_TYPES = frozenset({"kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"})
_DATA = ("data", "binaryData")


def build_config(nested: Object, target: Target) -> Object:
    """The host copy of a ConfigMap or Secret. Never immutable: the nested one may be replaced by another of its name."""
    result: Object = {"apiVersion": "v1", "kind": nested["kind"], "metadata": target.metadata(nested)}
    result |= {key: nested[key] for key in _DATA if nested.get(key)}
    if nested["kind"] == "Secret":
        kind = nested.get("type") or "Opaque"
        result["type"] = "Opaque" if kind in _ACTIVE_TYPES else kind
    return result


def is_current(host: Object, desired: Object) -> bool:
    """True when the host copy has the content and the marks of `desired`."""
    same = all((host.get(key) or {}) == (desired.get(key) or {}) for key in _DATA)
    there = labels_of(host)
    return same and all(there.get(key) == value for key, value in desired["metadata"]["labels"].items())


def build_patch(host: Object, desired: Object) -> Object:
    """A merge patch from the host copy to `desired`: keys that went are taken away."""
    patch: Object = {"metadata": {key: desired["metadata"][key] for key in ("labels", "annotations")}}
    for key in _DATA:
        there, wanted = host.get(key) or {}, desired.get(key) or {}
        if there != wanted:
            patch[key] = {name: None for name in there if name not in wanted} | wanted
    return patch
