"""What hop 1 remembers of finished pods, so that it need not ask the plugin again. The plugin is a stand-in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from devcluster.plugin.hop1 import Server
from devcluster.plugin.switches import Switchboard
from nestor.api.objects import Object
from tests.unit.devcluster.plugin.pods import pod

POD = pod(restartPolicy="Never")
FINISHED = {"UID": "uid-1", "containers": [{"state": {"terminated": {"exitCode": 0}}}]}
RUNNING = {"UID": "uid-1", "containers": [{"state": {"running": {}}}]}


@dataclass
class Backend:
    """Hop 1 before a plugin whose answers to `/status` are given."""

    client: TestClient[web.Request, web.Application]
    answers: list[Object] = field(default_factory=list)
    asked: int = 0

    async def status(self) -> list[Object]:
        """The answer about `POD`."""
        async with self.client.get("/status", json=[POD]) as answer:
            found: list[Object] = await answer.json()
            return found

    async def answer_status(self, _: web.Request) -> web.Response:
        """The plugin's part."""
        self.asked += 1
        return web.json_response(self.answers)


async def grant(_: web.Request) -> web.Response:
    return web.Response()


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[Backend]:
    """Both hops."""
    plugin, server = web.Application(), web.Application()
    found = Backend(TestClient(TestServer(server)))
    plugin.add_routes([web.get("/status", found.answer_status), web.post("/delete", grant)])
    async with TestServer(plugin) as behind, aiohttp.ClientSession() as session:
        Server(Switchboard(tmp_path / "switches"), session, str(behind.make_url("")).rstrip("/")).add_routes(server)
        async with found.client:
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
    assert (await backend.client.post("/updateCache", data=uid)).status == 200
    assert await backend.status() == [RUNNING]


async def test_a_deleted_pod_is_not_remembered_while_the_plugin_still_knows_it(backend: Backend) -> None:
    backend.answers = [FINISHED]
    await backend.status()
    assert (await backend.client.delete("/delete", json=POD)).status == 200
    assert await backend.status() == [FINISHED]
    backend.answers = []
    assert await backend.status() == []
