"""Kinds that a cluster may not have, and that few classes ask for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.kube import Kind, kinds

MOST = 2000
"""Objects of a kind in the nested cluster, several times what it may have in the host. An admin may have some kinds served by
a server of his own, which may say that there are millions."""
_BYTES = 32 * 1024
"""Of each. One that is longer has no content for us, and is refused."""
_NAMED = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "labels")


def _has_snapshots(policy: Policy) -> bool:
    return bool(policy.volumes.snapshot_classes)


def _has_devices(policy: Policy) -> bool:
    return bool(policy.allowed_devices.classes)


KINDS: Mapping[Kind, Callable[[Policy], bool]] = {
    kinds.VOLUME_SNAPSHOT: _has_snapshots,
    kinds.VOLUME_SNAPSHOT_CLASS: _has_snapshots,
    kinds.VOLUME_SNAPSHOT_CONTENT: _has_snapshots,
    kinds.RESOURCE_CLAIM: _has_devices,
    kinds.DEVICE_CLASS: _has_devices,
}
"""By kind, whether a policy asks for it."""


def bound(item: Object) -> Object:
    """What is kept of an object of such a kind in the nested cluster, where its server may be the tenant's own."""
    meta = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    kept = {**item, "metadata": meta}
    if len(json.dumps(kept)) <= _BYTES:
        return kept
    what = {key: item[key] for key in ("apiVersion", "kind") if key in item}
    return what | {"metadata": {key: meta[key] for key in _NAMED if key in meta}}
