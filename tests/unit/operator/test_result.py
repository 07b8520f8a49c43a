"""When an object is looked at again: at the earliest of all requested times."""

from __future__ import annotations

import math

import pytest

from nestor.operator.world.context import Result


@pytest.mark.parametrize(
    ("result", "wishes", "expected"),
    [
        (Result(), (), None),
        (Result(), (None,), None),
        (Result(), (5, None, 3), 3),
        (Result(4), (5, None), 4),
        (Result(600), (math.inf, 10), 10),
        (Result(0), (1,), 0),
    ],
)
def test_the_earliest_wish_counts(result: Result, wishes: tuple[float | None, ...], expected: float | None) -> None:
    assert result.within(*wishes).retry_after == expected


def test_what_it_says_besides_stays() -> None:
    error = ValueError()
    assert Result(9, "refused", error).within(1) == Result(1, "refused", error)
