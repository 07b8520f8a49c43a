"""A failed application restarts in an empty cluster: counted once, with growing delays, and across operators."""

from __future__ import annotations

import pytest

from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator, operator_running
from tests.integration.operator.lifetime import (
    POLICY,
    change,
    come_to,
    ensure_persistent_class,
    rerun,
    server_of,
    start,
    tell,
    until_replicas,
    until_stopped,
    until_told,
)
from tests.integration.operator.world import Object, be_ready_server, message_of, run_of, set_pod_status
from tests.waiting import has, job_with, wait_for, wait_for_none


async def uid_of_server(api: Api, name: str, where: str, *, after: str = "") -> str:
    """The UID of the server's pod."""
    return str((await server_of(api, name, where, after=after))["metadata"]["uid"])


async def job_restarted(api: Api, name: str, namespace: str, times: int) -> Object:
    """Await a job that was restarted that often."""

    def is_it(found: Object | None) -> bool:
        return bool(found and found["status"].get("restarts") == times)

    job = await wait_for(api, kinds.NESTED_APP_JOB, name, namespace, is_it)
    assert job is not None
    return job


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

    def is_another(found: Object | None) -> bool:
        return bool(found and found["metadata"]["uid"] != claim["metadata"]["uid"])

    await wait_for(api, kinds.PERSISTENT_VOLUME_CLAIM, "data-rerun-k3s-0", where, is_another)
    await job_with(api, "rerun", namespace, conditions.SUCCEEDED, "Unknown", conditions.RUNNING)
    await until_stopped(api, "rerun", where, is_stopped=False)


async def test_an_operator_goes_on_where_another_one_was_killed(second_plane: apiserver.ControlPlane, lonely: Api) -> None:
    """Suspended, between failure and restart, and after the end: each is in the status alone."""
    await lonely.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    async with operator_running(second_plane) as first:
        _, failing = await start(lonely, "failing", "team", successPolicy=POLICY, failurePolicy={"action": "Restart"})
        _, resting = await start(lonely, "resting", "team", state="Running", activeDeadlineSeconds=3600)
        _, done = await start(lonely, "done", "team", successPolicy=POLICY)
        server = await uid_of_server(lonely, "failing", failing)
        await change(lonely, "resting", "team", suspend=True)
        await until_stopped(lonely, "resting", resting)
        await come_to(lonely, "done", done, "Succeeded")
        ended = await job_with(lonely, "done", "team", conditions.SUCCEEDED, "True")
        await come_to(lonely, "failing", failing, "Failed", "Job 'pi' has failed")
        await job_restarted(lonely, "failing", "team", 1)
        first.kill()
    await change(lonely, "resting", "team", suspend=False)
    async with operator_running(second_plane):
        await uid_of_server(lonely, "failing", failing, after=server)
        job = await job_with(lonely, "failing", "team", conditions.SUCCEEDED, "Unknown", conditions.RUNNING)
        assert job["status"]["restarts"] == 1
        await until_stopped(lonely, "resting", resting, is_stopped=False)
        job = await job_with(lonely, "resting", "team", conditions.SUCCEEDED, "Unknown", conditions.RUNNING)
        assert job["status"]["startTime"]
        again = await lonely.get(kinds.NESTED_APP_JOB, "done", "team")
        assert again["status"]["completionTime"] == ended["status"]["completionTime"]
        assert (await lonely.get(kinds.NESTED_CLUSTER, "done", done))["spec"]["suspend"] is True
        await set_pod_status(lonely, "failing-k3s-0", failing, {"phase": "Running"})
        for name in ("failing", "resting", "done"):
            await lonely.delete(kinds.NESTED_APP_JOB, name, "team")
        await wait_for_none(lonely, kinds.NAMESPACE, "", labels=labels.selector(job_namespace="team"))
