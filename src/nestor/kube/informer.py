"""A cache of objects of one kind, kept fresh by a watch, with a callback for each change."""

import asyncio
import ipaddress
import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from nestor.api.objects import Object
from nestor.kube import errors, pages
from nestor.kube.client import Api
from nestor.kube.kinds import Kind

log = logging.getLogger(__name__)

Key = tuple[str, str]
"""Namespace (empty for cluster-scoped kinds) and name."""

LONGEST_PAUSE_SECONDS = 10.0
GONE_REMEMBERED = 1000
"""How many objects that went are remembered: more than the number of requests that can be in flight."""
NEAR_PAUSE_SECONDS = 1.0
"""For a server in the same pod: to ask it more often disturbs nobody else."""


@dataclass(frozen=True)
class Change:
    """What happened to one object: `old` is None when it appeared, `new` is None when it went."""

    key: Key
    old: Object | None
    new: Object | None

    @property
    def latest(self) -> Object:
        """The newest state known, the last one before deletion included."""
        found = self.new or self.old
        assert found is not None
        return found


def key_of(obj: Object) -> Key:
    meta = obj["metadata"]
    return meta.get("namespace", ""), meta["name"]


def is_same(one: Object, other: Object) -> bool:
    return bool(one["metadata"].get("resourceVersion") == other["metadata"].get("resourceVersion"))


def is_older(one: Object | None, other: Object) -> bool:
    """Whether the first is an earlier version of the same object, by versions that can be compared."""
    if one is None or one["metadata"].get("uid") != other["metadata"].get("uid"):
        return False
    versions = [str(item["metadata"].get("resourceVersion", "")) for item in (one, other)]
    return all(map(str.isdecimal, versions)) and int(versions[0]) < int(versions[1])


def is_after(item: Object, version: str) -> bool:
    """Whether this state is newer than that version, if they can be compared."""
    own = str(item["metadata"].get("resourceVersion", ""))
    return own.isdecimal() and version.isdecimal() and int(own) > int(version)


def find_longest_pause(server: str) -> float:
    """Seconds between two attempts at most, for the server with that URL."""
    host = urlsplit(server).hostname or ""
    try:
        is_near = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_near = False
    return NEAR_PAUSE_SECONDS if is_near else LONGEST_PAUSE_SECONDS


def find_pause(failures: int, longest: float) -> float:
    return min(longest, 0.1 * 2.0 ** min(failures, 8)) * random.uniform(0.7, 1.3)


@dataclass
class Informer:
    """Lists, then watches. `run()` never returns by itself; a lost connection is resumed, an expired one listed anew.

    `labels` and `fields` are selectors that the server applies; `trim` says what is kept of each object, and nobody sees more.
    If there are more than `most`, which a server that is not trusted may say, it tries again later.
    Handlers run in the event loop and must not block; they are called with what differs between two states, so a change missed
    while disconnected still arrives, as one change. The server closes each watch after `watch_seconds`; a stream silent for
    longer than that is cut off from our side.
    """

    api: Api
    kind: Kind
    namespace: str | None = None
    labels: str = ""
    fields: str = ""
    watch_seconds: int = 240
    trim: pages.Trim | None = None
    most: int | None = None
    handlers: list[Callable[[Change], None]] = field(default_factory=list)
    store: dict[Key, Object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.synced = asyncio.Event()
        self.last_contact = time.monotonic()
        self.trouble: errors.ApiError | None = None
        """Why the cache is not kept fresh at the moment; None while it is."""
        self._version = ""
        self._failures = 0
        self._gone: dict[str, None] = {}
        """The UIDs of the objects that went last, oldest first."""

    def on_change(self, handler: Callable[[Change], None], *, first: bool = False) -> None:
        """Register before `run()`; called for every object of the first list too.

        `first`: it hears of a change before all other handlers, which rely on it.
        """
        self.handlers.insert(0 if first else len(self.handlers), handler)

    def get(self, name: str, namespace: str = "") -> Object | None:
        """The cached object, or None. Do not modify it."""
        return self.store.get((namespace, name))

    def __iter__(self) -> Iterator[Object]:
        return iter(list(self.store.values()))

    def put(self, answer: Object) -> bool:
        """Take what the server has answered to a request of ours: the watch brings it later, and until then the same would be
        written again. False: the object is known to be gone, and stays so.
        """
        key, known = key_of(answer), self.store.get(key_of(answer))
        if answer["metadata"].get("uid") in self._gone:
            return False
        if known is None or is_older(known, answer) or known["metadata"].get("uid") != answer["metadata"].get("uid"):
            self._set(key, self._complete(answer))
        return True

    @property
    def version(self) -> str:
        """The newest resource version heard of, an object's or a bookmark's; empty as long as nothing is known for certain."""
        return self._version

    @property
    def silence(self) -> float:
        """Seconds since the server last said anything."""
        return time.monotonic() - self.last_contact

    @property
    def is_expected(self) -> bool:
        """Whether it is filled, or will be in a moment."""
        return True

    @property
    def longest_pause(self) -> float:
        return find_longest_pause(self.api.host)

    async def run(self) -> None:
        """Keep the cache until cancelled."""
        while True:
            began, is_fresh = time.monotonic(), not self._version
            try:
                if is_fresh:
                    await self._list()
                    self.trouble = None
                await self._watch()
                self.trouble = None
                self._failures = 0
            except errors.Gone:
                self._version = ""
                if is_fresh:
                    await self._pause(began)
            except errors.ApiError as error:
                self.trouble = error
                if not error.is_transient:
                    # A missing permission or kind may be granted later; it must be seen, not end the process.
                    self._complain(error)
                    self._version = ""
                await self._pause(began)
            except Exception:  # a server of somebody else's may answer anything
                log.exception("watching %s: the answer cannot be read", self.kind.plural)
                self._version = ""
                await self._pause(began)

    def _complain(self, error: errors.ApiError) -> None:
        log.warning("watching %s: %s", self.kind.plural, error)

    async def _pause(self, began: float) -> None:
        """After a failure of what began then. Only failures in a row make pauses longer; each event ends the row."""
        if time.monotonic() - began > LONGEST_PAUSE_SECONDS:
            self._failures = 0  # a stream without events that was cut after a while
        self._failures += 1
        await asyncio.sleep(find_pause(self._failures, self.longest_pause))

    def _query(self) -> dict[str, str]:
        pairs = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return {key: value for key, value in pairs.items() if value}

    async def _list(self) -> None:
        before = dict(self.store)
        listed = await pages.read(self.api.request, self.kind, self.namespace, self._query(), self.trim, self.most)
        fresh = {key_of(item): item for item in listed.items}
        self.last_contact = time.monotonic()
        self._version = listed.version
        for key, item in list(self.store.items()):
            if key not in fresh and (before.get(key) is item or not is_after(item, listed.version)):
                self._set(key, None)
        for key, item in fresh.items():
            if not is_older(item, self.store.get(key) or item):  # an answer may have come meanwhile
                self._set(key, item)
        self.synced.set()

    async def _watch(self) -> None:
        query = self._query() | {
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(self.watch_seconds),
        }
        try:
            async with (
                asyncio.timeout(self.watch_seconds + 30) as limit,
                aclosing(self.api.watch(self.kind, self.namespace, query)) as events,
            ):
                async for event in events:
                    self.last_contact = time.monotonic()
                    self._failures = 0
                    self.trouble = None
                    limit.reschedule(asyncio.get_running_loop().time() + self.watch_seconds + 30)
                    self._take(event)
            self.last_contact = time.monotonic()  # a server without a watch cache tells nothing of kinds that do not change
        except TimeoutError as error:
            raise errors.Unreachable(f"watch of {self.kind.plural} went silent") from error

    def _take(self, event: Object) -> None:
        item = event["object"]
        self._version = item["metadata"]["resourceVersion"]
        if event["type"] == "BOOKMARK":
            return
        key = key_of(item)
        known = self.store.get(key)
        if known is not None and event["type"] != "DELETED" and (is_same(known, item) or is_older(item, known)):
            return  # an answer brought it already, or something newer
        if known is not None and event["type"] == "DELETED" and known["metadata"].get("uid") != item["metadata"].get("uid"):
            return  # an answer brought its successor
        item = self._complete(item)
        if self.most is not None and len(self.store) >= self.most and key not in self.store:
            raise errors.TooLong(f"there are more than {self.most}")
        self._set(key, None if event["type"] == "DELETED" else item, final=item)

    def _complete(self, item: Object) -> Object:
        item.setdefault("apiVersion", self.kind.api_version)
        item.setdefault("kind", self.kind.name)
        return self.trim(item) if self.trim else item

    def _set(self, key: Key, new: Object | None, *, final: Object | None = None) -> None:
        old = self.store.get(key)
        if new is None:
            self.store.pop(key, None)
            old = final or old
            if old is None:
                return
        else:
            if old is not None and is_same(old, new):
                return
            self.store[key] = new
            self._gone.pop(new["metadata"].get("uid", ""), None)  # it is selected again
        if old is not None and (new is None or new["metadata"].get("uid") != old["metadata"].get("uid")):
            self._gone[old["metadata"].get("uid", "")] = None
            if len(self._gone) > GONE_REMEMBERED:
                del self._gone[next(iter(self._gone))]
        change = Change(key, old, new)
        for handler in self.handlers:
            try:
                handler(change)
            except Exception:  # users write objects, and one of them must not end the process, again after each start
                log.exception("%s %s: this change cannot be handled", self.kind.plural, "/".join(filter(None, key)))


class Stream(Informer):
    """Tells of every object that is added or changed after `run()` began, and stores none: for what is many and soon of no use.

    What was there before is not told, and neither is what happened while the server no longer knew where this watch had
    stopped (410): from there, it goes on with the newest version.
    """

    async def _list(self) -> None:
        """Only the version to begin with: a single object is asked for, and left unread."""
        answer = await self.api.request("GET", self.kind.path(self.namespace), self._query() | {"limit": "1"})
        self._version = (answer.get("metadata") or {}).get("resourceVersion", "")
        self.last_contact = time.monotonic()
        self.synced.set()

    def _set(self, key: Key, new: Object | None, *, final: Object | None = None) -> None:
        for handler in self.handlers if new is not None else ():
            handler(Change(key, None, new))
