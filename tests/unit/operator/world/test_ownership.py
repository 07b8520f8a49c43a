"""Where jobs live, and the finalizer by which deletions wait."""

from typing import Any, cast

import pytest

from nestor.api import labels, names
from nestor.kube import Api, kinds
from nestor.operator.world.ownership import ensure_finalizer, find_home, has_finalizer, remove_finalizer
from nestor.operator.world.trim import TRIMS
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import build_job

OWNED = {"controller": True, "blockOwnerDeletion": False}


def test_a_job_has_a_namespace_of_its_own_and_its_kubeconfig_beside_it() -> None:
    home = find_home(build_job("hello", "team-a"))
    assert home.namespace == names.job_namespace("hello", "team-a", "1234")
    assert home.labels == labels.of_job("hello", "team-a", "1234")
    owner = {"apiVersion": "nestor.dev/v1alpha1", "kind": "NestedAppJob", "name": "hello", "uid": "1234"} | OWNED
    assert home.kubeconfig == {
        "name": "hello-kubeconfig",
        "namespace": "team-a",
        "labels": home.labels,
        "ownerReferences": [owner],
    }


def test_a_job_made_again_moves() -> None:
    again = build_job("hello", "team-a")
    again["metadata"]["uid"] = "5678"
    assert find_home(again).namespace != find_home(build_job("hello", "team-a")).namespace


FEW, MANY = ["example.com/a"], [f"example.com/{number}" for number in range(5000)]


class RawApi(MemoryApi):
    """It also answers what no cache and no trim shortens."""

    async def request(self, method: str, path: str, *_: Any, **__: Any) -> Any:
        assert (method, path) == ("GET", kinds.NESTED_APP_JOB.path("team-a", "hello"))
        self.asked.append("whole")
        return self.look(kinds.NESTED_APP_JOB, "hello", "team-a")


@pytest.mark.parametrize(("others", "asks"), [([], []), (FEW, []), (MANY, ["whole"])], ids=["none", "few", "many"])
async def test_those_of_others_stay(others: list[str], asks: list[str]) -> None:
    api = RawApi()
    job = build_job()
    job["metadata"]["finalizers"] = others
    seen = TRIMS[kinds.NESTED_APP_JOB](api.put(kinds.NESTED_APP_JOB, job))
    assert not has_finalizer(seen)
    made = TRIMS[kinds.NESTED_APP_JOB](await ensure_finalizer(cast(Api, api), kinds.NESTED_APP_JOB, seen))
    assert has_finalizer(made)
    assert api.asked == [*asks, "PATCH nestedappjobs team-a/hello"]
    live = api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    assert live["metadata"]["finalizers"] == [*others, labels.FINALIZER]
    await remove_finalizer(cast(Api, api), kinds.NESTED_APP_JOB, made)
    live = api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    assert live["metadata"]["finalizers"] == others
