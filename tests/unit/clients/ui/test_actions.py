"""More time for a job: as much as its class allows, and only where it has such an end."""

from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.clients.cli.exits import Failure
from nestor.clients.ui.pages import actions
from nestor.clients.ui.visitor import Visitor
from nestor.kube import Forbidden, kinds
from tests.fakes.api import MemoryApi

META = {"name": "shop", "namespace": "team", "uid": "u"}
JOB: Object = {
    "metadata": META,
    "spec": {"activeDeadlineSeconds": 60, "ttlSecondsAfterFinished": 5},
    "status": {"className": "short"},
}


def build_server(*, is_hidden: bool = False) -> MemoryApi:
    """With a class that lets jobs run for 100 seconds, which not everybody may see."""
    api = MemoryApi()
    api.put(kinds.NESTED_APP_JOB, JOB)
    api.put(kinds.NESTED_CLASS, {"metadata": {"name": "short"}, "spec": {"maxActiveDeadlineSeconds": 100}})
    if is_hidden:
        api.fault = lambda verb, _: Forbidden(403, "Forbidden", "no") if verb == "GET" else None
    return api


@pytest.mark.parametrize(
    ("field", "seconds", "is_hidden", "changed", "is_most"),
    [
        ("activeDeadlineSeconds", 30, False, {"activeDeadlineSeconds": 90}, False),
        ("activeDeadlineSeconds", 3600, False, {"activeDeadlineSeconds": 100}, True),
        ("activeDeadlineSeconds", 3600, True, {"activeDeadlineSeconds": 3660}, False),
        ("activeDeadlineSeconds", 10**12, True, {"activeDeadlineSeconds": 315_360_000}, False),
        ("ttlSecondsAfterFinished", 3600, False, {"ttlSecondsAfterFinished": 3605}, False),
    ],
)
async def test_a_job_gets_no_more_time_than_its_class_and_the_api_allow_as_far_as_that_can_be_seen(
    field: str, seconds: int, is_hidden: bool, changed: Object, is_most: bool
) -> None:
    """More would be refused, and later changes with it."""
    api = build_server(is_hidden=is_hidden)
    assert await add_time(api, JOB, field, seconds) is is_most
    assert api.bodies[-1] == {"metadata": {"uid": "u"}, "spec": changed}


@pytest.mark.parametrize(
    ("spec", "field", "said"),
    [
        ({"activeDeadlineSeconds": 100}, "activeDeadlineSeconds", "at most"),
        ({}, "ttlSecondsAfterFinished", "nothing to extend"),
        ({}, "suspend", "nothing to extend"),
    ],
)
async def test_what_has_no_such_end_or_all_of_it_is_not_extended(spec: Object, field: str, said: str) -> None:
    with pytest.raises(Failure, match=said):
        await add_time(build_server(), JOB | {"spec": spec}, field, 3600)


async def add_time(api: MemoryApi, job: Object, field: str, seconds: int) -> bool:
    return await actions.add_time(Visitor(cast(Any, api), cast(Any, None), cast(Any, None), "jane"), job, field, seconds)
