"""Whether a request may be sent, in whose name, how it is counted, and what is read of servers that are not trusted."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from nestor.api.objects import Object
from nestor.kube import Api, ApiError, kinds, kubeconfig
from nestor.kube.connection import Connection
from nestor.kube.election import LeaseLost
from nestor.kube.errors import Unreachable
from nestor.kube.transport import UNANSWERED

LIMIT = 10_000
MAP: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}


class Server:
    """Answers everything, and remembers what it was asked. `slow`: not within a test's time."""

    def __init__(self) -> None:
        self.asked: list[web.Request] = []
        self.is_slow = False
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """An object that says nothing, or something odd, by the namespace that it is asked about."""
        self.asked.append(request)
        if self.is_slow:
            await asyncio.sleep(60)
        match request.path.split("/")[4:5]:
            case ["elsewhere"]:
                raise web.HTTPFound("/latest/meta-data")
            case ["error"]:
                return web.Response(status=500, text="x" * (LIMIT + 1))
            case ["long"]:
                return web.Response(text='"' + "x" * LIMIT + '"')
            case ["events"]:
                stream = web.StreamResponse()
                await stream.prepare(request)
                await stream.write(b"x" * (LIMIT + 1))
                await asyncio.Event().wait()
        return web.json_response(MAP)

    @property
    def methods(self) -> list[str]:
        """What it was asked."""
        return [request.method for request in self.asked]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """On a port of this machine."""
    made, app = Server(), web.Application()
    app.router.add_route("*", "/{path:.*}", made.answer)
    listening = TestServer(app)
    await listening.start_server(shutdown_timeout=0.1)
    async with listening as found:
        made.url = str(found.make_url("")).rstrip("/")
        yield made


def list_writes(api: Api) -> list[Callable[[], Awaitable[object]]]:
    """All ways to write."""
    return [
        lambda: api.create(kinds.CONFIG_MAP, MAP),
        lambda: api.apply(kinds.CONFIG_MAP, MAP),
        lambda: api.patch(kinds.CONFIG_MAP, "a", "b", {}),
        lambda: api.replace(kinds.CONFIG_MAP, MAP),
        lambda: api.delete(kinds.CONFIG_MAP, "a", "b"),
    ]


async def test_who_has_lost_the_lease_writes_nothing_and_may_read(server: Server) -> None:
    def fail() -> float:
        raise LeaseLost("it is another's")

    async with Api(Connection(server.url)) as api:
        api.fence = fail
        # Whatever client was made of it.
        for client in (api, api.with_metadata_only(), api.with_limit(10**6)):
            for write in list_writes(client):
                with pytest.raises(LeaseLost):
                    await write()
        assert server.methods == []
        await api.get(kinds.CONFIG_MAP, "a", "b")
        assert server.methods == ["GET"]


async def test_whose_lease_ends_soon_waits_no_longer_for_an_answer(server: Server) -> None:
    """It might be carried out later, when another one holds the Lease."""
    async with Api(Connection(server.url)) as api:
        api.fence = lambda: 0.1
        server.is_slow = True
        with pytest.raises(Unreachable):
            await asyncio.wait_for(api.apply(kinds.CONFIG_MAP, MAP), 20)
        server.is_slow = False
        api.fence = lambda: 30
        for write in list_writes(api):
            await write()
        assert server.methods[1:] == ["POST", "PATCH", "PATCH", "PUT", "DELETE"]


async def test_requests_in_anothers_name_say_whose_and_others_do_not(server: Server) -> None:
    async with Api(Connection(server.url, authorization=lambda: "Bearer own")) as api:
        async with api.in_the_name_of("oidc:jane", ["a", "b"]) as jane:
            await jane.get(kinds.CONFIG_MAP, "a", "b")
            async with jane.stream("/api/v1/namespaces/b/pods/a/log", {}) as response:
                await response.read()
        await api.get(kinds.CONFIG_MAP, "a", "b")
    said = [
        (
            request.headers["Authorization"],
            request.headers.getall("Impersonate-User", []),
            request.headers.getall("Impersonate-Group", []),
        )
        for request in server.asked
    ]
    assert said == [("Bearer own", ["oidc:jane"], ["a", "b"])] * 2 + [("Bearer own", [], [])]


async def test_a_client_that_is_closed_opens_nothing(server: Server) -> None:
    """Nobody would close it again. What still asks, at the end of a process, is told as of any server that cannot be reached."""
    api = Api(Connection(server.url))
    copy = api.with_metadata_only()
    await api.get(kinds.CONFIG_MAP, "a", "b")
    await api.close()
    await copy.close()
    for one in (api, copy):
        with pytest.raises(Unreachable, match="closed"):
            await one.get(kinds.CONFIG_MAP, "a", "b")
        with pytest.raises(Unreachable, match="closed"):
            async with one.stream("/logs"):
                raise AssertionError("it was opened")
    assert len(server.asked) == 1


async def test_requests_are_counted_by_verb_and_answer() -> None:
    async def say(request: web.Request) -> web.StreamResponse:
        return web.json_response({}, status=404 if request.path.endswith("/gone") else 200)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", say)
    async with TestServer(app) as server, Api(Connection(str(server.make_url("")).rstrip("/"))) as api:
        await api.get(kinds.POD, "web", "default")
        assert await api.find(kinds.POD, "gone", "default") is None
        assert not await api.delete(kinds.POD, "gone", "default")
        assert [event async for event in api.with_limit(1000).watch(kinds.POD, "default", {})] == []
        assert api.requests == {("GET", "200"): 1, ("GET", "404"): 1, ("DELETE", "404"): 1, ("WATCH", "200"): 1}
    async with Api(Connection("http://127.0.0.1:1")) as api:
        with pytest.raises(Unreachable):
            await api.get(kinds.POD, "web", "default")
        assert api.requests == {("GET", UNANSWERED): 1}


async def test_the_token_is_read_for_each_request(server: Server) -> None:
    tokens = iter(["one", "two"])
    content = kubeconfig.build({"server": server.url}, {"token": "-"})
    async with await Api.from_kubeconfig(content, token=lambda: next(tokens)) as api:
        for _ in range(2):
            await api.get(kinds.POD, "web", "far")
    assert [request.headers["Authorization"] for request in server.asked] == ["Bearer one", "Bearer two"]


async def test_a_token_that_is_gone_is_an_error_of_the_api(server: Server) -> None:
    def read() -> str:
        raise ApiError(401, "Unauthorized", "Secret 'far' is missing")

    async with await Api.from_kubeconfig(kubeconfig.build({"server": server.url}, {"token": "-"}), token=read) as api:
        with pytest.raises(ApiError, match="Secret 'far' is missing"):
            await api.list(kinds.POD, "far")
    assert not server.asked


@pytest.mark.parametrize(
    ("space", "message"),
    [("elsewhere", "send us elsewhere"), ("long", f"more than {LIMIT} bytes"), ("error", f"more than {LIMIT} bytes")],
)
async def test_who_is_not_trusted_sends_us_nowhere_and_is_not_read_without_end(server: Server, space: str, message: str) -> None:
    async with Api(Connection(server.url)) as api:
        for client in (api.with_limit(LIMIT), api.with_limit(LIMIT).with_metadata_only()):
            with pytest.raises(Unreachable, match=message):
                await client.list(kinds.POD, space)
    assert {request.path for request in server.asked} == {f"/api/v1/namespaces/{space}/pods"}


async def test_events_are_not_read_without_end(server: Server) -> None:
    async with Api(Connection(server.url)) as api, asyncio.timeout(10):
        with pytest.raises(Unreachable, match=f"more than {LIMIT} bytes"):
            async for _ in api.with_limit(LIMIT).watch(kinds.POD, "events", {}):
                pass
