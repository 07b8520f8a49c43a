"""Memory by key that can be forgotten again: messages told, what was used last, and how often something was missed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from nestor.kube import RetryLater

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Told(Generic[K]):
    """The last message about each key, so that nothing is reported twice in a row."""

    def __init__(self) -> None:
        self._told: dict[K, object] = {}

    def is_news(self, key: K, message: object) -> bool:
        """True if `message` differs from the last one; remembers it."""
        is_news = self._told.get(key) != message
        self._told[key] = message
        return is_news

    def forget(self, key: K) -> None:
        """Forget the last message: if it comes again, it is news."""
        self._told.pop(key, None)

    def __len__(self) -> int:
        return len(self._told)


class Recent(Generic[K, V]):
    """At most `limit` values, by key: those that were set or read last."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key]

    def set(self, key: K, value: V) -> None:
        """Remember it, and forget the one that has not been used for longest if there are too many."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._limit:
            self._values.popitem(last=False)

    def forget(self, key: K) -> None:
        self._values.pop(key, None)

    def __len__(self) -> int:
        return len(self._values)


_MISSED = 10_000
"""More than are looked for at a time: of those that were forgotten in between, none would come to an end."""


class Patience(Generic[K]):
    """How often things were looked for in vain that may come in a moment."""

    def __init__(self, tries: int, seconds: float) -> None:
        self._tries = tries
        self._seconds = seconds
        self._misses: Recent[K, int] = Recent(_MISSED)

    def wait(self, key: K, what: str) -> None:
        """Raises `RetryLater` after the first misses. Then it returns, and the next miss counts as the first."""
        misses = (self._misses.get(key) or 0) + 1
        if misses <= self._tries:
            self._misses.set(key, misses)
            raise RetryLater(self._seconds, f"waiting for {what}")
        self._misses.forget(key)

    def forget(self, key: K) -> None:
        self._misses.forget(key)
