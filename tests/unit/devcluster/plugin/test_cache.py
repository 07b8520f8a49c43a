"""What hop 1 remembers of finished pods, so that it need not ask the plugin again. The plugin is a stand-in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from devcluster.plugin.hop1 import Server
from devcluster.plugin.switches import Switchboard
from nestor.api.objects import Object
from tests.integration.apiserver import free_ports
from tests.unit.devcluster.plugin.pods import pod

ADDRESS = "127.0.0.1"
POD = pod(restartPolicy="Never")
FINISHED = {"UID": "uid-1", "containers": [{"state": {"terminated": {"exitCode": 0}}}]}
RUNNING = {"UID": "uid-1", "containers": [{"state": {"running": {}}}]}


@dataclass
class Backend:
    """Hop 1 before a plugin whose answers to `/status` are given."""

    port: int
    session: aiohttp.ClientSession
    answers: list[Object] = field(default_factory=list)
    asked: int = 0

    async def status(self) -> list[Object]:
        """The answer about `POD`."""
        async with self.session.get(f"http://{ADDRESS}:{self.port}/status", json=[POD]) as answer:
            found: list[Object] = await answer.json()
            return found

    async def send(self, method: str, route: str, **options: object) -> None:
        """Ask for something else, which must be granted."""
        async with self.session.request(method, f"http://{ADDRESS}:{self.port}/{route}", **options) as answer:  # type: ignore[arg-type]
            assert answer.status == 200

    async def answer_status(self, _: web.Request) -> web.Response:
        """The plugin's part."""
        self.asked += 1
        return web.json_response(self.answers)


async def grant(_: web.Request) -> web.Response:
    return web.Response()


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[Backend]:
    """Both hops."""
    server, plugin = free_ports(2)
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        found = Backend(server, session)
        apps = {plugin: web.Application(), server: web.Application()}
        apps[plugin].add_routes([web.get("/status", found.answer_status), web.post("/delete", grant)])
        Server(Switchboard(tmp_path / "switches"), session, f"http://{ADDRESS}:{plugin}").add_routes(apps[server])
        for port, app in apps.items():
            runner = web.AppRunner(app)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, ADDRESS, port).start()
        yield found


async def test_a_finished_pod_is_asked_about_once(backend: Backend) -> None:
    backend.answers = [RUNNING]
    assert [await backend.status() for _ in range(2)] == [[RUNNING]] * 2
    backend.answers = [FINISHED]
    assert [await backend.status() for _ in range(2)] == [[FINISHED]] * 2
    assert backend.asked == 3


@pytest.mark.parametrize("uid", ["uid-1", '"uid-1"'])
async def test_until_the_virtual_kubelet_says_otherwise(backend: Backend, uid: str) -> None:
    backend.answers = [FINISHED]
    await backend.status()
    backend.answers = [RUNNING]
    await backend.send("POST", "updateCache", data=uid)
    assert await backend.status() == [RUNNING]


async def test_a_deleted_pod_is_not_remembered_while_the_plugin_still_knows_it(backend: Backend) -> None:
    backend.answers = [FINISHED]
    await backend.status()
    await backend.send("DELETE", "delete", json=POD)
    assert await backend.status() == [FINISHED]
    backend.answers = []
    assert await backend.status() == []
