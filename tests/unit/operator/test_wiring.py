"""What the work queue is told of a pass."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nestor.operator.result import Result
from nestor.operator.wiring import APP, CLUSTER, JOB, Key, Operator

Object = dict[str, Any]


@pytest.mark.parametrize("kind", [JOB, CLUSTER, APP])
async def test_a_result_is_when_to_look_again_or_an_error_to_try_again_after(kind: str) -> None:
    error = ValueError("refused")
    results = [Result(), Result(7), Result(7, "a problem"), Result(7, error=error)]

    async def reconcile(*_: str) -> Result:
        return results.pop(0)

    async def other(*_: str) -> Result:
        raise AssertionError

    operator = Operator.__new__(Operator)
    rooms = {"_jobs": JOB, "_clusters": CLUSTER, "_apps": APP}
    vars(operator).update({room: SimpleNamespace(reconcile=reconcile if kind == its else other) for room, its in rooms.items()})
    key = Key(kind, "team-a", "x")
    assert [await operator._reconcile(key) for _ in range(3)] == [None, 7, 7]
    with pytest.raises(ValueError, match="refused"):
        await operator._reconcile(key)
