"""Pods that may be at the backend although their host pods are gone: found where the backend can list its pods, and noted.

The OverflowBackend's status says which pods should have ended, so that the next process of these nodes asks on. A host pod that
is gone is known to nobody else, unless the backend can list its pods. What ends in time is never written.
"""

import asyncio
import logging
import time
from collections.abc import Callable

from nestor.api import times
from nestor.api.objects import Object, spec_of
from nestor.api.overflowbackend import LEFT_LIMIT, UnconfirmedPod
from nestor.kube import ApiError
from nestor.overflow.vnode.backend.health import Health, describe
from nestor.overflow.vnode.backend.view import BackendView
from nestor.overflow.vnode.pods.decide import ORPHAN_SECONDS
from nestor.overflow.vnode.pods.entry import Entry, Home, build_entry
from nestor.overflow.vnode.pods.registry import Registry
from nestor.pods.providers.base import Lists

log = logging.getLogger(__name__)

LOOK_SECONDS = 60.0
NOTE_SECONDS = 10.0
"""How long after its grace period a pod is noted."""
KEEP_SECONDS = 5.0


class OrphanFinder:
    """Has pods ended that belong to nobody. `find_nodes` returns all nodes of the backend, also those that are being removed."""

    def __init__(self, lists: Lists, registry: Registry, health: Health, find_nodes: Callable[[], frozenset[str]]) -> None:
        self._lists = lists
        self._registry = registry
        self._health = health
        self._find_nodes = find_nodes
        self._suspects: frozenset[str] = frozenset()

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Take those that nobody knew the last time either: a new pod may be at the backend before our caches show it.

        While the pods of one node are not known, every pod might be one of those.
        """
        if not self._registry.is_complete(self._find_nodes()):
            self._suspects = frozenset()
            return
        try:
            with self._health.noting():
                pods = {pod["metadata"]["uid"]: pod for pod in await self._lists.list()}
        except Exception as error:
            log.info("the backend's pods cannot be listed: %s", describe(error))
            return
        unknown = {uid: pod for uid, pod in pods.items() if self._registry.get(uid) is None}
        for uid in self._suspects & unknown.keys():
            meta = unknown[uid]["metadata"]
            log.warning("pod %s/%s at the backend has no host pod any more: it is ended", meta.get("namespace"), meta.get("name"))
            self._registry.adopt(build_entry(self._registry.homes[0], unknown[uid]))
        self._suspects = frozenset(unknown) - self._suspects


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
            if not is_restored and self._registry.is_complete(self._find_nodes()):
                self.restore()
                is_restored = True
            if is_restored:
                await self.keep()
            await asyncio.sleep(KEEP_SECONDS)

    def restore(self) -> None:
        """Have pods ended that were noted and whose host pods are gone by now."""
        for item in self._view.unconfirmed:
            self._since[item.uid] = item.since
            if self._is_needed and self._registry.get(item.uid) is None:
                log.info("pod %s/%s may be left at the backend: it is asked to end it", item.namespace, item.name)
                self._registry.adopt(_build_entry(self._registry.homes, item))

    async def keep(self) -> None:
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
    entry.gone_since = time.monotonic() - min(max(0.0, times.seconds_since(item.since)), ORPHAN_SECONDS)
    return entry
