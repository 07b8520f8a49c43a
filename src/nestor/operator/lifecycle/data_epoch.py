"""The data of nested clusters: which it is, how often it was lost, and how it is deleted so that the cluster begins anew."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from nestor import names
from nestor.api import labels
from nestor.cluster.home import Home
from nestor.cluster.shape import Shape
from nestor.kube import kinds
from nestor.names import Part
from nestor.objects import Object, annotations_of, is_terminating, spec_of
from nestor.operator.world.cache import Cache
from nestor.operator.world.context import Context

log = logging.getLogger(__name__)

GRACE_SECONDS = 1
"""For a server whose data is deleted with it. Not 0: its volume must be free before another one takes its name."""


@dataclass(frozen=True)
class DataEpoch:
    """Which data a cluster has."""

    number: int = 0
    """How often it was lost. Each time the templates are applied anew."""
    uid: str | None = None
    """Of what holds it: the server's pod, or its volume's claim. None: there was none yet."""


def read_epoch(cluster: Object | None) -> DataEpoch:
    """What is noted on a NestedCluster."""
    annotations = annotations_of(cluster)
    return DataEpoch(int(annotations.get(labels.DATA_EPOCH, "0")), annotations.get(labels.SERVER_UID))


def find_claim(cache: Cache, home: Home) -> str | None:
    """The name of the claim that holds a cluster's data, by what its StatefulSet was made with."""
    live = cache.find(kinds.STATEFUL_SET, home.child(Part.SERVER), home.namespace)
    return names.data_claim(home.name) if spec_of(live).get("volumeClaimTemplates") else None


async def track_data(context: Context, shape: Shape) -> DataEpoch:
    """What is noted, brought up to date: other data than the noted one means that it was lost.

    Noted on the NestedCluster, so that no operator takes other data for the same.
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


async def drop_data(context: Context, home: Home, data: DataEpoch) -> None:
    """Delete this data, and no other: the StatefulSet then makes a server without any."""
    if data.uid is None:
        return
    name, namespace = names.server_pod(home.name), home.namespace
    pod = context.cache.find(kinds.POD, name, namespace)
    if claim := find_claim(context.cache, home):
        # First, so that the next pod cannot get it again: it goes when the pod does that has it.
        await context.api.delete(kinds.PERSISTENT_VOLUME_CLAIM, claim, namespace, uid=data.uid)
    if pod is not None and not is_terminating(pod) and (claim or pod["metadata"]["uid"] == data.uid):
        log.info("%s/%s: deleting the server's pod and its data", namespace, home.name)
        await context.api.delete(kinds.POD, name, namespace, uid=pod["metadata"]["uid"], grace_seconds=GRACE_SECONDS)


def _find_holder(cache: Cache, shape: Shape) -> Object | None:
    if claim := find_claim(cache, shape):
        return cache.find(kinds.PERSISTENT_VOLUME_CLAIM, claim, shape.namespace)
    if shape.persistence:
        return None
    return cache.find(kinds.POD, names.server_pod(shape.name), shape.namespace)
