"""How much is read of what somebody may answer whom only the server trusts."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from nestor.kube import Api, kinds
from nestor.kube.connection import Connection
from nestor.kube.errors import Unreachable
from nestor.kube.transport import UNANSWERED

LIMIT = 1000
FREE = 1
"""A port that nobody listens at."""


async def answer(request: web.Request) -> web.StreamResponse:
    """A list, one that is too long, or the way to somebody else."""
    if "away" in request.path:
        raise web.HTTPTemporaryRedirect("/api/v1/namespaces/short/pods")
    size = 2 * LIMIT if "long" in request.path else 1
    return web.json_response({"items": [{"metadata": {"name": "x" * size}}]})


async def test_long_answers_are_not_read_and_no_way_is_followed() -> None:
    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server, Api(Connection(str(server.make_url("")).rstrip("/"))) as api:
        limited = api.with_limit(LIMIT)
        for client in (limited, limited.with_metadata_only(), api.with_metadata_only().with_limit(LIMIT)):
            assert len(await client.list(kinds.POD, "short")) == 1
            with pytest.raises(Unreachable, match="answers more than 1000 bytes"):
                await client.list(kinds.POD, "long")
            with pytest.raises(Unreachable, match="elsewhere"):
                await client.list(kinds.POD, "away")
        assert len(await api.list(kinds.POD, "long")) == 1


async def test_requests_are_counted_by_verb_and_answer() -> None:
    async def say(request: web.Request) -> web.StreamResponse:
        return web.json_response({}, status=404 if request.path.endswith("/gone") else 200)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", say)
    async with TestServer(app) as server, Api(Connection(str(server.make_url("")).rstrip("/"))) as api:
        await api.get(kinds.POD, "web", "default")
        assert await api.find(kinds.POD, "gone", "default") is None
        assert not await api.delete(kinds.POD, "gone", "default")
        assert [event async for event in api.with_limit(LIMIT).watch(kinds.POD, "default", {})] == []
        assert api.requests == {("GET", "200"): 1, ("GET", "404"): 1, ("DELETE", "404"): 1, ("WATCH", "200"): 1}
    async with Api(Connection(f"http://127.0.0.1:{FREE}")) as api:
        with pytest.raises(Unreachable):
            await api.get(kinds.POD, "web", "default")
        assert api.requests == {("GET", UNANSWERED): 1}
