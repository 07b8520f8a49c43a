"""Whatever a backend answers, as described or not: it says something of the pod, or raises an error of `providers.base`."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given

from nestor.api import times
from nestor.api.backend_kinds import Hop
from nestor.api.objects import Object
from nestor.api.quantities import parse_quantity
from nestor.overflow.interlink.provider import InterlinkProvider
from nestor.pods.providers.base import Inputs
from nestor.pods.providers.errors import ProviderError
from tests.conformance.interlink.description import find_faults
from tests.conformance.interlink.generated import QUICK, answers
from tests.fakes.interlink import FakeInterlink
from tests.unit.overflow.interlink.conftest import Backend

Ask = Callable[[InterlinkProvider], Coroutine[Any, Any, None]]
HOPS: tuple[Hop, ...] = ("Server", "Plugin")

POD: Object = {
    "metadata": {"name": "web", "namespace": "shop", "uid": "0", "creationTimestamp": "2026-01-01T10:00:00Z"},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "x"}]},
}
"""The simplest names are those that generators try first."""


class Scene:
    """A backend that answers `content`, and what asks it."""

    def __init__(self, hop: Hop) -> None:
        self.runner = asyncio.Runner()
        self.fake = FakeInterlink(hop)
        self.fake.fault = self._answer
        self.content = b""
        self._serving = self.fake.serve()
        self.backend = Backend(self.fake, self.runner.run(self._serving.__aenter__()))
        self.provider = self.backend.connect(attempts=1)

    async def _answer(self, _: web.Request) -> web.StreamResponse:
        return web.Response(body=self.content, content_type="application/json")

    def ask(self, content: bytes, call: Ask) -> None:
        self.content, message = content, "none"
        try:
            self.runner.run(call(self.provider))
        except ProviderError as error:
            message = error.message
        assert message
        assert all(char.isprintable() or char in "\n\t" for char in message)

    def close(self) -> None:
        self.runner.run(self.provider.close())
        self.runner.run(self._serving.__aexit__(None, None, None))
        self.runner.close()


async def create(provider: InterlinkProvider) -> None:
    made = await provider.create(POD, Inputs(is_new=True))
    assert made["metadata"]["uid"] == "0"
    assert made["spec"] == POD["spec"]


async def look(provider: InterlinkProvider) -> None:
    found = await provider.statuses([POD])
    assert found.keys() <= {"0"}
    for status in found.values():
        check_status(status)
        assert (await provider.statuses([POD | {"status": status}]))["0"] == status


def check_status(status: Object) -> None:
    """As described, of the pod's own container, with times that can be."""
    assert status["phase"] in ("Pending", "Running", "Succeeded", "Failed")
    (container,) = status["containerStatuses"]
    assert container["name"] == "a"
    assert not find_faults({"$ref": "#/components/schemas/ContainerStatus"}, container)
    for state in (*container["state"].values(), *container["lastState"].values()):
        moments = [state[key] for key in ("startedAt", "finishedAt") if key in state]
        assert moments == sorted(moments)
        assert all("2026-01-01T10:00:00Z" <= moment <= times.timestamp() for moment in moments)


async def discover(provider: InterlinkProvider) -> None:
    for shape in await provider.discover() or []:
        assert all(parse_quantity(amount) >= 0 for amount in shape.capacity.values())


async def check(provider: InterlinkProvider) -> None:
    await provider.check()


async def delete(provider: InterlinkProvider) -> None:
    await provider.delete(POD)


CALLS: list[tuple[Hop, str, str, Ask]] = [
    *((hop, "/create", "post", create) for hop in HOPS),
    *((hop, "/status", "get", call) for hop in HOPS for call in (look, check, delete)),
    *(("Server", "/pinglink", "post", call) for call in (discover, check)),
]


@pytest.mark.parametrize("valid", [True, False], ids=["described", "other"])
@pytest.mark.parametrize(("hop", "path", "method", "call"), CALLS, ids=lambda item: getattr(item, "__name__", item))
def test_any_answer_is_read_or_refused(hop: Hop, path: str, method: str, call: Ask, valid: bool) -> None:
    with closing(Scene(hop)) as scene:

        @QUICK
        @given(content=answers(hop, path, method, valid=valid))
        def answer(content: bytes) -> None:
            scene.ask(content, call)

        answer()
