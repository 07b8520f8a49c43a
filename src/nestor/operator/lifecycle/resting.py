"""What is done so that a nested cluster rests, beyond what its objects say already."""

from __future__ import annotations

import logging

from nestor import names
from nestor.api import labels
from nestor.kube import NotFound, kinds
from nestor.kube.tasks import together
from nestor.objects import is_terminating, labels_of, spec_of
from nestor.operator.world import pod_status as pods
from nestor.operator.world.context import Context

log = logging.getLogger(__name__)


async def end_pods(context: Context, namespace: str) -> None:
    """End the application's pods: their syncer, which should have, is gone, and so nobody makes them again."""
    found = [
        pod["metadata"]
        for pod in context.world.pods_by_namespace.all(namespace)
        if labels_of(pod).get(labels.COMPONENT) == labels.COMPONENT_APP and not pods.is_finished(pod) and not is_terminating(pod)
    ]
    if found:
        log.info("%s: ending %d pods that no syncer ended", namespace, len(found))
        await together(*(context.api.delete(kinds.POD, meta["name"], namespace, uid=meta["uid"]) for meta in found))


async def stop_as_it_is(context: Context, name: str, namespace: str, *, replicas: int) -> None:
    """Have a cluster rest that cannot be applied anew, because its class is gone or the host refuses something of it."""
    cluster = context.world.clusters.get(name, namespace)
    server = names.child(name, "k3s")
    live = context.world.find(kinds.STATEFUL_SET, server, namespace)
    try:
        if cluster is not None and not spec_of(cluster).get("suspend"):
            patched = await context.api.patch(kinds.NESTED_CLUSTER, name, namespace, {"spec": {"suspend": True}})
            context.world.clusters.put(patched)
        if live is not None and live["spec"].get("replicas") != replicas and replicas == 0:
            await context.api.patch(kinds.STATEFUL_SET, server, namespace, {"spec": {"replicas": 0}})
    except NotFound:
        log.debug("%s/%s: went meanwhile", namespace, name)
