"""The light backend of the benchmarks is one that the provider can talk to; a run that misses a goal fails."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from benchmarks.overflow import __main__ as command
from benchmarks.overflow.backend import LightBackend
from benchmarks.overflow.goals import Goal
from benchmarks.overflow.measures import MEASURES, find_rate
from benchmarks.overflow.site import describe
from nestor.overflow.interlink.provider import InterlinkProvider
from nestor.overflow.interlink.settings import Settings
from nestor.pods.providers.base import Inputs

Object = dict[str, Any]


def build_pod(uid: str) -> Object:
    spec = {"restartPolicy": "Never", "containers": [{"name": "app", "image": "x"}]}
    return {"metadata": {"name": uid, "namespace": "shop", "uid": uid}, "spec": spec}


async def test_pods_run_and_end() -> None:
    backend, pods = LightBackend(), [build_pod(f"u-{index}") for index in range(3)]
    async with backend.serve() as url:
        provider = InterlinkProvider(Settings(url))
        await provider.check()
        for pod in pods:
            await provider.create(pod, Inputs(is_new=True))
        assert {item["phase"] for item in (await provider.statuses(pods)).values()} == {"Running"}
        backend.end_all()
        assert [item["phase"] for item in (await provider.statuses(pods)).values()] == ["Succeeded"] * 3
        await provider.delete(pods[0])
        assert (await provider.statuses(pods)).keys() == {"u-1", "u-2"}
        await provider.close()
    assert [count for _, count in backend.questions] == [3, 3, 3]
    assert backend.ended.keys() == {"u-0", "u-1", "u-2"}
    assert set(backend.creations.values()) == {1}


def test_what_is_printed() -> None:
    assert list(MEASURES) == ["share", "size", "fleet", "demonstration"]
    assert describe([0.3, 0.1, 0.2]) == "median 0.20 s · p90 0.30 s · last 0.30 s"
    assert describe([]) == "none"


@pytest.mark.parametrize(
    ("goal", "is_met", "text"),
    [
        (Goal("median", 0.25, 1, "s"), True, "met     median: 0.25 s of 1 s, ratio 0.25"),
        (Goal("median", 1.0, 1, "s"), True, "met     median: 1.00 s of 1 s, ratio 1.00"),
        (Goal("memory", 151, 150, "MB"), False, "MISSED  memory: 151.00 MB of 150 MB, ratio 1.01"),
        (Goal("twice", 0, 0), True, "met     twice: 0.00 of 0"),
        (Goal("twice", 1, 0), False, "MISSED  twice: 1.00 of 0"),
        (Goal("median", float("nan"), 1, "s"), False, "MISSED  median: nan s of 1 s, ratio nan"),
    ],
)
def test_goals(goal: Goal, is_met: bool, text: str) -> None:
    assert goal.is_met is is_met
    assert str(goal) == text


@pytest.mark.parametrize(("times", "rate"), [([0.0, 1.0, 2.0], 1.0), ([0.0, 1.25, 2.5], 0.8), ([5.0, 5.5], 2.0)])
def test_calls_are_counted_by_their_distance(times: list[float], rate: float) -> None:
    assert find_rate(times) == pytest.approx(rate)


@pytest.mark.parametrize(("found", "code", "last"), [(0.5, 0, "all goals met"), (1.5, 1, "goals missed: 1")])
def test_a_run_that_misses_a_goal_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], found: float, code: int, last: str
) -> None:
    @contextlib.asynccontextmanager
    async def plane() -> AsyncIterator[tuple[None, None]]:
        yield None, None

    async def measure(*_: object) -> list[Goal]:
        return [Goal("median", found, 1, "s")]

    monkeypatch.setattr(command, "plane", plane)
    monkeypatch.setitem(MEASURES, "share", measure)
    monkeypatch.setattr(sys, "argv", ["overflow", "share"])
    assert command.main() == code
    assert capsys.readouterr().out.splitlines()[-1] == last
