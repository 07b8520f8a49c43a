"""Nobody holds all that may be open."""

import asyncio
from collections import Counter

import pytest

from nestor.pods.kubelet.server import Slots


class Holders:
    """Tasks that hold places, and how many of each there are."""

    def __init__(self, slots: Slots) -> None:
        self.open: Counter[str] = Counter()
        self.tasks: list[asyncio.Task[None]] = []
        self._slots = slots

    async def take(self, who: str, count: int) -> int:
        """Try to hold so many more; how many are held then."""
        self.tasks += [asyncio.create_task(self._hold(who)) for _ in range(count)]
        for _ in range(5):
            await asyncio.sleep(0)
        return self.open[who]

    async def _hold(self, who: str) -> None:
        with self._slots.take(who):
            self.open[who] += 1
            try:
                await asyncio.Event().wait()
            finally:
                self.open[who] -= 1

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


@pytest.mark.parametrize("greedy", [1, 2, 5, 11])
async def test_however_many_are_greedy_the_next_one_finds_a_place(greedy: int) -> None:
    holders = Holders(Slots(12, "logs"))
    for number in range(greedy):
        await holders.take(str(number), 100)
    assert holders.open.total() == 12
    assert await holders.take("next", 100) == 12 // (greedy + 1)
    assert holders.open.total() == 12
    assert min(holders.open.values()) >= 12 // (greedy + 1)
    await holders.end()


async def test_the_oldest_goes_and_nobody_is_shut_out_by_himself() -> None:
    holders = Holders(Slots(2, "logs"))
    assert [await holders.take("a", 2), await holders.take("a", 1), await holders.take("b", 1)] == [2, 2, 1]
    assert [task.done() for task in holders.tasks] == [True, False, True, False]
    # With one each, nobody has to give.
    assert await holders.take("c", 1) == 0
    await holders.end()
