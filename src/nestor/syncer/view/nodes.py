"""The host's nodes, as far as the nested cluster uses or shows them."""

import asyncio
from collections.abc import Iterable

from nestor.api.objects import Object, without_managers
from nestor.kube import Change, Informer
from nestor.kube.informer import Key

WATCH_LIMIT = 50
"""Nodes that are watched one by one. Each watch has a connection; beyond this, one watch of all nodes costs less."""

_Query = tuple[str, str]
"""Selectors of a watch, for labels and for fields."""
_ALL: _Query = ("", "")
_UNUSED = ("images", "volumesInUse", "volumesAttached")


class HostNodes(Informer):
    """A cache of the nodes that are wanted or selected, and of no others: a large host has thousands, whose kubelets report all
    the time. Of each, only what is read is kept.

    A node that has just become wanted is not in it yet; `knows` says whether a missing one is really gone.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._wanted: frozenset[str] = frozenset()
        self._selector: str | None = None
        self._changed = asyncio.Event()
        self._watches: dict[_Query, Informer] = {}

    def want(self, names: Iterable[str]) -> None:
        """Keep exactly these nodes from now on, besides those that are selected."""
        wanted = frozenset(names)
        if wanted == self._wanted:
            return
        self._wanted = wanted
        for name in wanted:
            if ("", name) not in self.store and (found := self._find(("", name))):
                self._set(("", name), found)
        self._changed.set()

    def select(self, selector: str | None) -> None:
        """Keep the nodes that this label selector matches from now on, besides those that are wanted. None: no others."""
        if selector != self._selector:
            self._selector = selector
            self._changed.set()

    @property
    def is_complete(self) -> bool:
        return self._selector is None or (self._chosen is not None and self._chosen.synced.is_set())

    def knows(self, name: str) -> bool:
        """Whether the cache has this node if the host has it."""
        key = ("", name)
        if key in self.store:
            return True
        watches = [self._watches.get(_one(name)), self._watches.get(_ALL)]
        return name in self._wanted and any(watch is not None and watch.synced.is_set() for watch in watches)

    @property
    def watches(self) -> list[Informer]:
        return list(self._watches.values())

    @property
    def silence(self) -> float:
        """See `Informer.silence`: that of the watch which has been silent longest."""
        return max((watch.silence for watch in self._watches.values()), default=0.0)

    async def run(self) -> None:
        self.synced.set()  # nothing is wanted yet
        tasks: dict[_Query, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            while True:
                await self._changed.wait()
                self._changed.clear()
                queries = self._find_queries()
                for query in tasks.keys() - queries:
                    tasks.pop(query).cancel()
                    del self._watches[query]
                for query in queries - tasks.keys():
                    self._watches[query] = self._build(query)
                    tasks[query] = group.create_task(self._watches[query].run(), name=f"watch nodes {query}")
                self._forget()

    @property
    def _chosen(self) -> Informer | None:
        return self._watches.get((self._selector, "")) if self._selector is not None else None

    def _find_queries(self) -> set[_Query]:
        chosen = self._chosen
        queries: set[_Query] = set() if self._selector is None else {(self._selector, "")}
        rest = {name for name in self._wanted if chosen is None or ("", name) not in chosen.store}
        return queries | (set(map(_one, rest)) if len(rest) <= WATCH_LIMIT else {_ALL})

    def _build(self, query: _Query) -> Informer:
        watch = Informer(self.api, self.kind, labels=query[0], fields=query[1], trim=trim)
        watch.on_change(self._pass_on)
        return watch

    def _forget(self) -> None:
        """Drop nodes without telling: they are not gone, but no longer followed."""
        for key in [key for key in self.store if not self._keeps(key) or self._find(key) is None]:
            del self.store[key]

    def _keeps(self, key: Key) -> bool:
        chosen = self._chosen
        return key[1] in self._wanted or (chosen is not None and key in chosen.store)

    def _find(self, key: Key) -> Object | None:
        return next((watch.store[key] for watch in self._watches.values() if key in watch.store), None)

    def _pass_on(self, change: Change) -> None:
        # One that is no longer selected may still be wanted, and the other way round.
        new = change.new or self._find(change.key)
        if self._keeps(change.key) or (new is None and change.key in self.store):
            self._set(change.key, new, final=change.latest if new is None else None)
        if self._selector is not None and (change.old is None or change.new is None):
            self._changed.set()


def _one(name: str) -> _Query:
    return ("", f"metadata.name={name}")


def trim(node: Object) -> Object:
    """The node without lists of images and volumes, and without its fields' managers."""
    status = {key: value for key, value in (node.get("status") or {}).items() if key not in _UNUSED}
    return without_managers(node) | {"status": status}
