"""An operator is killed, much happens while there is none, and the next one takes it all up."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from nestor.api import conditions, labels, names
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import operator_running
from tests.integration.operator.lifetime import (
    POLICY,
    change,
    come_to,
    job_restarted,
    job_saying,
    server_of,
    start,
    until_stopped,
)
from tests.integration.operator.test_adoption import make_namespace, recorded
from tests.integration.operator.test_deletion import await_gone, nothing_left
from tests.integration.operator.world import Object, build_job
from tests.waiting import exists, gone, job_with, wait_for_none

TEAM = "team-takeover"
HELD = ["example.com/stay"]
VANISHED = "5c9e5e6c-0000-4000-8000-000000000000"
FOREIGN = {"unmarked": {"a": "b"}, "marked": {labels.MANAGED_BY: "nestor", labels.JOB_UID: "another"}}
"""Labels of namespaces that have the name of a job's own, by job. With Nestor's label, one is in the operator's cache."""


@dataclass
class Left:
    """What there was before the next operator: objects by name."""

    jobs: dict[str, Object] = field(default_factory=dict)
    namespaces: dict[str, Object] = field(default_factory=dict)
    failed_server: str = ""


@pytest.fixture(scope="module")
async def admin(second_plane: apiserver.ControlPlane) -> AsyncIterator[Api]:
    """A client with all rights."""
    async with await Api.connect(str(second_plane.kubeconfig), manager="test") as client:
        yield client


@pytest.fixture(scope="module")
async def left(second_plane: apiserver.ControlPlane, admin: Api) -> AsyncIterator[Left]:
    """What the first operator has left and what has happened since; the next operator is at work."""
    found = Left()
    await admin.apply(kinds.NAMESPACE, {"metadata": {"name": TEAM}})
    async with operator_running(second_plane) as first:
        await asyncio.gather(
            *(_admit(admin, found, name) for name in ("away", "orphan", "held", "twice", "known")),
            _fail(admin, found),
            _rest(admin, found),
            _complete(admin, found),
        )
        first.kill()
    await _go_on(admin, found)
    async with operator_running(second_plane):
        yield found


async def _admit(admin: Api, left: Left, name: str) -> None:
    await admin.create(kinds.NESTED_APP_JOB, build_job(name, TEAM))
    await job_with(admin, name, TEAM, conditions.ADMITTED, "True")
    job = await exists(admin, kinds.NESTED_APP_JOB, name, TEAM, lambda found: found["status"].get("namespaceUID"))
    left.jobs[name] = job


async def _fail(admin: Api, left: Left) -> None:
    left.jobs["failing"], where = await start(admin, "failing", TEAM, successPolicy=POLICY, failurePolicy={"action": "Restart"})
    left.failed_server = (await server_of(admin, "failing", where))["metadata"]["uid"]
    await come_to(admin, "failing", where, "Failed", "Job 'pi' has failed")
    await job_restarted(admin, "failing", TEAM, 1)


async def _rest(admin: Api, left: Left) -> None:
    left.jobs["resting"], where = await start(admin, "resting", TEAM, state="Running", activeDeadlineSeconds=3600)
    await change(admin, "resting", TEAM, suspend=True)
    await until_stopped(admin, "resting", where)


async def _complete(admin: Api, left: Left) -> None:
    _, where = await start(admin, "done", TEAM, successPolicy=POLICY)
    await come_to(admin, "done", where, "Succeeded")
    left.jobs["done"] = await job_with(admin, "done", TEAM, conditions.SUCCEEDED, "True")


async def _go_on(admin: Api, left: Left) -> None:
    """What users, tenants and others do while no operator is there."""
    await admin.delete(kinds.NESTED_APP_JOB, "away", TEAM)
    await exists(admin, kinds.NESTED_APP_JOB, "away", TEAM)
    await admin.patch(kinds.NESTED_APP_JOB, "held", TEAM, {"metadata": {"finalizers": HELD}})
    await admin.delete(kinds.NESTED_APP_JOB, "held", TEAM)
    for name in ("orphan", "twice"):
        await admin.delete(kinds.NESTED_APP_JOB, name, TEAM)
        await admin.patch(kinds.NESTED_APP_JOB, name, TEAM, {"metadata": {"finalizers": None}})
    await admin.delete(kinds.ROLE_BINDING, "known-syncer", left.jobs["known"]["status"]["namespace"])
    await change(admin, "resting", TEAM, suspend=False)
    for name in ("twice", "lost", *FOREIGN):
        job = await admin.create(kinds.NESTED_APP_JOB, build_job(name, TEAM))
        uid = job["metadata"]["uid"]
        if name != "twice":
            where = names.job_namespace(name, TEAM, uid)
            left.namespaces[name] = await make_namespace(admin, where, FOREIGN.get(name, labels.of_job(name, TEAM, uid)))
    own = left.namespaces["lost"]["metadata"]
    meta = {"name": "lost", "namespace": own["name"], "labels": own["labels"]}
    await admin.apply(kinds.NESTED_CLUSTER, {"metadata": meta, "spec": {}})
    copied = labels.of_job("vanished", TEAM, VANISHED)
    for name in ("restored", names.job_namespace("vanished", TEAM, VANISHED)):
        await make_namespace(admin, name, copied)


async def test_a_job_deleted_while_the_operator_was_away_goes(admin: Api, left: Left) -> None:
    await await_gone(admin, left.jobs["away"])
    await nothing_left(admin, "away")


async def test_what_lost_its_job_is_swept(admin: Api, left: Left) -> None:
    await await_gone(admin, left.jobs["orphan"])
    await nothing_left(admin, "orphan")


async def test_a_job_that_is_held_by_another_finalizer_than_ours_is_emptied(admin: Api, left: Left) -> None:
    own = labels.selector(job_uid=left.jobs["held"]["metadata"]["uid"])
    await wait_for_none(admin, kinds.NAMESPACE, "", labels=own)
    found = await admin.get(kinds.NESTED_APP_JOB, "held", TEAM)
    assert found["metadata"]["finalizers"] == HELD
    await admin.patch(kinds.NESTED_APP_JOB, "held", TEAM, {"metadata": {"finalizers": None}})
    await await_gone(admin, found)
    await nothing_left(admin, "held")


async def test_what_an_earlier_job_of_the_same_name_left_is_swept_too(admin: Api, left: Left) -> None:
    await job_with(admin, "twice", TEAM, conditions.ADMITTED, "True")
    own = labels.selector(job_uid=left.jobs["twice"]["metadata"]["uid"])
    await wait_for_none(admin, kinds.NAMESPACE, "", labels=own)


async def test_it_knows_its_namespaces_also_without_the_syncers_binding(admin: Api, left: Left) -> None:
    status = left.jobs["known"]["status"]
    await exists(admin, kinds.ROLE_BINDING, "known-syncer", status["namespace"])
    assert (await admin.get(kinds.NAMESPACE, status["namespace"]))["metadata"]["uid"] == status["namespaceUID"]


async def test_what_was_left_without_a_record_is_made_again(admin: Api, left: Left) -> None:
    where = left.namespaces["lost"]["metadata"]["name"]
    made = await recorded(admin, "lost", TEAM, where, other_than=left.namespaces["lost"])
    await exists(admin, kinds.POD, "lost-k3s-0", where)
    assert (await admin.get(kinds.NAMESPACE, where))["metadata"]["uid"] == made["metadata"]["uid"]


async def test_copied_labels_do_not_get_a_namespace_deleted(admin: Api, left: Left) -> None:
    await gone(admin, kinds.NAMESPACE, names.job_namespace("vanished", TEAM, VANISHED), "")
    assert "deletionTimestamp" not in (await admin.get(kinds.NAMESPACE, "restored"))["metadata"]


@pytest.mark.parametrize("name", FOREIGN)
async def test_a_namespace_that_is_not_the_jobs_is_never_touched(admin: Api, left: Left, name: str) -> None:
    before = left.namespaces[name]
    where = before["metadata"]["name"]
    said = f"Namespace '{where}' already exists and does not belong to this job"
    await job_saying(admin, name, TEAM, conditions.CLUSTER_READY, said)
    await admin.delete(kinds.NESTED_APP_JOB, name, TEAM)
    await gone(admin, kinds.NESTED_APP_JOB, name, TEAM)
    assert await admin.get(kinds.NAMESPACE, where) == before
    assert not await admin.list(kinds.NESTED_CLUSTER, where)


async def test_a_job_between_its_failure_and_its_restart_restarts_once(admin: Api, left: Left) -> None:
    where = left.jobs["failing"]["status"]["namespace"]
    await server_of(admin, "failing", where, after=left.failed_server)
    job = await job_with(admin, "failing", TEAM, conditions.SUCCEEDED, "Unknown", conditions.RUNNING)
    assert job["status"]["restarts"] == 1


async def test_a_job_that_is_to_go_on_goes_on(admin: Api, left: Left) -> None:
    await until_stopped(admin, "resting", left.jobs["resting"]["status"]["namespace"], is_stopped=False)
    job = await job_with(admin, "resting", TEAM, conditions.SUCCEEDED, "Unknown", conditions.RUNNING)
    assert job["status"]["startTime"]


async def test_a_job_that_has_ended_stays_as_it_ended(admin: Api, left: Left) -> None:
    ended = left.jobs["done"]["status"]
    again = await admin.get(kinds.NESTED_APP_JOB, "done", TEAM)
    assert again["status"]["completionTime"] == ended["completionTime"]
    assert (await admin.get(kinds.NESTED_CLUSTER, "done", ended["namespace"]))["spec"]["suspend"] is True
