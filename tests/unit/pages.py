"""The pages for Prometheus, of processes that have something to tell of everything."""

import datetime
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

from nestor.kube import WorkQueue
from nestor.operator import gauges
from nestor.operator.wiring import Operator
from nestor.syncer.process.health import Health, ServerHealth
from tests.unit.operator.scene import Scene


def build_operator() -> Operator:
    """One with a class and a backend."""
    scene = Scene()
    backend = {"metadata": {"name": "hpc", "uid": "b", "resourceVersion": "1"}, "spec": {}}
    said = [
        {"type": "Ready", "status": "False", "reason": "NodesNotReady"},
        {"type": "Reachable", "status": "True", "reason": "x"},
    ]
    nodes = [{"name": "hpc", "state": "NotReady"}]
    scene.context.cache.backends.put(
        backend | {"status": {"conditions": said, "nodes": nodes, "unconfirmedPods": [{"uid": "p"}]}}
    )
    scene.context.api.requests.update({("GET", "200"): 4, ("WATCH", "410"): 1, ("PATCH", "<error>"): 2})
    return Operator(scene.context)


def write_operators(operator: Operator) -> str:
    """Its page."""
    return gauges.write_page(operator.context, operator.queue, [item for guest in operator.guests for item in guest.measure()])


def build_syncer() -> Health:
    """A syncer with a queue and a watch."""
    health = Health(ServerHealth(datetime.timedelta(days=1)))
    watch = SimpleNamespace(kind=SimpleNamespace(plural="pods"), silence=12.5)
    health.caches = cast(Any, SimpleNamespace(host_side=[watch], nested_side=[]))
    health.clients = cast(Any, {"nested": SimpleNamespace(requests=Counter({("PATCH", "409"): 3}))})
    queue: WorkQueue[str] = WorkQueue(cast(Any, None))
    queue.add("apps/web")
    queue.done, queue.lag, queue.failed, queue.postponed = 4, 0.5, 2, 1
    health.queues = {"pods": queue}
    return health
