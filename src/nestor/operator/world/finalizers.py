"""Nestor's finalizer on users' objects."""

from __future__ import annotations

from nestor.api import labels
from nestor.api.objects import Object
from nestor.kube import Api, Kind
from nestor.operator.world.trim import CUT


def has_finalizer(obj: Object) -> bool:
    """Whether the object's deletion waits for us."""
    return labels.FINALIZER in (obj["metadata"].get("finalizers") or ())


async def ensure_finalizer(api: Api, kind: Kind, obj: Object) -> Object:
    """Add our finalizer; the patch includes the resource version, because finalizer lists have many writers."""
    if has_finalizer(obj):
        return obj
    return await _set_finalizers(api, kind, obj, [*await _read_finalizers(api, kind, obj), labels.FINALIZER])


async def remove_finalizer(api: Api, kind: Kind, obj: Object) -> None:
    """Remove our finalizer, so that the object can be deleted."""
    left = [item for item in await _read_finalizers(api, kind, obj) if item != labels.FINALIZER]
    await _set_finalizers(api, kind, obj, left)


async def _read_finalizers(api: Api, kind: Kind, obj: Object) -> list[str]:
    """All of them, also those that no cache keeps because they are too many."""
    meta = obj["metadata"]
    if meta.get(CUT):
        obj = await api.request("GET", kind.path(meta.get("namespace"), meta["name"]))  # `get` would trim it again
    return obj["metadata"].get("finalizers") or []


async def _set_finalizers(api: Api, kind: Kind, obj: Object, finalizers: list[str]) -> Object:
    meta = obj["metadata"]
    patch = {"metadata": {"finalizers": finalizers, "resourceVersion": meta["resourceVersion"], "uid": meta["uid"]}}
    return await api.patch(kind, meta["name"], meta.get("namespace"), patch)
