"""Whether the kubelet should restart K3s's container: the probe of that container asks this process.

K3s renews its certificates only when it starts, and only those that end within 120 days. A K3s that never runs for longer than 90
days therefore never has one that has ended. Its data outlives the restart, even without a volume, and pods of the host go on.

K3s has no probe of its own that says more than that its port is open: without anonymous access, everything else takes a client
certificate, which the kubelet does not have. This process has one.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
from collections.abc import Awaitable, Callable

from nestor.api import names, times
from nestor.api.objects import Object, status_of
from nestor.kube import Api, ApiError, kinds

SILENT_SECONDS = 300.0
"""How long the API server may leave all health checks unanswered, also after its start."""

_CHECK_SECONDS = 60.0

log = logging.getLogger(__name__)


class ServerHealth:
    """Collects what there is to know of K3s, and judges it."""

    def __init__(self, limit: datetime.timedelta, clock: Callable[[], datetime.datetime] = times.now) -> None:
        self._limit = limit
        self._clock = clock
        self._answered = clock()
        self.started: datetime.datetime | None = None
        """When its container started, if known."""

    def note_answer(self) -> None:
        self._answered = self._clock()

    def find_problem(self) -> str | None:
        """Why K3s should be restarted, if it should."""
        return find_problem(self.started, self._answered, self._clock(), self._limit)

    @property
    def interval(self) -> float:
        """Seconds between two looks at the container."""
        return min(_CHECK_SECONDS, self._limit.total_seconds() / 10)


def find_problem(
    started: datetime.datetime | None, answered: datetime.datetime, now: datetime.datetime, limit: datetime.timedelta
) -> str | None:
    """Why K3s should be restarted, if it should. Pure."""
    if started is not None and now - started > limit:
        return "it must renew its certificates, which it does only when it starts"
    since = max(answered, started) if started is not None else answered
    if now - since > datetime.timedelta(seconds=SILENT_SECONDS):
        return f"its API has not answered since {times.write(since)}"
    return None


async def watch(
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
