"""Whoever looks at the page: their connection to the cluster, where they act unless they say otherwise, and their watches.

One watch for each list of objects, however many tabs look at it, and none when nobody does.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from nestor.api.objects import Object, without_managers
from nestor.kube import Api, ApiError, Change, Informer, Kind, UserContext, kinds
from nestor.kube.pages import Trim

KEEP_SECONDS = 30.0
"""How long a watch outlives the last page that used it: people click from one page to the next."""
FIRST_SECONDS = 20.0
WATCHES = 100
"""So many different ones at a time, which is enough for `STREAMS` pages of jobs."""
STREAMS = 20
"""So many pages and outputs of one identity are kept up to date at a time: each costs the server work at every change."""


@dataclass(frozen=True)
class List:
    """What is watched."""

    kind: Kind
    namespace: str | None = None
    labels: str = ""
    fields: str = ""
    trim: Trim = without_managers
    """What is kept of each object."""


@dataclass
class _Watch:
    informer: Informer
    task: asyncio.Task[None]
    listeners: list[Callable[[], None]] = field(default_factory=list)
    ending: asyncio.TimerHandle | None = None


class Hub:
    """The watches of one identity."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._watches: dict[List, _Watch] = {}

    @property
    def is_busy(self) -> bool:
        """Whether a page is open that uses one."""
        return any(watch.listeners for watch in self._watches.values())

    @asynccontextmanager
    async def use(self, item: List, on_change: Callable[[], None]) -> AsyncIterator[Informer]:
        """The cache of a list, filled, for the length of a `with` block. Raises `ApiError`, such as `Forbidden`."""
        watch = self._watches.get(item) or self._start(item)
        if watch.ending is not None:
            watch.ending.cancel()
            watch.ending = None
        watch.listeners.append(on_change)
        try:
            await self._check(item, watch)
            yield watch.informer
        finally:
            watch.listeners.remove(on_change)
            if not watch.listeners and self._watches.get(item) is watch:
                watch.ending = asyncio.get_running_loop().call_later(KEEP_SECONDS, self._end, item)

    def _start(self, item: List) -> _Watch:
        if len(self._watches) >= WATCHES:
            idle = next((key for key, watch in self._watches.items() if not watch.listeners), None)
            if idle is None:
                raise ApiError(429, "TooManyRequests", "too many different pages are open at the same time: close some of them")
            self._end(idle)
        informer = Informer(self._api, item.kind, item.namespace, labels=item.labels, fields=item.fields, trim=item.trim)
        watch = self._watches[item] = _Watch(informer, asyncio.create_task(informer.run()))

        def tell(_: Change) -> None:
            for listener in watch.listeners:
                listener()

        informer.on_change(tell)
        return watch

    async def _check(self, item: List, watch: _Watch) -> None:
        """An informer tries again for ever; here, somebody waits for an answer."""
        informer = watch.informer
        if informer.synced.is_set() and (informer.trouble is None or informer.trouble.is_transient):
            return
        synced = asyncio.create_task(informer.synced.wait())
        try:
            await self._api.request("GET", item.kind.path(item.namespace), {"limit": "1"})
            async with asyncio.timeout(FIRST_SECONDS):
                await synced
        except ApiError:
            if self._watches.get(item) is watch and len(watch.listeners) == 1:
                self._end(item)
            raise
        finally:
            synced.cancel()

    def _end(self, item: List) -> None:
        watch = self._watches.pop(item, None)
        if watch is None:
            return
        if watch.ending is not None:
            watch.ending.cancel()
        watch.task.cancel()

    async def close(self) -> None:
        tasks = [watch.task for watch in self._watches.values()]
        for item in list(self._watches):
            self._end(item)
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass
class Visitor:
    api: Api
    hub: Hub
    context: UserContext
    name: str
    """As the API server knows them; empty if it does not say."""
    is_shared: bool = False
    """Whether the server is everybody's, instead of one that the user has started."""
    streams: int = 0
    """Pages and outputs that are kept up to date."""

    @property
    def is_busy(self) -> bool:
        """Whether a page is open that uses a watch, or an output."""
        return bool(self.streams) or self.hub.is_busy

    async def offer(self, kind: Kind, most: int = 200) -> list[Object]:
        """What there is to choose from; nothing for whoever may not see it, and then types a name."""
        try:
            found = await self.api.request("GET", kind.path(), {"limit": str(most)})
        except ApiError:
            return []
        return [item for item in found.get("items") or () if isinstance(item, dict)]

    async def offer_namespaces(self) -> list[str]:
        return sorted(item["metadata"]["name"] for item in await self.offer(kinds.NAMESPACE, 500))


Find = Callable[[web.Request], Awaitable[Visitor]]
"""Tells who sent a request. Raises `Refused` if nobody may have."""
FIND: web.AppKey[Find] = web.AppKey("find")


def find_always(visitor: Visitor) -> Find:
    """Everybody who has the cookie is the one who started the server."""

    async def find(_request: web.Request) -> Visitor:
        return visitor

    return find


VISITOR = web.RequestKey("visitor", Visitor)
"""Who has sent the request, once anybody has asked."""


async def find_visitor(request: web.Request) -> Visitor:
    request[VISITOR] = visitor = await request.app[FIND](request)
    return visitor
