"""The data of nested clusters: its identity, how often it was lost, and its deletion, so that the cluster starts empty."""

import logging
from dataclasses import dataclass

from nestor.api import labels, names
from nestor.api.names import Part
from nestor.api.objects import Object, annotations_of, is_terminating, labels_of, spec_of
from nestor.cluster.home import Home
from nestor.cluster.shape import Shape
from nestor.kube import Api, NotFound, kinds
from nestor.operator.world.context import Cache, Context

log = logging.getLogger(__name__)

GRACE_SECONDS = 1
"""For a server that is deleted with its data. Not 0: its volume must be released before its successor needs it."""

OF_APP = f"{labels.COMPONENT}={labels.COMPONENT_APP},{labels.NESTED_UID}"


@dataclass(frozen=True)
class DataEpoch:
    number: int = 0
    """How often the data was lost. Each time, the templates are applied again."""
    uid: str | None = None
    """UID of what holds the data: the server's pod, or the claim of its volume. None: there was no data yet."""


def read_epoch(cluster: Object | None) -> DataEpoch:
    annotations = annotations_of(cluster)
    return DataEpoch(int(annotations.get(labels.DATA_EPOCH, "0")), annotations.get(labels.SERVER_UID))


def find_claim(cache: Cache, home: Home) -> str | None:
    """The name of the claim that holds a cluster's data, if its StatefulSet was created with one."""
    live = cache.find(kinds.STATEFUL_SET, home.child(Part.SERVER), home.namespace)
    return names.data_claim(home.name) if spec_of(live).get("volumeClaimTemplates") else None


async def track_data(context: Context, shape: Shape) -> DataEpoch:
    """The current epoch: if the data is not the recorded one, it was lost, and the number grows.

    Recorded on the NestedCluster, so that a restarted operator notices too.
    """
    cluster = context.cache.clusters.get(shape.name, shape.namespace)
    noted, holder = read_epoch(cluster), _find_holder(context.cache, shape)
    if cluster is None or holder is None or holder["metadata"]["uid"] == noted.uid:
        return noted
    found = DataEpoch(noted.number + (1 if noted.uid else 0), holder["metadata"]["uid"])
    annotations = {labels.SERVER_UID: found.uid, labels.DATA_EPOCH: str(found.number)}
    patch = {"metadata": {"annotations": annotations}}
    context.cache.clusters.put(await context.api.patch(kinds.NESTED_CLUSTER, shape.name, shape.namespace, patch))
    return found


async def drop_data(context: Context, home: Home, data: DataEpoch, *, is_stopping: bool) -> None:
    """Delete exactly this data: an empty server comes in its place. `is_stopping`: its server is stopped, or is being."""
    if data.uid is None:
        return
    name, namespace = names.server_pod(home.name), home.namespace
    pod = context.cache.find(kinds.POD, name, namespace)
    claims = context.cache.informers[kinds.PERSISTENT_VOLUME_CLAIM]
    holder = claims.get(claim, namespace) if (claim := find_claim(context.cache, home)) else pod
    # With another server than that of this data, the volumes are that one's.
    if is_stopping or (holder is not None and holder["metadata"]["uid"] == data.uid):
        await _drop_volumes(context, home)
    if claim:
        # First, so that the next pod cannot use it again: it disappears together with the pod that mounts it.
        await context.api.delete(kinds.PERSISTENT_VOLUME_CLAIM, claim, namespace, uid=data.uid)
    if pod is not None and not is_terminating(pod) and (claim or pod["metadata"]["uid"] == data.uid):
        log.info("%s/%s: deleting the server's pod and its data", namespace, home.name)
        await context.api.delete(kinds.POD, name, namespace, uid=pod["metadata"]["uid"], grace_seconds=GRACE_SECONDS)


async def _drop_volumes(context: Context, home: Home) -> None:
    """Delete the application's claims and snapshots, but not the claims of volumes that the job has got from an earlier one."""
    found = [(kinds.PERSISTENT_VOLUME_CLAIM, item) for item in context.cache.informers[kinds.PERSISTENT_VOLUME_CLAIM]]
    found += [(kinds.VOLUME_SNAPSHOT, item) for item in await list_snapshots(context.api, home.namespace)]
    for kind, item in found:
        meta, own = item["metadata"], labels_of(item)
        is_ours = meta["namespace"] == home.namespace and own.get(labels.CLUSTER) == home.name and labels.NESTED_UID in own
        if is_ours and labels.VOLUMES_FROM not in annotations_of(item):
            await context.api.delete(kind, meta["name"], home.namespace, uid=meta["uid"])


async def list_snapshots(api: Api, namespace: str) -> list[Object]:
    """The VolumeSnapshots of the application; none where the host cluster does not have the kind."""
    try:
        return await api.list(kinds.VOLUME_SNAPSHOT, namespace, labels=OF_APP)
    except NotFound:
        return []


def _find_holder(cache: Cache, shape: Shape) -> Object | None:
    if claim := find_claim(cache, shape):
        return cache.find(kinds.PERSISTENT_VOLUME_CLAIM, claim, shape.namespace)
    if shape.persistence:
        return None
    return cache.find(kinds.POD, names.server_pod(shape.name), shape.namespace)
