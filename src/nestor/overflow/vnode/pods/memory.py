"""Notes in the OverflowBackend's status which pods should have ended, so that the next process of these nodes asks on.

A host pod that is gone is known to nobody else, unless the backend can list its pods. What ends in time is never written.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import time
from collections.abc import Callable

from nestor.api import times
from nestor.api.objects import Object, spec_of
from nestor.api.overflowbackend import LEFT_LIMIT, UnconfirmedPod
from nestor.kube import ApiError
from nestor.overflow.vnode.backend.view import BackendView
from nestor.overflow.vnode.pods.decide import ORPHAN_SECONDS
from nestor.overflow.vnode.pods.entry import Entry, Home, build_entry
from nestor.overflow.vnode.pods.registry import Registry

log = logging.getLogger(__name__)

NOTE_SECONDS = 10.0
"""How long after its grace period a pod is noted."""
LOOK_SECONDS = 5.0


class Memory:
    """`find_nodes` returns all nodes of the backend. `is_needed`: the backend cannot list its pods."""

    def __init__(
        self, view: BackendView, registry: Registry, find_nodes: Callable[[], frozenset[str]], *, is_needed: bool
    ) -> None:
        self._view = view
        self._registry = registry
        self._find_nodes = find_nodes
        self._is_needed = is_needed
        self._since: dict[str, str] = {}
        """When each of the noted pods was noted (RFC 3339), by UID."""

    async def run(self) -> None:
        """Take over what the last process has noted, once all pods are known; then keep the notes until cancelled."""
        is_restored = False
        while True:
            if not is_restored and self._is_complete():
                self.restore()
                is_restored = True
            if is_restored:
                await self.keep()
            await asyncio.sleep(LOOK_SECONDS)

    def _is_complete(self) -> bool:
        nodes = self._find_nodes()
        return bool(nodes) and nodes == self._registry.nodes

    def restore(self) -> None:
        """Have pods ended that were noted and whose host pods are gone by now."""
        for item in self._view.unconfirmed:
            self._since[item.uid] = item.since
            if self._is_needed and self._registry.get(item.uid) is None:
                log.info("pod %s/%s may be left at the backend: it is asked to end it", item.namespace, item.name)
                self._registry.adopt(_build_entry(self._registry.homes, item))

    async def keep(self) -> None:
        """Write the notes if they have changed."""
        self._view.unconfirmed = self._collect()
        try:
            await self._view.write()
        except ApiError as error:
            log.warning("pods that may be left at the backend were not noted: %s", error)

    def _collect(self) -> list[UnconfirmedPod]:
        """The oldest come first; if there are too many, the others are named by events only."""
        due = {entry.uid: entry for entry in self._registry if _is_due(entry)}
        self._since = {uid: self._since.get(uid) or times.timestamp() for uid in due}
        first = sorted(due, key=lambda uid: (self._since[uid], uid))[:LEFT_LIMIT]
        return [_note(due[uid], self._since[uid]) for uid in first]


def _is_due(entry: Entry) -> bool:
    """Whether it should have ended, and may be at the backend."""
    if entry.ending_since is None and entry.gone_since is None:
        return False
    facts = entry.read_facts(is_answering=True)
    return facts.is_there and facts.overdue > NOTE_SECONDS


def _note(entry: Entry, since: str) -> UnconfirmedPod:
    meta, spec = entry.last["metadata"], spec_of(entry.last)
    return UnconfirmedPod(
        uid=entry.uid,
        namespace=meta["namespace"],
        name=meta["name"],
        node=entry.home.node,
        containers=_list_names(spec, "containers"),
        init_containers=_list_names(spec, "initContainers"),
        since=since,
    )


def _list_names(spec: Object, group: str) -> list[str]:
    return [item["name"] for item in spec.get(group) or ()]


def _build_entry(homes: list[Home], item: UnconfirmedPod) -> Entry:
    """With what a backend needs to end a pod: some do so container by container."""
    home = next((home for home in homes if home.node == item.node), homes[0])
    spec: Object = {
        "nodeName": item.node,
        "restartPolicy": "Always",  # only an end that lasts counts as one
        "containers": [{"name": name} for name in item.containers],
        "initContainers": [{"name": name} for name in item.init_containers],
    }
    meta = {"namespace": item.namespace, "name": item.name, "uid": item.uid}
    entry = build_entry(home, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    entry.gone_since = time.monotonic() - min(max(0.0, _find_age(item.since)), ORPHAN_SECONDS)
    return entry


def _find_age(since: str) -> float:
    try:
        found = times.read(since)
    except ValueError:  # somebody else has written it
        return 0.0
    return (times.now() - found.replace(tzinfo=found.tzinfo or datetime.UTC)).total_seconds()
