"""Guarantees what kopf's watches do not: that everything is known before the first decision, and that deletions are noticed.

kopf watches each kind separately and reports ready before any watch has delivered anything, so after a restart, a job may be
seen long before its class. And an object deleted while a watch was broken is never reported. So all kinds are listed: once
before the first decision, and periodically afterwards.
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
"""When to list again after the start: what was deleted before kopf's watches started would otherwise stay known for long."""
MOST_SECONDS = 5.0


class Lists:
    """Fills the stores that kopf's events keep up to date."""

    def __init__(self, api: Api, feeds: Feeds) -> None:
        self._api = api
        self._feeds = feeds
        self._listed = ""
        self.is_filled = asyncio.Event()

    async def fill(self, first_delay: float = 0.2) -> None:
        """List every object. Retries for as long as it takes: the CRDs may not exist yet."""
        delay = first_delay
        while not self.is_filled.is_set():
            try:
                await self._refresh_all()
                self.is_filled.set()
            except ApiError as error:
                # A CRD may be missing: `helm upgrade` does not add CRDs.
                log.warning("cannot list %s, retrying in %.1f s: %s", self._listed, delay, error)
                await asyncio.sleep(delay)
                delay = min(MOST_SECONDS, 2 * delay)

    async def keep(self, delays: Iterable[float] | None = None) -> None:
        """List again periodically."""
        for delay in delays or itertools.chain((SECOND_SECONDS,), itertools.repeat(RESYNC_SECONDS)):
            await asyncio.sleep(delay)
            try:
                await self._refresh_all()
            except ApiError as error:
                log.info("could not list %s: %s", self._listed, error)

    async def _refresh_all(self) -> None:
        """Update all stores first, then call the handlers, because these look at several stores."""
        changes = []
        for kind, (store, tell) in self._feeds.items():
            self._listed = f"{kind.plural}.{kind.group}"
            changes.append((await _refresh(self._api, kind, store), tell))
        for objects, tell in changes:
            _tell_all(objects, tell)


async def _refresh(api: Api, kind: Kind, store: Store) -> list[Object]:
    """Store what exists, drop what does not; returns the changes. What the watch delivered meanwhile is newer than the list."""
    before = {key_of(obj): obj for obj in store}
    found = {key_of(obj): obj for obj in await api.list(kind)}
    store.note_contact()
    news = []
    for (namespace, name), obj in found.items():
        known = before.get((namespace, name))
        if store.get(name, namespace) is known and (known is None or _version_of(known) != _version_of(obj)):
            store.put(obj)
            news.append(obj)
    gone = [obj for key, obj in before.items() if key not in found]
    for obj in gone:
        log.debug("%s %s was deleted unnoticed", kind.name, "/".join(key_of(obj)))
        store.drop(obj)
    return news + gone


def _version_of(obj: Object) -> str:
    return str(obj["metadata"].get("resourceVersion", ""))


def _tell_all(objects: list[Object], tell: Handler) -> None:
    for obj in objects:
        tell(obj)
