"""A cache of a kind that a cluster may not have, or that few ask for: nobody asks for its objects before they are wanted."""

import asyncio
import logging
from collections.abc import Callable

from nestor.kube.errors import ApiError
from nestor.kube.informer import LONGEST_PAUSE_SECONDS, Informer

log = logging.getLogger(__name__)


class OptionalInformer(Informer):
    """A cache that stays empty until it is wanted, and as long as its server does not have the kind.

    `found` is called if it is not wanted, but there are objects, as of a time when somebody wanted more.
    """

    found: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._wanted = asyncio.Event()
        self.answered = asyncio.Event()
        """Set once it is known what there is, or that the server does not have the kind."""

    def want(self) -> None:
        """Fill the cache from here on. What was wanted once is followed until the process ends: there may be objects of ours."""
        self._wanted.set()

    async def settle(self) -> None:
        """Return once that is known, or at once while nothing is wanted."""
        if self._wanted.is_set():
            await self.answered.wait()

    async def _list(self) -> None:
        await super()._list()
        self.answered.set()

    @property
    def is_expected(self) -> bool:
        return self.synced.is_set() or (self._wanted.is_set() and self.trouble is None)

    @property
    def silence(self) -> float:
        """Nothing, while nothing is expected."""
        return super().silence if self.synced.is_set() else 0.0

    async def run(self) -> None:
        """Keep the cache, once it is wanted."""
        if self.found is not None and not self._wanted.is_set() and await self._has_any():
            self.found()
        await self._wanted.wait()
        await super().run()

    @property
    def longest_pause(self) -> float:
        """As for a server that is far away: it may never have the kind."""
        return LONGEST_PAUSE_SECONDS

    def _complain(self, error: ApiError) -> None:
        self.answered.set()
        level = logging.DEBUG if self._failures else logging.WARNING
        log.log(level, "watching %s, and trying again: %s", self.kind.plural, error)

    async def _has_any(self) -> bool:
        try:
            found = await self.api.request("GET", self.kind.path(self.namespace), self._query() | {"limit": "1"})
        except ApiError:
            return False  # the server does not have the kind, or does not tell us
        return bool(found.get("items"))
