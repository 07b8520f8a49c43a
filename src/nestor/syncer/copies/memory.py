"""Memory by key that can be forgotten again: messages told, and how often something was missed."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from nestor.kube import RetryLater

K = TypeVar("K", bound=Hashable)


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


class Patience(Generic[K]):
    """How often things were looked for in vain that may come in a moment."""

    def __init__(self, tries: int, seconds: float) -> None:
        self._tries = tries
        self._seconds = seconds
        self._misses: dict[K, int] = {}

    def wait(self, key: K, what: str) -> None:
        """Raises `RetryLater` after the first misses. Then it returns, and the next miss counts as the first."""
        misses = self._misses.pop(key, 0) + 1
        if misses <= self._tries:
            self._misses[key] = misses
            raise RetryLater(self._seconds, f"waiting for {what}")

    def forget(self, key: K) -> None:
        self._misses.pop(key, None)
