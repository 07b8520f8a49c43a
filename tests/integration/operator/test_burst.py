"""Many jobs at once, and an operator that is killed in the midst of them: the next one takes up all."""

from __future__ import annotations

import asyncio

from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import operator_running
from tests.integration.operator.world import build_job
from tests.waiting import has, wait_for_any, wait_for_none

SPACE = "burst"
NAMES = [f"hello-{number}" for number in range(20)]


async def test_no_job_of_a_burst_is_lost_with_the_operator(second_plane: apiserver.ControlPlane, lonely: Api) -> None:
    await lonely.apply(kinds.NAMESPACE, {"metadata": {"name": SPACE}})
    own = labels.selector(job_namespace=SPACE)
    async with operator_running(second_plane) as first:
        await asyncio.gather(*(lonely.create(kinds.NESTED_APP_JOB, build_job(name, SPACE)) for name in NAMES))
        await wait_for_any(lonely, kinds.STATEFUL_SET, "", lambda _: True, labels=own)
        first.kill()
    async with operator_running(second_plane) as second:
        await second.heard(lonely)
        jobs = await lonely.list(kinds.NESTED_APP_JOB, SPACE)
        assert {job["metadata"]["name"] for job in jobs if has(conditions.ADMITTED, "True")(job)} == set(NAMES)
        assert len(await lonely.list(kinds.STATEFUL_SET, labels=own)) == len(NAMES)
        for name in NAMES:
            await lonely.delete(kinds.NESTED_APP_JOB, name, SPACE)
        await wait_for_none(lonely, kinds.NESTED_APP_JOB, SPACE)
