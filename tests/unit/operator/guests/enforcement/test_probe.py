"""What the probe makes of the ports that it reaches."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest

from nestor.operator.guests.enforcement import probe
from nestor.operator.guests.enforcement.probe import Exit


@pytest.mark.parametrize(
    ("is_open", "egress", "ingress", "code"),
    [
        (True, False, False, Exit.ENFORCED),
        (True, True, True, Exit.NEITHER),
        (True, True, False, Exit.NO_EGRESS),
        (True, False, True, Exit.NO_INGRESS),
        (False, False, False, Exit.UNREACHED),
        (False, True, True, Exit.UNREACHED),
    ],
)
def test_what_the_ports_mean(is_open: bool, egress: bool, ingress: bool, code: Exit) -> None:
    assert probe.judge(is_open, egress, ingress) == code


def free_ports() -> tuple[int, int, int]:
    """Three ports where nobody listens."""
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(3)]
    first, second, third = found
    return first, second, third


@contextlib.asynccontextmanager
async def listening(*ports: int) -> AsyncIterator[None]:
    """A listener at these ports alone, as policies that are enforced leave it."""
    task = asyncio.create_task(probe.listen(ports))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_caller_waits_for_the_listener_and_is_done_as_soon_as_policies_hold() -> None:
    ports = free_ports()
    calling = asyncio.create_task(probe.call("127.0.0.1", ports, pause=0.01))
    async with listening(ports[0]):
        assert await asyncio.wait_for(calling, 20) == Exit.ENFORCED


@pytest.mark.parametrize(("count", "code"), [(2, Exit.NO_EGRESS), (3, Exit.NEITHER)])
async def test_policies_have_a_while_to_come_into_force(count: int, code: Exit) -> None:
    ports = free_ports()
    async with listening(*ports[:count]):
        assert await probe.call("127.0.0.1", ports, pause=0.01, lag=0.1) == code


async def test_a_policy_that_comes_into_force_late_counts() -> None:
    ports = free_ports()
    async with listening(ports[0]):
        async with listening(*ports[1:]):
            calling = asyncio.create_task(probe.call("127.0.0.1", ports, pause=0.01, lag=60))
            await asyncio.sleep(0)
        assert await asyncio.wait_for(calling, 20) == Exit.ENFORCED


async def test_whoever_reaches_nothing_knows_nothing() -> None:
    assert await probe.call("127.0.0.1", free_ports(), pause=0.01, patience=0.05) == Exit.UNREACHED


def test_the_exit_code_of_the_process_is_the_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    async def call(address: str) -> Exit:
        return Exit.NEITHER

    monkeypatch.setattr(probe, "call", call)
    assert probe.main(["call", "10.42.0.7"]) == Exit.NEITHER
    assert capsys.readouterr().out == "NEITHER: policies between this pod and 10.42.0.7\n"
    with pytest.raises(SystemExit):
        probe.main(["call", "example.org"])
