"""Objects that many people see, kept once, with what pages make of them."""

from __future__ import annotations

from typing import Any, cast

from nestor.api.objects import without_managers
from nestor.clients.ui.models.jobs import trim_for_rows
from nestor.clients.ui.pool import Pool, Shared, once
from nestor.clients.ui.visitor import Hub, List
from nestor.kube import Api, Informer, kinds
from tests.fakes.api import MemoryApi
from tests.unit.clients.cli import builders

Object = dict[str, Any]
JOBS = List(kinds.NESTED_APP_JOB, "team-a", trim=trim_for_rows)


def job(name: str, version: str = "1") -> Object:
    found = builders.ready()
    found["metadata"] |= {"name": name, "uid": f"uid-{name}", "resourceVersion": version}
    return found


def names(jobs: Informer) -> set[str]:
    return {job["metadata"]["name"] for job in jobs}


async def test_two_people_have_the_same_object_and_each_only_what_they_may_see() -> None:
    pool, hers, his = Pool(), MemoryApi(), MemoryApi()
    for api, seen in ((hers, ("shop", "secret")), (his, ("shop",))):
        for name in seen:
            api.put(kinds.NESTED_APP_JOB, job(name))
    jane, john = (Hub(cast(Api, api), pool=pool) for api in (hers, his))
    async with jane.use(JOBS, print) as of_jane, john.use(JOBS, print) as of_john:
        assert of_jane.get("shop", "team-a") is of_john.get("shop", "team-a")
        assert names(of_jane) == {"shop", "secret"}
        assert names(of_john) == {"shop"}
    await jane.close()
    await john.close()


def test_another_version_and_what_is_trimmed_in_another_way_are_other_objects() -> None:
    pool = Pool()
    rows, whole = pool.share(trim_for_rows), pool.share(without_managers)
    first = rows(job("shop"))
    assert rows(job("shop")) is first
    assert rows(job("shop", "2")) is not first
    assert rows(job("other")) is not first
    assert whole(job("shop")) is not first


def test_an_object_goes_with_the_last_of_those_who_have_it() -> None:
    pool = Pool()
    share = pool.share(without_managers)
    hers, his = share(job("shop")), share(job("shop"))
    del hers
    assert len(pool._known) == 1
    del his
    assert len(pool._known) == 0


def test_something_is_made_once_of_a_shared_object_and_each_time_of_others() -> None:
    made: list[str] = []

    def make(found: Object) -> int:
        made.append(found["metadata"]["name"])
        return len(made)

    shared = Pool().share(without_managers)(job("shop"))
    assert isinstance(shared, Shared)
    assert [once(make, shared), once(make, shared)] == [1, 1]
    assert [once(make, job("own")), once(make, job("own"))] == [2, 3]
