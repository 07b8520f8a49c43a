"""Nestor's finalizer on the objects of users."""

from __future__ import annotations

from nestor.api import labels
from nestor.kube import Api, Kind
from nestor.objects import Object


def has_finalizer(obj: Object) -> bool:
    """True while the object waits for us before it goes."""
    return labels.FINALIZER in (obj["metadata"].get("finalizers") or ())


async def ensure_finalizer(api: Api, kind: Kind, obj: Object) -> Object:
    """Our finalizer on the object; with its resource version, because lists of finalizers have many writers."""
    if has_finalizer(obj):
        return obj
    return await _set_finalizers(api, kind, obj, [*(obj["metadata"].get("finalizers") or ()), labels.FINALIZER])


async def remove_finalizer(api: Api, kind: Kind, obj: Object) -> None:
    """Let the object go."""
    left = [item for item in obj["metadata"].get("finalizers") or () if item != labels.FINALIZER]
    await _set_finalizers(api, kind, obj, left)


async def _set_finalizers(api: Api, kind: Kind, obj: Object, finalizers: list[str]) -> Object:
    meta = obj["metadata"]
    patch = {"metadata": {"finalizers": finalizers, "resourceVersion": meta["resourceVersion"], "uid": meta["uid"]}}
    return await api.patch(kind, meta["name"], meta["namespace"], patch)
