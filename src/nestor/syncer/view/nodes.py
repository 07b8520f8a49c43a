"""The host's nodes, as far as the nested cluster uses them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from nestor.kube import Change, Informer
from nestor.kube.informer import Key
from nestor.objects import Object

WATCH_LIMIT = 50
"""Nodes that are watched one by one. Each watch has a connection; beyond this, one watch of all nodes costs less."""

_ALL = ""
_UNUSED = ("images", "volumesInUse", "volumesAttached")


class NodesInUse(Informer):
    """A cache of the nodes that are wanted, and of no others: a large host has thousands, whose kubelets report all the time.

    A node that has just become wanted is not in it yet; `knows` says whether a missing one is really gone.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._wanted: frozenset[str] = frozenset()
        self._changed = asyncio.Event()
        self._watches: dict[str, Informer] = {}

    def want(self, names: Iterable[str]) -> None:
        """Keep exactly these nodes from now on."""
        wanted = frozenset(names)
        if wanted == self._wanted:
            return
        self._wanted = wanted
        if _ALL in self._watches:
            for node in self._watches[_ALL]:
                self._pass_on(Change(("", node["metadata"]["name"]), None, node))
        self._changed.set()

    def knows(self, name: str) -> bool:
        """Whether the cache has this node if the host has it."""
        watch = self._watches.get(name) or self._watches.get(_ALL)
        return name in self._wanted and watch is not None and watch.synced.is_set()

    @property
    def silence(self) -> float:
        """See `Informer.silence`: that of the watch which has been silent longest."""
        return max((watch.silence for watch in self._watches.values()), default=0.0)

    async def run(self) -> None:
        """Keep the watches running until cancelled."""
        self.synced.set()  # nothing is wanted yet
        tasks: dict[str, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            while True:
                await self._changed.wait()
                self._changed.clear()
                names = self._wanted if len(self._wanted) <= WATCH_LIMIT else frozenset({_ALL})
                for name in tasks.keys() - names:
                    tasks.pop(name).cancel()
                    del self._watches[name]
                    self._forget(name)
                for name in names - tasks.keys():
                    self._watches[name] = watch = _Lean(self.api, self.kind, fields=f"metadata.name={name}" if name else "")
                    watch.on_change(self._pass_on)
                    tasks[name] = group.create_task(watch.run(), name=f"watch node {name}")
                self._forget(*(key[1] for key in self.store if key[1] not in self._wanted))

    def _forget(self, *names: str) -> None:
        """Drop nodes without telling: they are not gone, but no longer followed. `_ALL` stands for all."""
        for key in [key for key in self.store if key[1] in names or _ALL in names]:
            del self.store[key]

    def _pass_on(self, change: Change) -> None:
        if change.key[1] in self._wanted:
            self._set(change.key, change.new, final=change.latest)


class _Lean(Informer):
    """Keeps nodes without what nobody reads: most of their bytes."""

    def _set(self, key: Key, new: Object | None, *, final: Object | None = None) -> None:
        super()._set(key, trim(new) if new is not None else None, final=final)


def trim(node: Object) -> Object:
    """The node without lists of images and volumes, and without its fields' managers."""
    meta = {key: value for key, value in node["metadata"].items() if key != "managedFields"}
    status = {key: value for key, value in (node.get("status") or {}).items() if key not in _UNUSED}
    return node | {"metadata": meta, "status": status}
