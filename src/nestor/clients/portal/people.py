"""Who a request is from, by the headers of the proxy; and a connection to the cluster in their name."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from aiohttp import web
from multidict import CIMultiDictProxy

from nestor.clients.portal.settings import Settings
from nestor.clients.ui.guard import Refused
from nestor.clients.ui.hub import Hub
from nestor.clients.ui.pool import Pool
from nestor.clients.ui.visitor import Visitor
from nestor.kube import Api, UserContext

RESERVED = "system:"
"""What names of the cluster's own users and groups begin with."""
NAME_LIMIT = 256
GROUPS_LIMIT = 200
PEOPLE = 200
"""So many are remembered at a time, with the watches of the pages that they look at."""


@dataclass(frozen=True)
class Person:
    """A user with those groups that count."""

    name: str
    groups: tuple[str, ...] = ()


def read_person(headers: CIMultiDictProxy[str], settings: Settings) -> Person:
    """Whom the proxy has authenticated. Raises `Refused`. Pure."""
    said = headers.getall(settings.user_header, [])
    listed = headers.getall(settings.groups_header, [])
    if not said or not said[0].strip():
        raise Refused(401, "The proxy before this page did not say who you are.")
    if len(said) > 1 or len(listed) > 1:
        raise Refused(400, "The proxy before this page said more than once who you are.")
    name = settings.user_prefix + said[0].strip()
    if name.startswith(RESERVED) or not name.isprintable() or not name.isascii() or len(name) > NAME_LIMIT:
        raise Refused(403, "A user with such a name cannot use this page.")
    found = [settings.groups_prefix + group.strip() for group in (listed[0] if listed else "").split(",")[:GROUPS_LIMIT]]
    return Person(name, tuple(sorted({group for group in found if group in settings.groups and not group.startswith(RESERVED)})))


class People:
    """A connection, and watches, of everybody who looks at the pages."""

    def __init__(self, api: Api, settings: Settings) -> None:
        self._api, self._settings = api, settings
        self._known: dict[Person, Visitor] = {}
        self._pool = Pool()
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def size(self) -> int:
        """How many are remembered."""
        return len(self._known)

    async def find(self, request: web.Request) -> Visitor:
        """Who sent this request. Raises `Refused`."""
        person = read_person(request.headers, self._settings)
        visitor = self._known.pop(person, None) or self._meet(person)
        self._known[person] = visitor  # the last one is the latest
        return visitor

    def _meet(self, person: Person) -> Visitor:
        if len(self._known) >= PEOPLE:
            self._forget()
        api = self._api.in_the_name_of(person.name, person.groups)
        return Visitor(
            api, Hub(api, pool=self._pool), UserContext(self._settings.host, "default", None), person.name, is_shared=True
        )

    def _forget(self) -> None:
        """Whoever has asked for nothing for longest. Raises `Refused` if all look at something."""
        idle = next((person for person, visitor in self._known.items() if not visitor.is_busy), None)
        if idle is None:
            raise Refused(503, "Too many people use this page at the same time. Try again later.")
        task = asyncio.create_task(_close(self._known.pop(idle)))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """End all watches and connections."""
        while self._known:
            _, visitor = self._known.popitem()
            await _close(visitor)
        await asyncio.gather(*self._closing, return_exceptions=True)


async def _close(visitor: Visitor) -> None:
    try:
        await visitor.hub.close()
    finally:
        await visitor.api.close()
