"""The plugin keeps to the protocol's description: both hops get generated requests, right and wrong ones."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from hypothesis import given
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

from devcluster.plugin import server
from devcluster.plugin.orders import Client
from nestor.api.backend_kinds import Hop
from tests.conformance.interlink.generated import OPERATIONS, QUICK, requests
from tests.unit.devcluster.plugin.idle import idle

ADDRESS = "127.0.0.1"
# A server may take more than is described; what it does not look at, it lets through.
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
READ = [(hop, path, method) for hop, path, method in OPERATIONS if path != "/pinglink"]
"""Operations with a body."""

Urls = dict[Hop, str]


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Urls]:
    """The plugin with both of its hops, in a thread: schemathesis waits for its answers."""
    settings = idle(tmp_path_factory.mktemp("plugin"), ADDRESS)
    loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            await server.start(settings, stack)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(60)
        Client(settings.socket).switch(hold=True)
        yield {"Server": f"http://{ADDRESS}:{settings.ports.server}", "Plugin": f"http://{ADDRESS}:{settings.ports.plugin}"}
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


@pytest.mark.parametrize(("hop", "path", "method"), OPERATIONS)
def test_described_requests_get_described_answers(urls: Urls, hop: Hop, path: str, method: str) -> None:
    @QUICK
    @given(case=requests(hop, path, method))
    def ask(case: Case[Any]) -> None:
        case.call_and_validate(base_url=urls[hop], checks=CHECKS, timeout=20)

    ask()


@pytest.mark.parametrize(("hop", "path", "method"), READ)
def test_other_requests_are_refused_in_words(urls: Urls, hop: Hop, path: str, method: str) -> None:
    """Or taken, where the plugin does not read what is wrong with them; never with an error of its own."""

    @QUICK
    @given(case=requests(hop, path, method, valid=False))
    def ask(case: Case[Any]) -> None:
        answer = case.call(base_url=urls[hop], timeout=20)
        # Not its form: it may be about more pods than the description has here, where lists are short.
        case.validate_response(answer, checks=[check for check in CHECKS if check is not response_schema_conformance])
        assert answer.status_code < 300 or answer.text

    ask()
