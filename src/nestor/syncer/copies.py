"""Host objects that carry configuration: written where they differ, and only where they are this cluster's own."""

from __future__ import annotations

from nestor.api import labels
from nestor.kube import Api, Conflict, Forbidden, Kind
from nestor.objects import Object, labels_of
from nestor.translate import config as translate


async def ensure_copy(api: Api, kind: Kind, cached: Object | None, desired: Object) -> None:
    """Have `desired` on the host. `cached` may be behind; what it lacks is found out by the create.

    Forbidden where an object of that name is there that was not synced from this nested cluster.
    """
    meta, host = desired["metadata"], cached
    if host is None:
        try:
            await api.create(kind, desired)
            return
        except Conflict:
            host = await api.get(kind, meta["name"], meta["namespace"])
            _check_owner(kind, host, desired)
    if host.get("type") != desired.get("type") and "type" in desired:  # immutable
        await api.delete(kind, meta["name"], meta["namespace"], uid=host["metadata"]["uid"])
        await api.create(kind, desired)
    elif not translate.is_current(host, desired):
        await api.patch(kind, meta["name"], meta["namespace"], translate.build_patch(host, desired))


def _check_owner(kind: Kind, host: Object, desired: Object) -> None:
    """In a namespace that is shared, a user's own object or another nested cluster's may have the name."""
    there, mine = labels_of(host), desired["metadata"]["labels"]
    if there.get(labels.CLUSTER) != mine[labels.CLUSTER] or labels.NESTED_UID not in there:
        name = desired["metadata"]["name"]
        message = f"{kind.name} '{name}' is in the way on the host: it is not this nested cluster's and stays as it is"
        raise Forbidden(403, "Forbidden", message)
