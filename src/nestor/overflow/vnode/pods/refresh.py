"""Keeps what pods were given up to date, at backends that can: tokens expire, and mounted files follow their ConfigMaps."""

from __future__ import annotations

import asyncio
import logging
import random
import time

from nestor.api.objects import Object, is_terminating
from nestor.overflow.vnode.backend.health import Health, describe
from nestor.overflow.vnode.pods.entry import Entry
from nestor.overflow.vnode.pods.inputs import read_inputs, read_whole
from nestor.overflow.vnode.pods.registry import Registry
from nestor.overflow.vnode.pods.trim import is_cut
from nestor.pods.providers.base import Refreshes
from nestor.pods.translate.references import find_references
from nestor.pods.translate.status import is_terminal
from nestor.pods.translate.volumes import find_tokens

log = logging.getLogger(__name__)

LOOK_SECONDS = 15.0
PERIOD_SECONDS = 600.0
"""Between two refreshes of one pod, unless its tokens expire too soon."""
FIRST_SECONDS = 60.0
"""Until the first one: an earlier process may have made the last one a while ago. They are spread over this time."""
SHARE = 3
"""Tokens are renewed when at most this part of their time is over."""


class Refresher:
    """Refreshes pods one after the other, each when it is due."""

    def __init__(self, refreshes: Refreshes, registry: Registry, health: Health) -> None:
        self._refreshes = refreshes
        self._registry = registry
        self._health = health
        self._due: dict[str, float] = {}

    async def run(self) -> None:
        """Refresh until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Refresh all pods that are due. What fails is tried again soon."""
        wanted = {entry.uid: entry for entry in self._registry if _is_of_interest(entry)}
        self._due = {uid: self._due.get(uid, time.monotonic() + random.uniform(0, FIRST_SECONDS)) for uid in wanted}
        for uid, entry in wanted.items():
            if self._health.is_answering and time.monotonic() >= self._due[uid]:
                self._due[uid] = time.monotonic() + await self._refresh(entry)

    async def _refresh(self, entry: Entry) -> float:
        """Seconds until the next time."""
        pod = entry.pod
        if pod is None or not _is_of_interest(entry):
            return 0.0
        try:
            whole = await read_whole(entry.home, pod)
            if whole is None or not _has_inputs(whole):
                return PERIOD_SECONDS
            inputs = await read_inputs(entry.home, whole, is_fresh=False)
            with self._health.noting():
                await self._refreshes.refresh(whole, inputs)
        except Exception as error:
            log.info("pod %s is not refreshed: %s", pod["metadata"]["name"], describe(error))
            return LOOK_SECONDS
        return find_period(whole) * random.uniform(0.8, 1.0)


def find_period(pod: Object) -> float:
    """Seconds between two refreshes of a pod."""
    shortest = min((token.expiration_seconds for token in find_tokens(pod)), default=None)
    return PERIOD_SECONDS if shortest is None else min(PERIOD_SECONDS, shortest / SHARE)


def _is_of_interest(entry: Entry) -> bool:
    """Whether the pod runs at the backend, and was given anything."""
    pod = entry.pod
    if pod is None or entry.is_over or is_terminating(pod) or is_terminal(pod) or entry.has_ended_there:
        return False
    is_there = entry.mark == "Accepted" and entry.there == "Present"
    return is_there and (is_cut(pod) or _has_inputs(pod))


def _has_inputs(pod: Object) -> bool:
    return bool(find_references(pod) or find_tokens(pod))
