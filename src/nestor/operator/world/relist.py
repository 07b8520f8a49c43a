"""What kopf's watches cannot promise: that everything is known before the first decision, and that what went is noticed.

kopf watches each kind on its own, and says that it is ready before the first of them has delivered anything: after a restart
a job may be seen long before its class. And what was deleted while a watch was broken is never told. So the kinds are listed:
once before anything is decided, and now and then afterwards.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Iterable

from nestor.kube import Api, Kind
from nestor.kube.applier import RESYNC_SECONDS
from nestor.kube.errors import ApiError
from nestor.kube.informer import key_of
from nestor.objects import Object
from nestor.operator.world.cache import Store
from nestor.operator.world.kopf_events import Feeds, Handler

log = logging.getLogger(__name__)

SECOND_SECONDS = 30
"""When it is listed again after the start: what went before kopf's watches began would stay known until the next time."""
MOST_SECONDS = 5.0


class Lists:
    """Fills the stores that kopf's events keep fresh."""

    def __init__(self, api: Api, feeds: Feeds) -> None:
        self._api = api
        self._feeds = feeds
        self._listed = ""
        self.is_filled = asyncio.Event()

    async def fill(self, first_delay: float = 0.2) -> None:
        """Know every object. Tries for as long as it takes: the kinds may not be there yet."""
        delay = first_delay
        while not self.is_filled.is_set():
            try:
                await self._refresh_all()
                self.is_filled.set()
            except ApiError as error:
                # A CRD may be missing, which `helm upgrade` does not add.
                log.warning("%s cannot be listed, again in %.1f s: %s", self._listed, delay, error)
                await asyncio.sleep(delay)
                delay = min(MOST_SECONDS, 2 * delay)

    async def keep(self, delays: Iterable[float] | None = None) -> None:
        """List again now and then."""
        for delay in delays or itertools.chain((SECOND_SECONDS,), itertools.repeat(RESYNC_SECONDS)):
            await asyncio.sleep(delay)
            try:
                await self._refresh_all()
            except ApiError as error:
                log.info("%s could not be listed: %s", self._listed, error)

    async def _refresh_all(self) -> None:
        """First into the stores, all of it, then to the handlers: these look at several stores."""
        changes = []
        for kind, (store, tell) in self._feeds.items():
            self._listed = f"{kind.plural}.{kind.group}"
            changes.append((await _refresh(self._api, kind, store), tell))
        for objects, tell in changes:
            _tell_all(objects, tell)


async def _refresh(api: Api, kind: Kind, store: Store) -> list[Object]:
    """Put what is there, drop what is not; returns what is news. What the watch told meanwhile is newer than the list."""
    before = {key_of(obj): obj for obj in store}
    found = {key_of(obj): obj for obj in await api.list(kind)}
    news = []
    for (namespace, name), obj in found.items():
        known = before.get((namespace, name))
        if store.get(name, namespace) is known and (known is None or _version_of(known) != _version_of(obj)):
            store.put(obj)
            news.append(obj)
    gone = [obj for key, obj in before.items() if key not in found]
    for obj in gone:
        log.debug("%s %s went unseen", kind.name, "/".join(key_of(obj)))
        store.drop(obj)
    return news + gone


def _version_of(obj: Object) -> str:
    return str(obj["metadata"].get("resourceVersion", ""))


def _tell_all(objects: list[Object], tell: Handler) -> None:
    for obj in objects:
        tell(obj)
