"""Cached objects by a key of their own, or their total size, so that nobody scans for them."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from nestor.api.objects import Object
from nestor.kube.informer import Change, Informer, Key

K = TypeVar("K", bound=Hashable)


class Index(Generic[K]):
    """The objects of one informer by what `key_of` finds in them; None leaves an object out.

    It hears of a change before the informer's other handlers, which find it up to date.
    """

    def __init__(self, informer: Informer, key_of: Callable[[Object], K | None]) -> None:
        self._key_of = key_of
        self._found: dict[K, dict[Key, Object]] = defaultdict(dict)
        self._keys: dict[Key, K] = {}
        """Where each object is: a change may move it, and a deletion may bring another key than the one it was found by."""
        for where, obj in informer.store.items():
            self._take(Change(where, None, obj))
        informer.on_change(self._take, first=True)

    def get(self, key: K) -> Object | None:
        """One object with that key, or None. Do not modify it."""
        return next(iter(self._found.get(key, {}).values()), None)

    def all(self, key: K) -> list[Object]:
        """All objects with that key. Do not modify them."""
        return list(self._found.get(key, {}).values())

    def _take(self, change: Change) -> None:
        key = self._key_of(change.new) if change.new is not None else None
        before = self._keys.get(change.key)
        if before is not None and before != key:
            del self._keys[change.key]
            del self._found[before][change.key]
            if not self._found[before]:
                del self._found[before]
        if key is not None and change.new is not None:
            self._keys[change.key] = key
            self._found[key][change.key] = change.new


class Total:
    """The sum of what `measure` finds in each object of some informers. It hears of changes as an `Index` does."""

    def __init__(self, informers: Iterable[Informer], measure: Callable[[Object], int]) -> None:
        self.value = 0
        self._measure = measure
        self._sizes: dict[tuple[str, Key], int] = {}
        self._followed: list[Informer] = []
        for informer in informers:
            self.follow(informer)

    def follow(self, informer: Informer) -> None:
        """Count another informer's objects, too. Once is enough."""
        if any(informer is other for other in self._followed):
            return
        self._followed.append(informer)
        for where, obj in informer.store.items():
            self._take(Change(where, None, obj))
        informer.on_change(self._take, first=True)

    def _take(self, change: Change) -> None:
        where = (change.latest.get("kind", ""), change.key)
        self.value -= self._sizes.pop(where, 0)
        if change.new is not None:
            self._sizes[where] = self._measure(change.new)
            self.value += self._sizes[where]
