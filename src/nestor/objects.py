"""Kubernetes objects as they travel on the wire: plain dictionaries, and how to read them without surprises.

Plain dictionaries, because a model would drop the fields that it does not know, and a syncer must carry them. An API server
leaves out what is empty, and some clients write null, so every part is read as possibly missing.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def spec_of(obj: Object | None) -> Object:
    """`spec`, empty where there is none. Do not modify it."""
    return (obj or {}).get("spec") or {}


def status_of(obj: Object | None) -> Object:
    """`status`, empty where there is none. Do not modify it."""
    return (obj or {}).get("status") or {}


def labels_of(obj: Object | None) -> dict[str, str]:
    """The labels. Do not modify them."""
    return _metadata_of(obj).get("labels") or {}


def annotations_of(obj: Object | None) -> dict[str, str]:
    """The annotations. Do not modify them."""
    return _metadata_of(obj).get("annotations") or {}


def conditions_of(obj: Object | None) -> list[Object]:
    """The conditions of its status."""
    return status_of(obj).get("conditions") or []


def owners_of(obj: Object | None) -> list[Object]:
    """The owner references."""
    return _metadata_of(obj).get("ownerReferences") or []


def is_owned_by(obj: Object | None, uid: str) -> bool:
    """True when one of its owners has that UID."""
    return any(owner["uid"] == uid for owner in owners_of(obj))


def is_terminating(obj: Object | None) -> bool:
    """True when its deletion has been asked for."""
    return bool(_metadata_of(obj).get("deletionTimestamp"))


def owner_reference(api_version: str, kind: str, name: str, uid: str, **flags: bool) -> Object:
    """A reference to the owner that takes the object along when it goes; `flags`: `controller`, `blockOwnerDeletion`."""
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, **flags}


def _metadata_of(obj: Object | None) -> Object:
    return (obj or {}).get("metadata") or {}
