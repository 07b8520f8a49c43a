"""Suspend and resume: with and without a volume, during a step, created suspended, without the class, many times."""

import base64

from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.lifetime import (
    PERSISTENCE,
    change,
    create_app_pod,
    ensure_persistent_class,
    job_saying,
    seen,
    server_of,
    start,
    tell,
    until_replicas,
    until_stopped,
    until_told,
)
from tests.integration.operator.world import READY_POD, build_class, build_job, ended, message_of, plan_hash, set_pod_status
from tests.waiting import gone, has, job_with


async def test_a_job_suspended_in_the_middle_of_a_step_goes_on_with_it(operator: Operator, api: Api, namespace: str) -> None:
    job, where = await start(api, "midway", namespace, state="Running")
    assert job["status"]["startTime"]
    plan = await plan_hash(api, "midway", where)
    await create_app_pod(api, "web", where, job)

    await change(api, "midway", namespace, suspend=True)
    await until_stopped(api, "midway", where)
    await gone(api, kinds.POD, "midway-run", where)
    job = await job_saying(api, "midway", namespace, conditions.READY, "suspended: its pods are being stopped, 1 left")
    assert job["status"]["suspendTime"]
    assert "startTime" not in job["status"]
    assert "suspended before step 1 of 1 'hello' was done" in message_of(job, conditions.STEPS_APPLIED)

    await api.delete(kinds.POD, "web", where)
    await tell(api, "midway", where, suspended=True, pods={"running": 0, "waiting": 1})
    job = await job_saying(api, "midway", namespace, conditions.READY, "its control plane keeps running")
    assert job["status"]["pods"] == {"running": 0, "waiting": 1}
    assert conditions.is_true(job["status"]["conditions"], conditions.CLUSTER_READY)
    assert (await api.get(kinds.STATEFUL_SET, "midway-k3s", where))["spec"]["replicas"] == 1
    await operator.heard(api)
    assert await api.find(kinds.POD, "midway-run", where) is None
    await until_told(api, namespace, "Suspended")

    await change(api, "midway", namespace, suspend=False)
    await until_stopped(api, "midway", where, is_stopped=False)
    assert await plan_hash(api, "midway", where) == plan, "its record is of this plan, so it resumes there"
    await tell(api, "midway", where, suspended=False)
    job = await job_with(api, "midway", namespace, conditions.STEPS_APPLIED, "False", conditions.STEP_RUNNING)
    assert job["status"]["startTime"]
    assert "suspendTime" not in job["status"]
    await until_told(api, namespace, "Resumed")


async def test_a_job_that_is_made_suspended_has_nothing_until_it_is_resumed(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("later", namespace, suspend=True, activeDeadlineSeconds=3600))
    job = await job_with(api, "later", namespace, conditions.READY, "False", conditions.SUSPENDED)
    assert conditions.is_true(job["status"]["conditions"], conditions.ADMITTED)
    assert "before it started" in message_of(job, conditions.CLUSTER_READY)
    mine = labels.selector(job_uid=job["metadata"]["uid"])
    await operator.heard(api)
    assert await api.list(kinds.NAMESPACE, labels=mine) == []
    assert "startTime" not in job["status"]
    await change(api, "later", namespace, suspend=False)
    job = await job_with(api, "later", namespace, conditions.SUCCEEDED, "Unknown", conditions.RUNNING)
    assert job["status"]["startTime"]
    await server_of(api, "later", job["status"]["namespace"])


async def test_with_a_volume_the_control_plane_rests_too_and_its_data_is_the_same_afterwards(
    operator: Operator, api: Api, namespace: str
) -> None:
    await ensure_persistent_class(api, f"keep-{namespace}")
    job, where = await start(api, "kept", namespace, className=f"keep-{namespace}")
    plan = await plan_hash(api, "kept", where)
    await set_pod_status(api, "kept-run", where, ended("runner", 0, "Completed"))
    await operator.heard(api)  # one that works yet would be ended
    claim = await api.get(kinds.PERSISTENT_VOLUME_CLAIM, "data-kept-k3s-0", where)
    assert claim["spec"]["storageClassName"] == PERSISTENCE["storageClassName"]
    assert (await api.get(kinds.NESTED_CLUSTER, "kept", where))["spec"]["persistence"] == PERSISTENCE
    # The class is for those that come after it.
    await ensure_persistent_class(api, f"keep-{namespace}", None)

    await change(api, "kept", namespace, suspend=True)
    await until_stopped(api, "kept", where)
    await until_replicas(api, "kept", where, 1)
    await tell(api, "kept", where, suspended=True)
    await until_replicas(api, "kept", where, 0)
    await gone(api, kinds.POD, "kept-k3s-0", where)
    kept = "its pods and its control plane are stopped; its data stays in PersistentVolumeClaim 'data-kept-k3s-0'"
    job = await job_saying(api, "kept", namespace, conditions.READY, kept)
    assert has(conditions.CLUSTER_READY, "False", conditions.SUSPENDED)(job)
    assert conditions.is_true(job["status"]["conditions"], conditions.STEPS_APPLIED)

    await change(api, "kept", namespace, suspend=False)
    await until_replicas(api, "kept", where, 1)
    await server_of(api, "kept", where)
    await set_pod_status(api, "kept-k3s-0", where, READY_POD)
    job = await job_with(api, "kept", namespace, conditions.CLUSTER_READY, "True")
    await tell(api, "kept", where, suspended=False)
    job = await job_with(api, "kept", namespace, conditions.READY, "False", conditions.TARGET_NOT_FOUND)
    assert conditions.is_true(job["status"]["conditions"], conditions.STEPS_APPLIED)
    again = await api.get(kinds.PERSISTENT_VOLUME_CLAIM, "data-kept-k3s-0", where)
    assert again["metadata"]["uid"] == claim["metadata"]["uid"]
    assert await plan_hash(api, "kept", where) == plan, "the runner that ended is there with its log, and no other one"
    stored = await api.get(kinds.SECRET, "kept-plan", where)
    assert plan in base64.b64decode(stored["data"]["plan.json"]).decode(), "no data was lost: nothing is applied anew"


async def test_a_job_that_is_suspended_and_resumed_many_times_at_once_ends_as_it_was_told_last(
    operator: Operator, api: Api, namespace: str
) -> None:
    await ensure_persistent_class(api, f"flap-{namespace}")
    _, where = await start(api, "flap", namespace, className=f"flap-{namespace}")
    before = await server_of(api, "flap", where)
    for number in range(6):
        await change(api, "flap", namespace, suspend=number % 2 == 0)
    job = await job_with(api, "flap", namespace, conditions.SUCCEEDED, "Unknown", conditions.RUNNING)
    await until_stopped(api, "flap", where, is_stopped=False)
    await until_replicas(api, "flap", where, 1)
    assert (await server_of(api, "flap", where))["metadata"]["uid"] == before["metadata"]["uid"]

    # The syncer's word of the first rest is still there when the next one begins.
    await tell(api, "flap", where, suspended=True)
    await create_app_pod(api, "still-here", where, job)
    await change(api, "flap", namespace, suspend=True)
    await until_stopped(api, "flap", where)
    await job_saying(api, "flap", namespace, conditions.READY, "1 left")
    await until_replicas(api, "flap", where, 1)
    await api.delete(kinds.POD, "still-here", where)
    await until_replicas(api, "flap", where, 0)


async def test_a_job_rests_without_its_class_and_goes_on_when_that_is_back(operator: Operator, api: Api, namespace: str) -> None:
    brief = f"brief-{namespace}"
    await ensure_persistent_class(api, brief)
    _, where = await start(api, "orphan", namespace, className=brief)
    await api.delete(kinds.NESTED_CLASS, brief)
    await job_with(api, "orphan", namespace, conditions.ADMITTED, "False", conditions.CLASS_NOT_FOUND)
    await change(api, "orphan", namespace, suspend=True)
    await until_stopped(api, "orphan", where)
    await tell(api, "orphan", where, suspended=True)
    await until_replicas(api, "orphan", where, 0)
    await job_with(api, "orphan", namespace, conditions.SUCCEEDED, "Unknown", conditions.SUSPENDED)

    await change(api, "orphan", namespace, suspend=False)
    job = await seen(api, "orphan", namespace)
    assert has(conditions.READY, "False", conditions.CLASS_NOT_FOUND)(job)
    assert (await api.get(kinds.NESTED_CLUSTER, "orphan", where))["spec"]["suspend"] is True, "it cannot be admitted"
    await api.apply(kinds.NESTED_CLASS, build_class(brief))
    await until_stopped(api, "orphan", where, is_stopped=False)
    await until_replicas(api, "orphan", where, 1)
    await job_with(api, "orphan", namespace, conditions.SUCCEEDED, "Unknown", conditions.RUNNING)


async def test_a_dead_syncer_does_not_keep_a_job_from_resting(operator: Operator, api: Api, namespace: str) -> None:
    await ensure_persistent_class(api, f"dead-{namespace}")
    job, where = await start(api, "mute", namespace, className=f"dead-{namespace}")
    await create_app_pod(api, "left", where, job)
    await change(api, "mute", namespace, suspend=True)
    await job_saying(api, "mute", namespace, conditions.READY, "its pods are being stopped, 1 left")
    await operator.heard(api)
    # The two minutes that a syncer has are over.
    status = {"suspendTime": "2026-01-01T00:00:00Z"}
    await api.patch(kinds.NESTED_APP_JOB, "mute", namespace, {"status": status}, subresource="status")
    await until_replicas(api, "mute", where, 0)
    await gone(api, kinds.POD, "left", where)
    job = await job_saying(api, "mute", namespace, conditions.READY, "its pods and its control plane are stopped")
    assert job["status"]["suspendTime"] == status["suspendTime"]
