"""A reverse proxy between a controller and its API servers that notes what the controller asks for.

Noted are writes, reads of one object, and lists. Left out are watches, and lists from which a watch then starts: they fill a
cache. Left out as well are discovery, health and version, leases, access reviews, and the facts about the host, which are read
again now and then, whatever happens.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from nestor.kube import Api
from tests.integration.requests.words import Words
from tests.waiting import eventually

_RESOURCE = re.compile(
    r"^/(?:api|apis/[^/]+)/v[^/]+/(?:(?:namespaces/(?P<namespace>[^/]+)/)(?=[^/]+))?(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?P<rest>/.+)?$"
)
_LEFT_OUT = frozenset({"leases", "selfsubjectaccessreviews"})
_FACTS = ("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes")


@dataclass
class Request:
    """One request, as it was sent."""

    side: str
    method: str
    path: str
    query: dict[str, str]
    content_type: str
    body: Any
    answer: int = 0
    version: str = ""
    """Of a list: the resource version that it was answered with."""

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing."""
        return self.method == "GET"

    @property
    def target(self) -> str:
        """The object that it is about; for a new one, the collection with the object's name."""
        meta = (self.body or {}).get("metadata") or {} if isinstance(self.body, dict) else {}
        if self.method == "POST" and "name" in meta and not self.path.endswith(("/binding", "/token")):
            return f"{self.side} {self.path}/{meta['name']}"
        if self.method == "POST" and "generateName" in meta:
            return f"{self.side} {self.path}/{meta['generateName']}*"
        return f"{self.side} {self.path}"


@dataclass
class Step:
    """What was asked for because of one act of the test."""

    title: str
    requests: list[Request]


@dataclass
class Recorder:
    """Serves every upstream on a port of loopback, without TLS; each is asked with the rights that its client has."""

    upstreams: dict[str, Api]
    is_noted: Callable[[Request], bool] = lambda _: True
    find_delay: Callable[[str], float] = lambda _: 0
    """By the plural of a kind, how many seconds its watches are held back."""
    heard: Callable[[], Awaitable[None]] | None = None
    """Awaits that the controller knows everything and has nothing to do: see `tests.heard`. Set once it runs."""
    words: Words = field(default_factory=Words)
    steps: list[Step] = field(default_factory=list)
    _addresses: dict[str, str] = field(default_factory=dict)
    _noted: list[Request] = field(default_factory=list)
    _pending: int = 0

    @contextlib.asynccontextmanager
    async def step(self, title: str) -> AsyncIterator[None]:
        """The act of the test and all that follows from it. The body awaits the state that it is to lead to.

        What the test has done since the last step, unrecorded, is over as well before this one begins.
        """
        await self.settle()
        self._noted = []
        yield
        await self.settle()
        self.steps.append(Step(title, self._noted))
        self._noted = []

    async def settle(self) -> None:
        """Await that the controller knows what the test has done, and has done what follows from it."""

        async def is_answered() -> bool:
            return not self._pending

        assert self.heard is not None
        await self.heard()
        await eventually(is_answered)

    def kubeconfig(self, side: str) -> str:
        """Opens that upstream through the recorder."""
        context = {"name": side, "context": {"cluster": side, "user": side}}
        cluster = {"name": side, "cluster": {"server": self._addresses[side]}}
        head = {"apiVersion": "v1", "kind": "Config", "current-context": side}
        return json.dumps(head | {"contexts": [context], "clusters": [cluster], "users": [{"name": side, "user": {}}]})

    def write_kubeconfig(self, side: str, path: Path) -> Path:
        """`kubeconfig`, as a file."""
        path.write_text(self.kubeconfig(side))
        return path

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[Recorder]:
        """Serve for the length of a `with` block."""
        async with contextlib.AsyncExitStack() as stack:
            for side, api in self.upstreams.items():
                connector = aiohttp.TCPConnector(limit=0, ssl=api.ssl_context)
                timeout = aiohttp.ClientTimeout(total=None)
                session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector, timeout=timeout))
                app = web.Application(client_max_size=2**25)
                app.router.add_route("*", "/{path:.*}", _Proxy(self, side, api, session).handle)
                runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
                await runner.setup()
                stack.push_async_callback(runner.cleanup)
                site = web.TCPSite(runner, "127.0.0.1", 0)
                await site.start()
                self._addresses[side] = "http://{}:{}".format(*runner.addresses[0][:2])
            yield self

    def begin(self, request: Request) -> bool:
        """Note a request that has arrived; whether it counts."""
        if not _counts(request) or not self.is_noted(request):
            return False
        self._noted.append(request)
        self._pending += 1
        return True

    def end(self) -> None:
        """A request that counts was answered."""
        self._pending -= 1

    def forget_list(self, side: str, path: str, query: dict[str, str]) -> None:
        """A watch begins: the list that it goes on from was a cache's."""
        for request in self._noted:
            is_its = (request.side, request.path, request.version) == (side, path, query.get("resourceVersion"))
            if request.is_read and is_its and request.query.get("labelSelector") == query.get("labelSelector"):
                self._noted.remove(request)
                return


def _counts(request: Request) -> bool:
    if request.method == "GET" and request.path in _FACTS:
        return False
    found = _RESOURCE.match(request.path)
    return found is not None and found["plural"] not in _LEFT_OUT and "watch" not in request.query


class _Proxy:
    """One upstream."""

    def __init__(self, recorder: Recorder, side: str, api: Api, session: aiohttp.ClientSession) -> None:
        self._recorder = recorder
        self._side = side
        self._api = api
        self._session = session

    async def handle(self, asked: web.Request) -> web.StreamResponse:
        """Pass it on, and its answer back."""
        content = await asked.read()
        query = dict(asked.query)
        body = json.loads(content) if content and content != b"null" else None
        request = Request(self._side, asked.method, asked.path, query, asked.content_type, body)
        if "watch" in query:
            self._recorder.forget_list(self._side, asked.path, query)
            return await self._pass_on(asked, content, None)
        counts = self._recorder.begin(request)
        try:
            return await self._pass_on(asked, content, request)
        finally:
            if counts:
                self._recorder.end()

    async def _pass_on(self, asked: web.Request, content: bytes, request: Request | None) -> web.StreamResponse:
        headers = {key: asked.headers[key] for key in ("Accept", "Content-Type") if key in asked.headers}
        headers |= {"Accept-Encoding": "identity", **await self._api.auth_headers()}
        url = self._api.host + asked.raw_path
        async with self._session.request(asked.method, url, data=content or None, headers=headers) as answer:
            if request is None:
                return await self._stream(asked, answer)
            found = await answer.read()
            request.answer = answer.status
            if answer.content_type == "application/json":
                request.version = self._recorder.words.learn(self._side, json.loads(found))
            return web.Response(status=answer.status, body=found, content_type=answer.content_type)

    async def _stream(self, asked: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        """A watch: what it tells is passed on as it comes, and learned from."""
        response = web.StreamResponse(status=answer.status, headers={"Content-Type": "application/json"})
        await response.prepare(asked)
        pending = b""
        kind = _RESOURCE.match(asked.path)
        delay = self._recorder.find_delay(kind["plural"]) if kind else 0
        async for chunk in answer.content.iter_any():
            await asyncio.sleep(delay)
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                self._recorder.words.learn(self._side, json.loads(line).get("object") or {})
            with contextlib.suppress(ConnectionError):
                await response.write(chunk)
        return response
