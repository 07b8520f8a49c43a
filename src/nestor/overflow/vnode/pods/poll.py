"""Asks the backend about all of its pods, in one call per period."""

import asyncio
import logging
import time
from collections.abc import Callable

from nestor.api.objects import Object
from nestor.api.pod_status import is_terminal
from nestor.overflow.vnode.backend.health import Health, describe
from nestor.overflow.vnode.pods import decide
from nestor.overflow.vnode.pods.entry import Entry
from nestor.overflow.vnode.pods.registry import Registry
from nestor.pods.providers.base import Backend

log = logging.getLogger(__name__)

SHARE = 4
"""A call is followed by a pause of so many times its duration,"""
LONGEST_SECONDS = 15.0
"""but of no more than this: one that has hung says little about the next."""


class StatusPoller:
    """Keeps `Entry.remote` up to date. `on_change` is called with the UID of each pod of which there is news."""

    def __init__(
        self, backend: Backend, registry: Registry, health: Health, period: float, on_change: Callable[[str], None]
    ) -> None:
        self._backend = backend
        self._registry = registry
        self._health = health
        self._period = period
        self._on_change = on_change
        self.calls = 0

    async def run(self) -> None:
        while True:
            begin = time.monotonic()
            await self.ask()
            await asyncio.sleep(max(self._period, min(LONGEST_SECONDS, SHARE * (time.monotonic() - begin))))

    async def ask(self) -> None:
        """One call about all pods that may be there. What could not be learned stays as it was."""
        entries = [entry for entry in self._registry if self._is_of_interest(entry)]
        if not entries:
            return
        self.calls += 1
        try:
            with self._health.noting():
                found = await self._backend.statuses([_as_known(entry) for entry in entries])
        except Exception as error:
            log.info("no news of %d pods: %s", len(entries), describe(error))
            for entry in entries:
                entry.missing_since = None  # only what is missing from one answer after the other has gone
            return
        for entry in entries:
            self._take(entry, found.get(entry.uid))

    def _is_of_interest(self, entry: Entry) -> bool:
        if not entry.mark or entry.there == "Gone" or entry.is_creating:
            return False
        if entry.pod is None or not is_terminal(entry.pod) or entry.asked is not None:
            return True
        if entry.has_ended_there or entry.missing_since is None:
            return not entry.has_ended_there
        # What was given up may have been hidden only, as while a backend starts.
        return entry.is_lost and time.monotonic() - entry.missing_since > decide.LOST_SECONDS

    def _take(self, entry: Entry, found: Object | None) -> None:
        if entry.there == "Gone":
            return  # found out meanwhile
        if found is not None:
            if entry.note_status(found):
                self._on_change(entry.uid)
            return
        is_news = entry.missing_since is None
        if is_news or entry.is_lost:
            entry.missing_since = time.monotonic()
        if is_news:  # what is repeated for it has pauses of its own
            self._on_change(entry.uid)


def _as_known(entry: Entry) -> Object:
    """The pod with its last known status."""
    return entry.last if entry.remote is None else entry.last | {"status": entry.remote}
