"""Since when the cluster's pods have done nothing, for jobs that may be put to sleep."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from nestor.api.objects import Object
from nestor.api.pod_status import is_terminal
from nestor.api.quantities import parse_quantity
from nestor.api.times import timestamp
from nestor.kube import kinds
from nestor.syncer.metrics.api import MetricsApi, NoMetrics
from nestor.syncer.suspend.jobs import is_finished
from nestor.syncer.view.caches import Caches

PAUSE_SECONDS = 15.0
"""As often as hosts measure. Metrics cannot be watched."""
LEAST = Decimal("0.01")
"""CPUs: a pod that uses less does nothing but wait."""


def is_idle(pods: Iterable[Object], usages: Mapping[str, Object], jobs: Iterable[Object]) -> bool:
    """Whether all pods wait for work. `pods`: those in the host; `usages`: the host's PodMetrics by their names; `jobs`: also
    CronJobs. Pure.

    Nobody knows that of a pod that is not measured, as one at a backend is not. A CronJob would wait for the next request.
    """
    running = [pod["metadata"]["name"] for pod in pods if not is_terminal(pod)]
    if not running or any(not is_finished(job) and not job["spec"].get("suspend") for job in jobs):
        return False
    return all(name in usages and _measure(usages[name]) < LEAST for name in running)


def _measure(usage: Object) -> Decimal:
    """CPUs."""
    said = (str((item.get("usage") or {}).get("cpu", "0")) for item in usage.get("containers") or ())
    return sum(map(parse_quantity, said), Decimal(0))


class IdleMeter:
    """Looks while the cluster's policy wants that, and calls `publish` with the time, or with None."""

    def __init__(self, caches: Caches, metrics: MetricsApi, publish: Callable[[str | None], None]) -> None:
        self._caches = caches
        self._metrics = metrics
        self._publish = publish

    async def run(self) -> None:
        since: str | None = None
        while True:
            since = (since or timestamp()) if await self._is_idle() else None
            self._publish(since)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _is_idle(self) -> bool:
        caches = self._caches
        if not caches.policy.measures_idle or caches.is_suspended:
            return False
        try:
            usages = await self._metrics.read_usages()
        except NoMetrics:
            return False
        return is_idle(caches.host(kinds.POD), usages, [*caches.nested(kinds.JOB), *caches.nested(kinds.CRON_JOB)])
