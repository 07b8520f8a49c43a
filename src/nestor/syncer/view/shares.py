"""How much of each node the cluster can use. Each pod changes that of all nodes, so it is only looked at now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nestor.kube import Change, kinds
from nestor.objects import Object, spec_of, status_of
from nestor.syncer.view.caches import Caches
from nestor.translate import allocatable
from nestor.translate.gang_room import Amounts

FIRST_SECONDS, AGAIN_SECONDS, NODE_SECONDS = 0.5, 10.0, 0.1
"""Between a change and a look at it: at first, and after another look, there per node at least."""


class Shares:
    """What quotas and the cluster's own pods leave of nodes."""

    def __init__(self, caches: Caches) -> None:
        self._caches = caches
        self._left: Amounts = {}
        self._used: dict[str, Amounts] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._looked: float | None = None
        self._call: Callable[[], None] = lambda: None
        caches.host_quotas.on_change(lambda _: self._plan())
        caches.host(kinds.POD).on_change(self._on_pod)

    def on_turn(self, handler: Callable[[], None]) -> None:
        """Call `handler` after each look at changes."""
        self._call = handler

    def limit(self, node: Object) -> dict[str, str] | None:
        """What the cluster can use of a host node; None if that is all."""
        if self._looked is None and self._caches.host_quotas.synced.is_set():
            self._read()
        if not self._left:
            return None
        used = self._used.get(node["metadata"]["name"], {})
        return allocatable.limit(status_of(node).get("allocatable") or {}, self._left, used)

    def _on_pod(self, change: Change) -> None:
        nodes = {spec_of(pod).get("nodeName") for pod in (change.old, change.new)}
        if self._left and (len(nodes) > 1 or change.new is None):
            self._plan()

    def _plan(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            pause = max(AGAIN_SECONDS, NODE_SECONDS * len(self._caches.nested(kinds.NODE).store))
            due = self._looked + pause if self._looked is not None else 0.0
            self._timer = loop.call_later(max(FIRST_SECONDS, due - loop.time()), self._look)

    def _look(self) -> None:
        self._timer = None
        self._read()
        self._call()

    def _read(self) -> None:
        self._looked = asyncio.get_running_loop().time()
        self._left = allocatable.find_left(self._caches.host_quotas)
        self._used = allocatable.find_used(self._caches.host(kinds.POD))
