"""Whoever looks at the page: their connection to the cluster, and where they act unless they say otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from aiohttp import web

from nestor.clients.ui.hub import Hub
from nestor.kube import Api, UserContext

STREAMS = 20
"""So many pages and outputs of one identity are kept up to date at a time: each costs the server work at every change."""


@dataclass
class Use:
    """What one identity has under way."""

    requests: int = 0
    """Those not yet answered. Pages that are kept up to date are among them."""
    streams: int = 0


@dataclass(frozen=True)
class Visitor:
    """One identity."""

    api: Api
    hub: Hub
    context: UserContext
    name: str
    """As the API server knows them; empty if it does not say."""
    is_shared: bool = False
    """Whether the server is everybody's, instead of one that the user has started."""
    use: Use = field(default_factory=Use, compare=False)

    @property
    def is_busy(self) -> bool:
        """Whether a request of theirs is under way, or a page is open that uses a watch."""
        return bool(self.use.requests) or self.hub.is_busy

    @property
    def namespace(self) -> str:
        """Where they act by default."""
        return self.context.namespace


class Finder(Protocol):
    """Tells who sent a request."""

    async def find(self, request: web.Request) -> Visitor:
        """Raises `Refused` if nobody may have."""


FINDER = web.AppKey("finder", Finder)


@dataclass(frozen=True)
class OneUser:
    """Everybody who has the cookie is the one who started the server."""

    visitor: Visitor

    async def find(self, _request: web.Request) -> Visitor:
        """That one."""
        return self.visitor


VISITOR = web.RequestKey("visitor", Visitor)


async def find_visitor(request: web.Request) -> Visitor:
    """Who sent this request. They count as busy until `release`."""
    known = recall_visitor(request)
    if known is None:
        known = request[VISITOR] = await request.app[FINDER].find(request)
        known.use.requests += 1
    return known


def recall_visitor(request: web.Request) -> Visitor | None:
    """The same, if anybody has asked yet."""
    return request.get(VISITOR)


def release(request: web.Request) -> None:
    """The request is answered."""
    if (visitor := recall_visitor(request)) is not None:
        visitor.use.requests -= 1
