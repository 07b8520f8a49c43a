"""Pages that wait for what never comes, and what becomes of requests when the browser goes away."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from nestor.api import labels
from nestor.clients.ui.guard import Gate
from nestor.clients.ui.server import serving
from nestor.clients.ui.visitor import STREAMS, Hub, Visitor, find_always
from nestor.kube import Api, UserContext
from tests.unit.clients.ui.test_server import write_kubeconfig
from tests.waiting import eventually

JOB = "/apis/nestor.dev/v1alpha1/namespaces/team-a/nestedappjobs/shop"
POD = "/api/v1/namespaces/own/pods/web"
PAGE = "/jobs/team-a/shop"
LINES = f"{PAGE}/logs/web/lines"


@dataclass
class Cluster:
    """An API server with one job, and one pod that never says anything."""

    followed: int = 0
    """How many read the pod's log."""
    changes: list[Any] = field(default_factory=list)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    """When it answers to a change."""

    def build(self) -> TestServer:
        app = web.Application()
        app.add_routes(
            [web.get(JOB, self.job), web.get(POD, self.pod), web.get(f"{POD}/log", self.log), web.patch(JOB, self.patch)]
        )
        return TestServer(app)

    async def job(self, _: web.Request) -> web.Response:
        meta = {"name": "shop", "namespace": "team-a", "uid": "1"}
        return web.json_response({"metadata": meta, "spec": {}, "status": {"namespace": "own"}})

    async def pod(self, _: web.Request) -> web.Response:
        return web.json_response({"metadata": {"name": "web", "namespace": "own", "labels": {labels.CLUSTER: "shop"}}})

    async def log(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        self.followed += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.followed -= 1
        return response

    async def patch(self, request: web.Request) -> web.Response:
        self.changes.append((await request.json())["spec"])
        await self.may_answer.wait()
        self.changes.append("answered")
        return await self.job(request)


@dataclass
class Site:
    """The pages of that cluster, and somebody who looks at them."""

    cluster: Cluster
    session: aiohttp.ClientSession
    base: str
    visitor: Visitor

    async def read(self) -> int:
        """The status of the pod's output, if it comes."""
        async with self.session.get(self.base + LINES) as answer:
            return answer.status

    async def suspend(self) -> int:
        """The status of the answer, if it comes."""
        headers = {"Origin": self.base}
        async with self.session.post(f"{self.base}{PAGE}/suspend", headers=headers, allow_redirects=False) as answer:
            return answer.status


@contextlib.asynccontextmanager
async def serve(cluster: Cluster, kubeconfig: Path) -> AsyncIterator[Site]:
    gate = Gate()
    async with (
        await Api.connect(str(kubeconfig)) as api,
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session,
    ):
        visitor = Visitor(api, Hub(api), UserContext("here", "team-a", None), "jane")
        async with serving(find_always(visitor), gate) as port:
            base = f"http://127.0.0.1:{port}"
            async with session.get(f"{base}/start?token={gate.token}") as answer:
                assert answer.status == 200
            yield Site(cluster, session, base, visitor)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    cluster = Cluster()
    async with cluster.build() as server:
        file = write_kubeconfig(tmp_path, str(server.make_url("")).rstrip("/"))
        async with serve(cluster, file) as found:
            yield found


async def test_silent_outputs_count_and_end_with_their_pages(site: Site) -> None:
    """Whoever opens them must not take the place of everybody else."""

    async def follow(number: int) -> bool:
        return site.cluster.followed == number

    reading = [asyncio.create_task(site.read()) for _ in range(STREAMS)]
    await eventually(lambda: follow(STREAMS))
    async with asyncio.timeout(20):
        assert await site.read() == 429
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)
    await eventually(lambda: follow(0))
    await eventually(lambda: is_idle(site.visitor))
    # There is room again.
    again = asyncio.create_task(site.read())
    await eventually(lambda: follow(1))
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)


async def is_idle(visitor: Visitor) -> bool:
    return not visitor.is_busy


async def test_what_a_user_has_begun_is_finished_when_the_page_is_closed(site: Site) -> None:
    """Half of a change would be worse than all of it."""
    asking = asyncio.create_task(site.suspend())

    async def has(number: int) -> bool:
        return len(site.cluster.changes) == number

    await eventually(lambda: has(1))
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    async with asyncio.timeout(20):
        async with site.session.get(f"{site.base}/static/style.css") as answer:
            assert answer.status == 200  # the server has had time to see that the page is closed
    site.cluster.may_answer.set()
    await eventually(lambda: has(2))
    assert site.cluster.changes == [{"suspend": True}, "answered"]
