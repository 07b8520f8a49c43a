"""Pods for benchmarks: as large as those of real applications, with tokens, probes and variables."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable

from benchmarks.nested.site import SPACE
from nestor.api.objects import Object, status_of
from nestor.api.pod_status import is_terminal
from nestor.api.times import timestamp
from nestor.kube import Api, Change, Informer, kinds
from nestor.pods.translate.target import nested_uid
from tests.integration.syncer.world import World, running_status
from tests.waiting import eventually

_TOGETHER = 20
LIMIT = 600.0


def build_pod(name: str, namespace: str = SPACE) -> Object:
    """A pod with what Deployments of the usual charts have."""
    probe = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10, "timeoutSeconds": 2}
    container = {
        "name": "app",
        "image": "example/web:1",
        "env": [{"name": f"SETTING_{number}", "value": f"value-{number}"} for number in range(8)],
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
        "readinessProbe": probe,
        "livenessProbe": probe,
    }
    labels = {"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "shop", "app.kubernetes.io/version": "1"}
    meta = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], "restartPolicy": "Never"}}


def finished_status(host_pod: Object) -> Object:
    """What a kubelet reports when all has ended well."""
    status, now = running_status(host_pod), timestamp()
    for item in status["containerStatuses"]:
        item["state"] = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}}
        item |= {"ready": False, "started": False}
    for item in status["conditions"]:
        if item["type"] in ("Ready", "ContainersReady"):
            item |= {"status": "False", "reason": "PodCompleted"}
    return status | {"phase": "Succeeded"}


class Cluster:
    """Scheduler and kubelet of the host: a pod runs as soon as it is there, and ends as soon as it is deleted.

    `ran` and `seen` say when the kubelet reported that a pod runs, and when a watch of its user's showed it; by the UID that its
    user knows, which is that of the nested pod if there is one.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._host = Informer(world.host, kinds.POD, world.namespace)
        self._nested = Informer(world.nested, kinds.POD, SPACE)
        self._cluster = Informer(world.host, kinds.NESTED_CLUSTER, world.namespace)
        self._cluster.on_change(self._on_cluster)
        self.status_writes = 0
        """Of the NestedCluster, since it began to play."""
        self.ran: dict[str, float] = {}
        self.seen: dict[str, float] = {}
        self._events: dict[str, asyncio.Event] = {}
        self._begun: set[tuple[str, str]] = set()
        self._group: asyncio.TaskGroup | None = None
        self._host.on_change(self._on_host)
        self._nested.on_change(self._on_nested)

    @property
    def running(self) -> int:
        """Nested pods that run."""
        return sum(status_of(pod).get("phase") == "Running" for pod in self._nested)

    @property
    def ended(self) -> int:
        """Nested pods that have ended."""
        return sum(map(is_terminal, self._nested))

    @property
    def is_told_empty(self) -> bool:
        """Whether the NestedCluster's status, which is written a moment late, says that there are no pods."""
        return all(not any(status_of(item).get("pods", {}).get(key) for key in ("running", "waiting")) for item in self._cluster)

    @property
    def left(self) -> int:
        """Pods of both clusters."""
        return len(self._nested.store) + len(self._host.store)

    @property
    def host_pods(self) -> list[Object]:
        """Those of the host."""
        return list(self._host)

    async def run(self) -> None:
        """Play until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            group.create_task(self._host.run())
            group.create_task(self._nested.run())
            group.create_task(self._cluster.run())

    def _on_host(self, change: Change) -> None:
        pod = change.new
        if pod is None or self._group is None:
            return
        uid = pod["metadata"]["uid"]
        if not nested_uid(pod):
            self._see(pod)
        step = "end" if pod["metadata"].get("deletionTimestamp") else "run"
        if (uid, step) not in self._begun:
            self._begun.add((uid, step))
            self._group.create_task(self._world.finish(pod) if step == "end" else self._start(pod))

    async def _start(self, pod: Object) -> None:
        await self._world.schedule(pod)
        await self._world.report(pod, **running_status(pod))
        self.ran[nested_uid(pod) or pod["metadata"]["uid"]] = time.monotonic()

    def _on_cluster(self, change: Change) -> None:
        self.status_writes += change.old is not None

    def _on_nested(self, change: Change) -> None:
        if change.new is not None:
            self._see(change.new)

    def _see(self, pod: Object) -> None:
        if status_of(pod).get("phase") == "Running":
            uid = pod["metadata"]["uid"]
            self.seen.setdefault(uid, time.monotonic())
            self._shown(uid).set()

    def _shown(self, uid: str) -> asyncio.Event:
        return self._events.setdefault(uid, asyncio.Event())

    async def wait_for(self, uid: str) -> None:
        """Wait until a nested pod runs."""
        async with asyncio.timeout(LIMIT):
            await self._shown(uid).wait()

    def list_lags(self) -> list[float]:
        """Seconds between what a kubelet reported and what the nested cluster showed."""
        return [max(0.0, self.seen[uid] - at) for uid, at in self.ran.items() if uid in self.seen]


@contextlib.asynccontextmanager
async def playing(world: World) -> AsyncIterator[Cluster]:
    """Scheduler and kubelet for the length of a `with` block."""
    cluster = Cluster(world)
    task = asyncio.create_task(cluster.run())
    try:
        yield cluster
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def create(api: Api, names: Iterable[str]) -> None:
    """Nested pods, some at a time."""
    gate = asyncio.Semaphore(_TOGETHER)

    async def one(name: str) -> None:
        async with gate:
            await api.create(kinds.POD, build_pod(name))

    await asyncio.gather(*map(one, names))


async def until(check: Callable[[], bool]) -> None:
    """Wait until this is so."""

    async def look() -> bool:
        return check()

    await eventually(look, LIMIT)
