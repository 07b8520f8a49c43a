"""Finds objects in the user's namespace that a NestedCluster would overwrite, before anything is applied."""

from __future__ import annotations

from collections.abc import Iterable

from nestor import names
from nestor.api import labels
from nestor.cluster import shared
from nestor.cluster.shape import Shape
from nestor.kube import Api, kinds
from nestor.kube.tasks import together
from nestor.objects import Object, labels_of, owners_of


def find_senior(cluster: Object, others: Iterable[Object]) -> str | None:
    """Name of an older NestedCluster in the same namespace: two would clash, as synced objects are named after nested ones."""
    meta = cluster["metadata"]
    mine = _seniority(cluster)
    found = [
        other
        for other in others
        if other["metadata"]["namespace"] == meta["namespace"]
        and other["metadata"]["uid"] != meta["uid"]
        and _seniority(other) < mine
    ]
    return str(min(found, key=_seniority)["metadata"]["name"]) if found else None


async def find_foreign(api: Api, shape: Shape) -> str | None:
    """A foreign object with a name that this cluster needs, such as `Secret 'a-pki'`; None if there is none."""
    uid = (shape.owner or {}).get("uid")
    named = shared.list_names(shape)
    found = await together(*(api.find(kind, name, shape.namespace) for kind, name in named))
    for (kind, name), live in zip(named, found, strict=True):
        if live is not None and all(owner["uid"] != uid for owner in owners_of(live)):
            return f"{kind.name} '{name}'"
    return await _find_foreign_claim(api, shape)


async def _find_foreign_claim(api: Api, shape: Shape) -> str | None:
    """A StatefulSet adopts any claim with the right name; ours carries the cluster's label and is owned by the StatefulSet."""
    if not shape.persistence:
        return None
    name = names.data_claim(shape.name)
    live = await api.find(kinds.PERSISTENT_VOLUME_CLAIM, name, shape.namespace)
    is_foreign = live is not None and labels_of(live).get(labels.CLUSTER) != shape.name
    return f"PersistentVolumeClaim '{name}'" if is_foreign else None


def _seniority(cluster: Object) -> tuple[str, str]:
    meta = cluster["metadata"]
    return meta.get("creationTimestamp", ""), meta["name"]
