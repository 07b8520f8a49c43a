"""Our finalizer comes and goes, and those of others stay, however many they are."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nestor.api import labels
from nestor.kube import Api, kinds
from nestor.operator.world.ownership import ensure_finalizer, has_finalizer, remove_finalizer
from nestor.operator.world.trim import trim_job
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import build_job

FEW, MANY = ["example.com/a"], [f"example.com/{number}" for number in range(5000)]


class RawApi(MemoryApi):
    """It also answers what no cache and no trim shortens."""

    async def request(self, method: str, path: str, *_: Any, **__: Any) -> Any:
        """One object."""
        assert (method, path) == ("GET", kinds.NESTED_APP_JOB.path("team-a", "hello"))
        self.asked.append("whole")
        return self.look(kinds.NESTED_APP_JOB, "hello", "team-a")


@pytest.mark.parametrize(("others", "asks"), [([], []), (FEW, []), (MANY, ["whole"])], ids=["none", "few", "many"])
async def test_those_of_others_stay(others: list[str], asks: list[str]) -> None:
    api = RawApi()
    job = build_job()
    job["metadata"]["finalizers"] = others
    seen = trim_job(api.put(kinds.NESTED_APP_JOB, job))
    assert not has_finalizer(seen)
    made = trim_job(await ensure_finalizer(cast(Api, api), kinds.NESTED_APP_JOB, seen))
    assert has_finalizer(made)
    assert api.asked == [*asks, "PATCH nestedappjobs team-a/hello"]
    live = api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    assert live["metadata"]["finalizers"] == [*others, labels.FINALIZER]
    await remove_finalizer(cast(Api, api), kinds.NESTED_APP_JOB, made)
    live = api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    assert live["metadata"]["finalizers"] == others
