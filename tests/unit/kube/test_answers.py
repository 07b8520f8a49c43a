"""How much is read of what somebody may answer whom only the server trusts."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from nestor.kube import Api, kinds
from nestor.kube.connection import Connection
from nestor.kube.errors import Unreachable

LIMIT = 1000


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
