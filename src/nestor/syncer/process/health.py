"""`/readyz`, `/healthz` and `/metrics`, and the health check of the nested API server."""

import asyncio
import contextlib
import datetime
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from operator import attrgetter
from typing import Any

import aiohttp

from nestor.api import names, times
from nestor.api.contracts.syncer import SERVER_PATH
from nestor.api.objects import Object, status_of
from nestor.kube import Api, ApiError, Informer, WorkQueue, kinds
from nestor.kube.serving import pages
from nestor.kube.serving.pages import METRICS, STALE_SECONDS, Family, Pages, Samples
from nestor.syncer.cluster.status import ClusterStatus
from nestor.syncer.view.caches import Caches
from nestor.syncer.view.nodes import HostNodes

log = logging.getLogger(__name__)

SILENT_SECONDS = 300.0
"""How long the API server may leave all health checks unanswered, also after its start."""
_CHECK_SECONDS, _CALM_SECONDS, _SERVER_SECONDS = 2, 10, 60.0
"""Between two looks at the nested API, at one that is well, and at the container of K3s."""
_DNS_SECONDS = 0.1
_FAILURES = 3
_MESSAGE_LIMIT = 500
"""Characters of what a tenant's admission policy says."""
_PREFIX = "nestor_syncer"
_OF_QUEUES: Any = (
    ("queue_length", "gauge", "Objects that wait for a queue's workers, or are with them.", len),
    (
        "lag_seconds",
        "summary",
        "From when a change was seen until it was synced to the other cluster, without waiting for other objects.",
        attrgetter("lag"),
        attrgetter("done"),
    ),
    ("oldest_change_seconds", "gauge", "Age of the oldest change that is not synced yet.", attrgetter("oldest")),
    ("failures_total", "counter", "Attempts to carry a change that failed.", attrgetter("failed")),
    (
        "postponed_total",
        "counter",
        "Changes that had to wait for something else, or for the pace that the host is spared with.",
        attrgetter("postponed"),
    ),
)
"""Name, type and words of a metric, and what of a queue it shows; of a summary, also the number of observations."""
_COUNTERS = {
    "service_addresses_reserved": "Addresses that were found for Services before these were created.",
    "service_addresses_missed": "Services that were created without one.",
}
_ALIVE = (401, 403)
"""Statuses of a server that works but does not take our certificate yet, as after a rotation: no restart would help."""


class ServerHealth:
    """Whether the kubelet should restart K3s's container: the probe of that container asks this process.

    K3s renews its certificates only when it starts, and only those that end within 120 days. A K3s that never runs for longer
    than 90 days therefore never has one that has ended. Its data outlives the restart, even without a volume, and pods of the
    host go on.

    K3s has no probe of its own that says more than that its port is open: without anonymous access, everything else takes a
    client certificate, which the kubelet does not have. This process has one.
    """

    def __init__(self, limit: datetime.timedelta, clock: Callable[[], datetime.datetime] = times.now) -> None:
        self._limit = limit
        self._clock = clock
        self._answered = clock()
        self.started: datetime.datetime | None = None
        """When its container started, if known."""

    def note_answer(self) -> None:
        self._answered = self._clock()

    def find_problem(self) -> str | None:
        started, now = self.started, self._clock()
        if started is not None and now - started > self._limit:
            return "it must renew its certificates, which it does only when it starts"
        since = max(self._answered, started) if started is not None else self._answered
        if now - since > datetime.timedelta(seconds=SILENT_SECONDS):
            return f"its API has not answered since {times.write(since)}"
        return None

    @property
    def interval(self) -> float:
        """Seconds between two looks at the container."""
        return min(_SERVER_SECONDS, self._limit.total_seconds() / 10)


class Health:
    """The state of the process; filled in as it starts."""

    def __init__(self, server: ServerHealth) -> None:
        self.server = server
        self.working = False
        """Caches are synced and workers are running."""
        self.nested_ok = False
        self.caches: Caches | None = None
        self.queues: Mapping[str, WorkQueue[Any]] = {}
        self.clients: Mapping[str, Api] = {}
        self.counters: Mapping[str, Callable[[], int]] = {}
        self._admin_problem = ""

    def note_admin(self, problem: str) -> None:
        """Note why the admins of the nested cluster could not be given their rights; empty if they have them."""
        self._admin_problem = problem[:_MESSAGE_LIMIT]

    def describe(self) -> str:
        text = "The API server is up and pods run in the host cluster."
        return f"{text} The rights of its admins could not be set up: {self._admin_problem}" if self._admin_problem else text

    @property
    def is_ready(self) -> bool:
        """True if pods created now will run."""
        return self.working and self.nested_ok

    @property
    def silence(self) -> float:
        """Seconds since the watch that has been silent longest, of those that are needed, was last heard from."""
        caches = self.caches.needed if self.caches is not None and self.working else ()
        return max((informer.silence for informer in caches), default=0.0)

    def write_caches(self) -> str:
        """See `nestor.kube.serving.pages`."""
        sides = {"host": self.caches.host_side, "nested": self.caches.nested_side} if self.caches else {}
        found = {side: [part for item in informers for part in _find_parts(item)] for side, informers in sides.items()}
        return pages.write_caches(found, self.queues.values())

    def metrics(self) -> str:
        return pages.write_metrics(self._measure())

    def _measure(self) -> Iterator[Family]:
        sides = (("host", self.caches.host_side), ("nested", self.caches.nested_side)) if self.caches else ()
        silence = {(side, item.kind.plural): item.silence for side, informers in sides for item in informers}
        sent: Samples = {(side, *key): number for side, client in self.clients.items() for key, number in client.requests.items()}
        yield Family(f"{_PREFIX}_ready", "gauge", "Whether pods that are created now will run.", (), {(): self.is_ready})
        for name, kind, words, *reads in _OF_QUEUES:
            samples = [{(queue,): read(item) for queue, item in self.queues.items()} for read in reads]
            yield Family(f"{_PREFIX}_{name}", kind, words, ("queue",), *samples)
        words = "Since the server last said anything in a watch: an event, a bookmark, or a list."
        yield Family(f"{_PREFIX}_watch_silence_seconds", "gauge", words, ("side", "resource"), silence)
        words = "Requests to the API server of the host, or the nested one."
        yield Family(f"{_PREFIX}_requests_total", "counter", words, ("side", "method", "code"), sent)
        for name, words in _COUNTERS.items():
            yield Family(f"{_PREFIX}_{name}_total", "counter", words, (), {(): self.counters.get(name, int)()})


def _find_parts(informer: Informer) -> list[Informer]:
    """Those of which each holds what one list would give. A kind that nobody wants, or that is not there, has none."""
    if isinstance(informer, HostNodes):
        return informer.watches
    return [informer] if informer.is_expected else []


async def serve(health: Health, port: int) -> None:
    probes = {
        "/readyz": lambda: None if health.is_ready else "not ready",
        "/healthz": lambda: None if health.silence < STALE_SECONDS else "a watch went silent",
        SERVER_PATH: health.server.find_problem,
    }
    await Pages(probes, {METRICS: health.metrics, pages.CACHES: health.write_caches}).serve(port)


async def wait_for_dns(url: str) -> None:
    """Wait until the cluster's DNS server can resolve names. Without `url`, it is not waited for."""
    if not url:
        return
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_CHECK_SECONDS)) as session:
        while True:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with session.get(url) as answer:
                    if answer.status == 200:
                        return
            await asyncio.sleep(_DNS_SECONDS)


async def watch_nested(nested: Api, health: Health, status: ClusterStatus, basics: Coroutine[Any, Any, None]) -> None:
    """Check the nested API server's health and report it in the NestedCluster's status, until cancelled.

    The cluster counts as ready only after `basics`, but its API server is checked from the beginning.
    """
    async with asyncio.TaskGroup() as group:
        preparing = group.create_task(basics)
        await asyncio.wait([preparing], timeout=_DNS_SECONDS)
        if not preparing.done():
            status.set_ready(ready=False, message="The API server is up; nodes or DNS are not ready yet.")
        await _check_nested(nested, health, status, preparing)


async def _check_nested(nested: Api, health: Health, status: ClusterStatus, preparing: asyncio.Task[None]) -> None:
    failures, text = 0, ""
    while True:
        try:
            await nested.request("GET", "/readyz", timeout=_CHECK_SECONDS)
            health.server.note_answer()
            failures, message = 0, ""
        except ApiError as error:
            failures, message = failures + 1, error.message
            if error.status in _ALIVE:
                health.server.note_answer()
        if not preparing.done():
            await asyncio.wait([preparing], timeout=_CHECK_SECONDS)
            continue
        if failures in (0, _FAILURES):
            health.nested_ok = failures == 0
            text = message if failures else health.describe()
        if failures == 0 or failures >= _FAILURES:
            # Its kubelet only says that a probe failed.
            problem = health.server.find_problem()
            message = f"{text.rstrip('.')}. K3s will be restarted: {problem}." if problem else text
            status.set_ready(ready=health.is_ready, message=message)
        await asyncio.sleep(_CHECK_SECONDS if failures else _CALM_SECONDS)


async def watch_server(
    host: Api, namespace: str, cluster: str, health: ServerHealth, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
) -> None:
    """Keep `health.started` up to date until cancelled. What is known stays known while the host's API does not answer."""
    told: str | None = None
    while True:
        try:
            pod = await host.find(kinds.POD, names.server_pod(cluster), namespace)
            health.started = find_start(pod) or health.started
        except ApiError as error:
            log.info("cannot see when the API server was started: %s", error.message)
        problem = health.find_problem()
        if problem and problem != told:
            log.warning("K3s will be restarted: %s", problem)
        told = problem
        await sleep(health.interval)


def find_start(pod: Object | None) -> datetime.datetime | None:
    """When K3s's container in the server's pod started; None while it does not run."""
    for status in status_of(pod).get("containerStatuses") or ():
        running = (status.get("state") or {}).get("running")
        if status["name"] == names.SERVER_CONTAINER and running:
            return times.read(running["startedAt"])
    return None
