"""Carries later changes of host pods to the backend: labels, annotations, images, deadlines, debug containers, resources."""

import time
from collections.abc import Iterator

from nestor.api.objects import Object
from nestor.kube import RetryLater
from nestor.overflow.statuses import MESSAGE_LIMIT
from nestor.overflow.vnode.backend.health import Health
from nestor.overflow.vnode.pods.entry import Entry
from nestor.overflow.vnode.pods.inputs import fill, read_whole
from nestor.overflow.vnode.pods.trim import NO_DEBUG, find_changeable, find_excess
from nestor.overflow.vnode.pods.writer import PodWriter
from nestor.pods.providers.base import Backend, Updates
from nestor.pods.providers.errors import NotFound, NotYet, cut

REFUSED = "PodUpdateRefused"
"""Reason of the event about a change that the backend does not take, as where a pod's own API server does not."""
RETRY_SECONDS = 60.0
"""How long after a refusal the same change is tried again: quotas there may have been raised."""

_NOT_YET_SECONDS = 1.0


class PodChanger:
    """Level-triggered: what differs from the pod at the backend is sent. A process that is new compares once."""

    def __init__(self, backend: Backend, name: str, health: Health, writer: PodWriter) -> None:
        self._backend = backend
        self._name = name
        self._health = health
        self._writer = writer

    async def carry(self, entry: Entry) -> None:
        """Bring the pod at the backend up to date. What is refused is told, and tried again (`find_due`).

        Raises `RetryLater` and `ProviderError`.
        """
        pod = entry.pod
        if pod is None or entry.mark != "Accepted" or entry.there != "Present" or entry.has_ended_there:
            return
        wanted = find_changeable(pod)
        if wanted == entry.carried or (wanted == entry.rejected and time.monotonic() < entry.rejected_until):
            return
        updates = self._backend.updates
        try:
            if excess := find_excess(pod):
                refused = [excess]
            elif updates is None:
                refused = list(self._find_impossible(entry, wanted))
            else:
                refused = await self._send(updates, entry, pod)
        except NotFound:
            return  # the next answer about all pods tells
        except NotYet as error:
            raise RetryLater(_NOT_YET_SECONDS, error.message) from None
        if refused and updates is not None:
            entry.rejected, entry.rejected_until = wanted, time.monotonic() + RETRY_SECONDS
        else:
            entry.carried, entry.rejected = wanted, None
        await self._writer.tell_news(entry, REFUSED, cut("; ".join(refused), MESSAGE_LIMIT))

    def find_due(self, entry: Entry) -> float | None:
        """Seconds until a refused change is tried again. None: there is none."""
        left = entry.rejected_until - time.monotonic()
        return left if entry.rejected is not None and left > 0 else None

    async def _send(self, updates: Updates, entry: Entry, kept: Object) -> list[str]:
        pod = await read_whole(entry.home, kept)
        if pod is None:
            return []  # the watch is about to say that it is gone
        filled = fill(pod)
        with self._health.noting():
            return await updates.update(filled)

    def _find_impossible(self, entry: Entry, wanted: Object) -> Iterator[str]:
        """What the owner has to be told at a backend that cannot change pods. Labels and annotations are nobody's loss."""
        before = entry.carried or wanted | {"debug": NO_DEBUG}
        if (before["spec"], before["debug"]) != (wanted["spec"], wanted["debug"]):
            yield f"Backend '{self._name}' cannot change pods that run there: the pod stays unchanged"
