"""What the cluster's host pods use, by the host's metrics API."""

from __future__ import annotations

import asyncio
import time

from nestor.api.objects import Object
from nestor.kube import Api, ApiError, Kind, NotFound
from nestor.kube.kinds import right
from nestor.syncer.translate.metrics import GROUP, VERSION

POD_METRICS = Kind(GROUP, VERSION, "pods", "PodMetrics")
RIGHTS = (right(POD_METRICS, "list"),)
"""Permissions needed on the host."""

FRESH_SECONDS = 5.0
"""For which an answer is used again: hosts measure every 15 s at the most, and anybody in the nested cluster may ask."""


class NoMetrics(Exception):
    """The host does not tell, or not now. Says why."""


class HostUsage:
    """Asks for all pods of the cluster at once, and once for all who ask at the same time."""

    def __init__(self, host: Api, namespace: str, selector: str) -> None:
        self._host = host
        self._namespace = namespace
        self._selector = selector
        self._lock = asyncio.Lock()
        self._known: dict[str, Object] | NoMetrics = {}
        self._until = 0.0

    async def read(self) -> dict[str, Object]:
        """The PodMetrics by the names of host pods. Raises `NoMetrics`."""
        async with self._lock:
            if time.monotonic() >= self._until:
                self._known = await self._ask()
                self._until = time.monotonic() + FRESH_SECONDS
        if isinstance(self._known, NoMetrics):
            raise self._known
        return self._known

    async def _ask(self) -> dict[str, Object] | NoMetrics:
        try:
            found = await self._host.list(POD_METRICS, self._namespace, labels=self._selector)
        except NotFound:
            return NoMetrics("the host cluster has no metrics API (metrics.k8s.io): ask its administrator for metrics-server")
        except ApiError as error:
            return NoMetrics(f"the host cluster's metrics API does not answer: {error.message}")
        return {item["metadata"]["name"]: item for item in found}
