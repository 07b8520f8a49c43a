"""Who starts next: nobody passes another to his cost."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestor.operator.queueing.order import DEPTH, JOBS, Waiting, decide, find_missing, round_position

CPU, GPU = "requests.cpu", "requests.nvidia.com/gpu"


def amounts(**found: int) -> dict[str, Decimal]:
    """`jobs`, `cpu` and `gpu`."""
    names = {"jobs": JOBS, "cpu": CPU, "gpu": GPU}
    return {names[name]: Decimal(amount) for name, amount in found.items()}


def line(*needs: dict[str, int]) -> list[Waiting]:
    """Jobs `0`, `1` … in this order."""
    return [Waiting(str(number), amounts(jobs=1, **item)) for number, item in enumerate(needs)]


@pytest.mark.parametrize(
    ("free", "waiting", "started"),
    [
        ({}, line({}, {"cpu": 1000}), "01"),
        ({"jobs": 2}, line({}, {}, {}), "01"),
        ({"jobs": 0}, line({}), ""),
        ({"jobs": -1}, line({}), ""),
        ({"cpu": 4}, line({"cpu": 4}, {"cpu": 1}), "0"),
        ({"cpu": 4}, line({"cpu": 5}, {"cpu": 1}), ""),
        ({"cpu": 4}, line({"cpu": 3}, {"cpu": 2}, {"cpu": 1}), "0"),
        # What the first one waits for is not what the others take.
        ({"gpu": 0, "cpu": 4}, line({"gpu": 1, "cpu": 2}, {"cpu": 2}), "1"),
        ({"gpu": 0, "cpu": 4}, line({"gpu": 1, "cpu": 2}, {"cpu": 3}), ""),
        ({"gpu": 0, "cpu": 4}, line({"gpu": 1, "cpu": 2}, {"cpu": 2}, {"cpu": 1}), "1"),
        ({"gpu": 0, "cpu": 4}, line({"gpu": 1, "cpu": 1}, {"gpu": 1, "cpu": 1}, {"cpu": 3}), ""),
        ({"gpu": 0, "cpu": 4}, line({"gpu": 1, "cpu": 1}, {"gpu": 1, "cpu": 1}, {"cpu": 2}), "2"),
        ({"gpu": 0, "jobs": 1}, line({"gpu": 1}, {}), ""),
        ({"gpu": 0, "jobs": 2}, line({"gpu": 1}, {}), "1"),
        ({"gpu": -2, "cpu": 1}, line({"gpu": 0, "cpu": 1}), "0"),
    ],
)
def test_who_starts(free: dict[str, int], waiting: list[Waiting], started: str) -> None:
    assert "".join(decide(amounts(**free), waiting)) == started


def test_what_is_missing_is_what_too_little_is_free_of() -> None:
    assert find_missing(amounts(cpu=4, gpu=-1), amounts(cpu=5, gpu=1, jobs=1)) == amounts(cpu=4, gpu=0)
    assert find_missing(amounts(cpu=4, gpu=-1), amounts(cpu=4)) == {}


@pytest.mark.parametrize(
    ("position", "told"),
    [(1, 1), (10, 10), (11, 20), (20, 20), (21, 30), (100, 100), (101, 200), (999, 1000), (1001, 2000), (100_000, 100_000)],
)
def test_far_behind_positions_are_rounded(position: int, told: int) -> None:
    assert round_position(position) == told


def test_a_change_looks_at_few_of_those_that_wait() -> None:
    looked = 0

    def count() -> Iterator[Waiting]:
        nonlocal looked
        for item in line(*({"cpu": 5} for _ in range(10_000))):
            looked += 1
            yield item

    assert decide(amounts(cpu=4), count()) == []
    assert looked == DEPTH + 1


sizes = st.fixed_dictionaries({}, optional={"cpu": st.integers(0, 4), "gpu": st.integers(0, 2)})
lines = st.lists(sizes, max_size=12).map(lambda found: line(*found))
frees = st.fixed_dictionaries({"jobs": st.integers(-1, 6), "cpu": st.integers(-2, 8), "gpu": st.integers(-1, 3)}).map(
    lambda found: amounts(**found)
)


def sum_up(items: list[Waiting], name: str) -> Decimal:
    """What they take together."""
    return sum((item.needs.get(name, Decimal(0)) for item in items), Decimal(0))


@given(frees, lines)
def test_no_limit_is_exceeded(free: dict[str, Decimal], waiting: list[Waiting]) -> None:
    started = set(decide(free, waiting))
    for name, amount in free.items():
        taken = sum_up([item for item in waiting if item.uid in started], name)
        assert taken <= max(amount, Decimal(0))


@given(frees, lines)
def test_nobody_is_passed_to_his_cost(free: dict[str, Decimal], waiting: list[Waiting]) -> None:
    """Of all that a job takes, there is enough for everybody who waits before it: also without it, none of them could start."""
    started = set(decide(free, waiting))
    for place, item in enumerate(waiting):
        if item.uid not in started:
            continue
        before = [other for other in waiting[:place] if other.uid not in started]
        ahead = [other for other in waiting[: place + 1] if other.uid in started]
        for name, amount in item.needs.items():
            if amount > 0 and name in free:
                assert free[name] - sum_up(ahead, name) >= sum_up(before, name)


@given(frees, lines)
def test_whoever_comes_first_starts_as_if_he_were_alone(free: dict[str, Decimal], waiting: list[Waiting]) -> None:
    started = decide(free, waiting)
    if waiting:
        assert (waiting[0].uid in started) == (decide(free, waiting[:1]) == [waiting[0].uid])


@given(frees, lines, st.integers(0, 12))
def test_whoever_comes_later_changes_nothing_for_those_before(
    free: dict[str, Decimal], waiting: list[Waiting], count: int
) -> None:
    before = {item.uid for item in waiting[:count]}
    assert [uid for uid in decide(free, waiting) if uid in before] == decide(free, waiting[:count])


@given(st.integers(0, 8), lines, st.lists(sizes, min_size=30, max_size=30))
def test_a_stream_of_small_jobs_keeps_nobody_from_starting(
    cpus: int, waiting: list[Waiting], stream: list[dict[str, int]]
) -> None:
    """Each round, the job that has run longest ends, and another one comes. Who fits into the class at all starts in the end."""
    limits = amounts(jobs=3, cpu=4 + cpus, gpu=2)
    queue, running = list(waiting), list[Waiting]()
    for number, needs in enumerate(stream):
        queue.append(Waiting(f"late{number}", amounts(jobs=1, **needs)))
        free = {name: amount - sum_up(running, name) for name, amount in limits.items()}
        started = set(decide(free, queue))
        running += [item for item in queue if item.uid in started]
        queue = [item for item in queue if item.uid not in started]
        running = running[1:]
    assert not {item.uid for item in waiting} & {item.uid for item in queue}
