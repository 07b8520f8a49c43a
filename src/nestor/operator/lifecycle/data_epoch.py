"""The data of nested clusters: which it is, how often it was lost, and how it is deleted so that the cluster begins anew."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from nestor.api import labels
from nestor.cluster.shape import DATA_VOLUME, Shape
from nestor.kube import kinds
from nestor.objects import Object, annotations_of, is_terminating, spec_of
from nestor.operator.world.cache import World
from nestor.operator.world.context import Context

log = logging.getLogger(__name__)

GRACE_SECONDS = 1
"""For a server whose data is deleted with it. Not 0: its volume must be free before another one takes its name."""


@dataclass(frozen=True)
class Data:
    """Which data a cluster has."""

    epoch: int = 0
    """How often it was lost. Each time the templates are applied anew."""
    uid: str | None = None
    """Of what holds it: the server's pod, or its volume's claim. None: there was none yet."""


def find_claim(world: World, name: str, namespace: str) -> str | None:
    """The name of the claim that holds a cluster's data, by what its StatefulSet was made with; `name` is the StatefulSet's."""
    live = world.find(kinds.STATEFUL_SET, name, namespace)
    templates = spec_of(live).get("volumeClaimTemplates") or ()
    return f"{DATA_VOLUME}-{name}-0" if templates else None


def read_data(cluster: Object | None) -> Data:
    """What is noted on a NestedCluster."""
    annotations = annotations_of(cluster)
    return Data(int(annotations.get(labels.DATA_EPOCH, "0")), annotations.get(labels.SERVER_UID))


class DataKeeper:
    """Notes on the NestedCluster which data it has, so that no operator takes other data for the same."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._api = context.api

    async def track(self, shape: Shape) -> Data:
        """What is noted, brought up to date: other data than the noted one means that it was lost."""
        cluster = self._context.world.clusters.get(shape.name, shape.namespace)
        noted, holder = read_data(cluster), self._find_holder(shape)
        if cluster is None or holder is None or holder["metadata"]["uid"] == noted.uid:
            return noted
        found = Data(noted.epoch + (1 if noted.uid else 0), holder["metadata"]["uid"])
        annotations = {labels.SERVER_UID: found.uid, labels.DATA_EPOCH: str(found.epoch)}
        patch = {"metadata": {"annotations": annotations}}
        self._context.world.clusters.put(await self._api.patch(kinds.NESTED_CLUSTER, shape.name, shape.namespace, patch))
        return found

    async def drop(self, shape: Shape, data: Data) -> None:
        """Delete this data, and no other: the StatefulSet then makes a server without any."""
        if data.uid is None:
            return
        world, name = self._context.world, shape.child("k3s")
        pod = world.find(kinds.POD, f"{name}-0", shape.namespace)
        if claim := find_claim(world, name, shape.namespace):
            # First, so that the next pod cannot get it again: it goes when the pod does that has it.
            await self._api.delete(kinds.PERSISTENT_VOLUME_CLAIM, claim, shape.namespace, uid=data.uid)
        if pod is not None and not is_terminating(pod) and (claim or pod["metadata"]["uid"] == data.uid):
            log.info("%s/%s: deleting the server's pod and its data", shape.namespace, shape.name)
            uid = pod["metadata"]["uid"]
            await self._api.delete(kinds.POD, f"{name}-0", shape.namespace, uid=uid, grace_seconds=GRACE_SECONDS)

    def _find_holder(self, shape: Shape) -> Object | None:
        world, name = self._context.world, shape.child("k3s")
        if claim := find_claim(world, name, shape.namespace):
            return world.find(kinds.PERSISTENT_VOLUME_CLAIM, claim, shape.namespace)
        if shape.persistence:
            return None
        return world.find(kinds.POD, f"{name}-0", shape.namespace)
