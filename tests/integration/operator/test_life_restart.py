"""A failed application restarts in an empty cluster: counted once, with growing delays."""

import pytest

from nestor.api import conditions
from nestor.kube import Api, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.lifetime import (
    POLICY,
    come_to,
    ensure_persistent_class,
    job_restarted,
    rerun,
    server_of,
    start,
    tell,
    until_replicas,
    until_stopped,
    until_told,
)
from tests.integration.operator.world import be_ready_server, message_of, run_of
from tests.waiting import another, has, job_with


async def uid_of_server(api: Api, name: str, where: str, *, after: str = "") -> str:
    """The UID of the server's pod."""
    return str((await server_of(api, name, where, after=after))["metadata"]["uid"])


@pytest.mark.slow
async def test_a_failed_step_begins_the_job_again_until_its_restarts_are_used_up(
    operator: Operator, api: Api, namespace: str
) -> None:
    policy = {"action": "Restart", "maxRestarts": 1}
    _, where = await start(api, "tries", namespace, state="Failed", failurePolicy=policy)
    first = await uid_of_server(api, "tries", where)
    job = await job_restarted(api, "tries", namespace, 1)
    assert message_of(job, conditions.READY).startswith("restart 1 of 1 in an empty cluster: step 'hello' failed")
    assert has(conditions.READY, "False", conditions.RESTARTING)(job)
    await until_stopped(api, "tries", where)
    await until_told(api, namespace, "Restarted")

    second = await uid_of_server(api, "tries", where, after=first)
    await until_stopped(api, "tries", where, is_stopped=False)
    job = await job_with(api, "tries", namespace, conditions.SUCCEEDED, "Unknown", conditions.RUNNING)
    assert job["status"]["restarts"] == 1
    assert "restart" not in job["status"]
    assert [step["state"] for step in job["status"]["steps"]] == ["Pending"]

    run = await run_of(api, "tries", where, "Failed", state="Failed", message="still broken")
    await be_ready_server(api, "tries", where, run=run)
    job = await job_with(api, "tries", namespace, conditions.SUCCEEDED, "False", conditions.RESTARTS_EXHAUSTED)
    assert message_of(job, conditions.READY) == "restarted 1 of 1 times, then: step 'hello' failed: still broken"
    assert await uid_of_server(api, "tries", where) == second
    await until_stopped(api, "tries", where)
    await until_told(api, namespace, "JobFailed")


async def test_a_job_that_ended_at_rest_on_a_volume_runs_again_from_an_empty_one(
    operator: Operator, api: Api, namespace: str
) -> None:
    await ensure_persistent_class(api, f"rerun-{namespace}")
    _, where = await start(api, "rerun", namespace, className=f"rerun-{namespace}", successPolicy=POLICY)
    claim = await api.get(kinds.PERSISTENT_VOLUME_CLAIM, "data-rerun-k3s-0", where)
    await come_to(api, "rerun", where, "Succeeded")
    await job_with(api, "rerun", namespace, conditions.SUCCEEDED, "True", conditions.COMPLETED)
    await tell(api, "rerun", where, suspended=True)
    await until_replicas(api, "rerun", where, 0)
    await rerun(api, "rerun", namespace, "1")
    await until_replicas(api, "rerun", where, 1)
    await another(api, kinds.PERSISTENT_VOLUME_CLAIM, "data-rerun-k3s-0", where, than=claim)
    await job_with(api, "rerun", namespace, conditions.SUCCEEDED, "Unknown", conditions.RUNNING)
    await until_stopped(api, "rerun", where, is_stopped=False)
