"""Those who ask for the same while an answer is under way share the next one, which is as new as they need."""

from __future__ import annotations

import asyncio

import pytest

from nestor.syncer.pods.isolation import SharedReads


class Server:
    """Answers with what is so when it is asked, once it is let to."""

    def __init__(self) -> None:
        self.value, self.asked = 0, list[str]()
        self.error: Exception | None = None
        self.open = asyncio.Event()

    async def read(self, key: str) -> int:
        self.asked.append(key)
        found = self.value
        await self.open.wait()
        if self.error is not None:
            raise self.error
        return found


async def settle() -> None:
    """Let every task go as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_who_asks_during_a_read_gets_the_next_one_together_with_others() -> None:
    server = Server()
    reads = SharedReads(server.read)
    first = asyncio.create_task(reads.get("a"))
    await settle()
    server.value = 1
    later = [asyncio.create_task(reads.get("a")) for _ in range(20)]
    other = asyncio.create_task(reads.get("b"))
    await settle()
    assert server.asked == ["a", "b"]
    server.open.set()
    assert await asyncio.gather(first, other, *later) == [0, 1, *[1] * 20]
    assert server.asked == ["a", "b", "a"]
    assert await reads.get("a") == 1
    assert len(server.asked) == 4


async def test_a_failure_is_told_to_those_who_share_it_and_to_no_other() -> None:
    server = Server()
    reads = SharedReads(server.read)
    server.open.set()
    server.error = ValueError("down")
    for found in await asyncio.gather(reads.get("a"), reads.get("a"), return_exceptions=True):
        assert found is server.error
    server.error = None
    assert await reads.get("a") == 0


async def test_one_who_gives_up_does_not_stop_the_others() -> None:
    server = Server()
    reads = SharedReads(server.read)
    impatient, patient = asyncio.create_task(reads.get("a")), asyncio.create_task(reads.get("a"))
    await settle()
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    server.open.set()
    assert await patient == 0
