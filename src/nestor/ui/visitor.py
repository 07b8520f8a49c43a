"""Whoever looks at the page: their connection to the cluster, and where they act unless they say otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from nestor.kube import Api, UserContext
from nestor.ui.hub import Hub


@dataclass(frozen=True)
class Visitor:
    """One identity."""

    api: Api
    hub: Hub
    context: UserContext
    name: str
    """As the API server knows them; empty if it does not say."""

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


async def find_visitor(request: web.Request) -> Visitor:
    """Who sent this request."""
    return await request.app[FINDER].find(request)
