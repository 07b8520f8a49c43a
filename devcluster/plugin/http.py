"""What both hops do with every request: count it, ask for a token, have the fault that is set, say errors in words."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from devcluster.plugin.backend import Exists, Unknown
from devcluster.plugin.refusals import Refused
from devcluster.plugin.shapes import KNOWN_POD, Shape
from devcluster.plugin.switches import Fault, Hop, Switchboard
from devcluster.plugin.tokens import Tokens
from nestor.api.objects import Object

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
MAX_BODY = 16 * 1024**2
OPEN_ROUTES = ("token", ".well-known/openid-configuration")
GARBAGE = '{"PodUID": "'
ERRORS: dict[type[Exception], int] = {
    Refused: 400,
    Exists: 409,
    Unknown: 404,
    json.JSONDecodeError: 400,
    UnicodeDecodeError: 400,
    ValidationError: 400,
}


class Front:
    """The front of a hop."""

    def __init__(self, hop: Hop, board: Switchboard, tokens: Tokens, calls: Counter[str]) -> None:
        self._hop, self._board, self._tokens, self._calls = hop, board, tokens, calls
        self._answering: set[asyncio.Future[web.StreamResponse]] = set()

    def application(self) -> web.Application:
        """An application without routes, whose requests all go through this."""
        return web.Application(middlewares=[self._serve], client_max_size=MAX_BODY)

    @web.middleware
    async def _serve(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """A caller that hangs up ends a log, and nothing else: what it asked for is done without it."""
        answering = asyncio.ensure_future(self._answer(request, handler))
        if request.path == "/getLogs":
            return await answering
        self._answering.add(answering)
        answering.add_done_callback(self._answering.discard)
        return await asyncio.shield(answering)

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        route = request.path.strip("/")
        self._calls[f"{self._hop} {route}"] += 1
        await request.read()
        if self._board.now.auth == "bearer" and route not in OPEN_ROUTES and not self._tokens.are_in(request):
            return web.Response(status=401, text="a valid bearer token is needed", headers={"WWW-Authenticate": "Bearer"})
        fault = self._board.take_fault(self._hop, route)
        if fault is None:
            return await self._handle(request, handler)
        return await self._fail(fault, request, handler)

    async def _fail(self, fault: Fault, request: web.Request, handler: Handler) -> web.StreamResponse:
        match fault.kind:
            case "delay":
                await asyncio.sleep(fault.seconds)
                return await self._handle(request, handler)
            case "error":
                return web.Response(status=fault.code, text=fault.text)
            case "garbage":
                return web.Response(text=fault.text or GARBAGE, content_type="application/json")
            case "lost":
                await self._handle(request, handler)
        return end_connection(request)

    async def _handle(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except tuple(ERRORS) as error:
            return web.Response(status=ERRORS[type(error)], text=str(error))


def end_connection(request: web.Request) -> web.Response:
    """End the connection; the response that is returned reaches nobody."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def read(request: web.Request, shape: Shape) -> Object:
    """The body, a JSON object of that shape. Raises `Refused`, or `ValidationError`."""
    return check(await request.json(), shape)


async def read_pods(request: web.Request) -> list[Object]:
    """The body, a list of pods that somebody asks about. Raises as `read` does."""
    content = await request.json()
    if not isinstance(content, list):
        raise Refused("the body must be a list of pods")
    return [check(item, KNOWN_POD) for item in content]


def check(content: Any, shape: Shape) -> Object:
    """The content, which must be a JSON object of that shape. Raises as `read` does."""
    if not isinstance(content, dict):
        raise Refused("the body must be a JSON object")
    shape.model_validate(content)
    return content
