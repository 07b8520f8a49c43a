"""Kubernetes objects as plain dictionaries, and functions to read them safely.

A typed model would drop fields that it does not know, but a syncer must carry them. API servers omit empty fields and some
clients write null, so these functions treat every part as possibly missing.
"""

from typing import Any

Object = dict[str, Any]


def spec_of(obj: Object | None) -> Object:
    """`spec`, or an empty dict. Do not modify it."""
    return (obj or {}).get("spec") or {}


def status_of(obj: Object | None) -> Object:
    """`status`, or an empty dict. Do not modify it."""
    return (obj or {}).get("status") or {}


def labels_of(obj: Object | None) -> dict[str, str]:
    """The labels, or an empty dict. Do not modify it."""
    return _metadata_of(obj).get("labels") or {}


def annotations_of(obj: Object | None) -> dict[str, str]:
    """The annotations, or an empty dict. Do not modify it."""
    return _metadata_of(obj).get("annotations") or {}


def conditions_of(obj: Object | None) -> list[Object]:
    """`status.conditions`, or an empty list. Do not modify it."""
    return status_of(obj).get("conditions") or []


def owners_of(obj: Object | None) -> list[Object]:
    """The owner references, or an empty list. Do not modify it."""
    return _metadata_of(obj).get("ownerReferences") or []


def without_managers(obj: Object) -> Object:
    """A copy without `metadata.managedFields`, which may be the larger part of an object. Only the metadata is new."""
    return obj | {"metadata": {key: value for key, value in obj["metadata"].items() if key != "managedFields"}}


def keep_few(texts: dict[str, str], limit: int, *, first: str = "") -> dict[str, str]:
    """As many of the labels or annotations as have `limit` characters together: `first`, then the shortest."""
    kept: dict[str, str] = {}
    for key in sorted(texts, key=lambda item: (item != first, len(item) + len(texts[item]), item)):
        size = len(key) + len(texts[key])
        if size <= limit:
            limit -= size
            kept[key] = texts[key]
    return kept


def is_owned_by(obj: Object | None, uid: str) -> bool:
    """True if one of the object's owners has this UID."""
    return any(owner["uid"] == uid for owner in owners_of(obj))


def find_controller(obj: Object | None, kind: str = "") -> Object:
    """The owner reference of the controller that replaces an object when it is deleted, if it is of this kind; empty if none."""
    return next((owner for owner in owners_of(obj) if owner.get("controller") and kind in ("", owner.get("kind"))), {})


def find_job(pod: Object | None) -> Object:
    """The owner reference of the Job that has made the pod; empty if none of Kubernetes' own has."""
    owner = find_controller(pod, "Job")
    return owner if owner.get("apiVersion", "").startswith("batch/") else {}


def is_of_daemon_set(pod: Object | None) -> bool:
    """True if a DaemonSet controls the pod: it belongs to one node, and is made again as long as that is there."""
    return bool(find_controller(pod, "DaemonSet"))


def is_terminating(obj: Object | None) -> bool:
    """True if the object is being deleted (`deletionTimestamp` is set)."""
    return bool(_metadata_of(obj).get("deletionTimestamp"))


def owner_reference(api_version: str, kind: str, name: str, uid: str, **flags: bool) -> Object:
    """An owner reference: deleting the owner deletes the object. `flags`: `controller`, `blockOwnerDeletion`."""
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, **flags}


def _metadata_of(obj: Object | None) -> Object:
    return (obj or {}).get("metadata") or {}
