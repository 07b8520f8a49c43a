"""Who starts, and who waits for what: first come, first served, within all limits."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestor.operator.guests.queue.decide import TOLD, Wait, decide
from nestor.operator.guests.queue.entry import Entry, State

NAMES = {"cpu": "requests.cpu", "gpu": "requests.nvidia.com/gpu", "jobs": "jobs"}


def amounts(**found: int) -> dict[str, Decimal]:
    return {NAMES[name]: Decimal(amount) for name, amount in found.items()}


def entry(number: int, state: State = "Waits", *, namespace: str = "a", seat: State | None = None, **needs: int) -> Entry:
    """Job number `number`, which came in that order."""
    came = f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z"
    since = came if state == "Waits" else ""
    return Entry(str(number), str(number), namespace, "x", seat or state, (came, ""), state, since, amounts(jobs=1, **needs))


def line(*needs: dict[str, int]) -> list[Entry]:
    """Jobs `0`, `1` … in this order."""
    return [dataclasses.replace(entry(number), needs=amounts(jobs=1, **item)) for number, item in enumerate(needs)]


@pytest.mark.parametrize(
    ("limits", "waiting", "started"),
    [
        ({}, line({}, {"cpu": 1000}), "01"),
        ({"jobs": 2}, line({}, {}, {}), "01"),
        ({"jobs": 0}, line({}), ""),
        ({"cpu": 4}, line({"cpu": 4}, {"cpu": 1}), "0"),
        ({"cpu": 4}, line({"cpu": 5}, {"cpu": 1}), ""),
        ({"cpu": 4}, line({"cpu": 3}, {"cpu": 2}, {"cpu": 1}), "0"),
        ({"gpu": 0, "cpu": 4}, line({"gpu": 1, "cpu": 2}, {"cpu": 2}), ""),
        ({"gpu": 0, "cpu": 1}, line({"gpu": 0, "cpu": 1}), "0"),
        ({"jobs": 1}, line({}, {})[::-1], "0"),
    ],
)
def test_who_starts(limits: dict[str, int], waiting: list[Entry], started: str) -> None:
    assert "".join(decide(waiting, amounts(**limits), None)[0]) == started


def test_only_the_next_one_is_told_what_is_free() -> None:
    holds = [entry(0, "Holds", cpu=3), entry(1, "Holds", cpu=3)]
    _, waits = decide([*holds, entry(2, cpu=4, gpu=1), entry(3, cpu=1)], amounts(cpu=4, gpu=1, jobs=9), None)
    assert waits == {"2": Wait(1, free=(("requests.cpu", Decimal(0)),), running=2), "3": Wait(2)}


def test_far_behind_no_position_is_told() -> None:
    _, waits = decide(line(*({} for _ in range(TOLD + 2))), amounts(jobs=0), None)
    assert [waits[str(number)].position for number in (TOLD - 1, TOLD, TOLD + 1)] == [TOLD, None, None]


@pytest.mark.parametrize(
    ("others", "is_crowded"),
    [
        ([entry(0), entry(1)], True),
        ([entry(0), entry(1, namespace="b")], False),
        ([entry(0), entry(9)], False),
        ([entry(0), entry(9, "Holds")], True),
        ([entry(0, "Out", seat="Holds"), entry(1, "Out", seat="Waits")], True),
        ([entry(0, "Out"), entry(1, "Out")], False),
    ],
)
def test_a_namespace_has_room_for_who_was_admitted_and_then_for_who_came_first(others: list[Entry], is_crowded: bool) -> None:
    started, waits = decide([*others, entry(5)], {}, 2)
    assert ("5" in started) != is_crowded
    assert waits.get("5") == (Wait(is_crowded=True) if is_crowded else None)


sizes = st.fixed_dictionaries({}, optional={"cpu": st.integers(0, 4), "gpu": st.integers(0, 2)})
lines = st.lists(sizes, max_size=12).map(lambda found: line(*found))
limits_of_all = st.fixed_dictionaries({"jobs": st.integers(0, 6), "cpu": st.integers(0, 8), "gpu": st.integers(0, 3)})


@given(limits_of_all, lines, st.integers(0, 12))
def test_no_limit_is_exceeded_and_nobody_is_passed(limits: dict[str, int], waiting: list[Entry], held: int) -> None:
    holding = [entry(50 + number, "Holds", cpu=1) for number in range(held)]
    started, waits = decide([*holding, *waiting], amounts(**limits), None)
    assert started == [item.uid for item in waiting[: len(started)]], "a beginning of the line starts"
    assert [waits[item.uid].position for item in waiting[len(started) :]] == list(range(1, len(waits) + 1))
    for name, most in amounts(**limits).items():
        before = sum(item.needs.get(name, 0) for item in holding)
        assert before + sum(item.needs.get(name, 0) for item in waiting[: len(started)]) <= max(most, before)
    if waits:
        head = waiting[len(started)]
        used = {name: sum(item.needs.get(name, 0) for item in [*holding, *waiting[: len(started)]]) for name in NAMES.values()}
        assert any(head.needs.get(name, 0) > most - used[name] for name, most in amounts(**limits).items()), "it does not fit"
