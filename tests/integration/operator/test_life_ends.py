"""A job ends: in success, in failure, by its deadline. It expires, is revived by the user, and may have lost its class."""

from nestor.api import conditions, labels
from nestor.api.objects import is_terminating
from nestor.kube import Api, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.lifetime import (
    POLICY,
    another_plan,
    change,
    come_to,
    job_saying,
    rerun,
    seen,
    server_of,
    start,
    tell,
    until_replicas,
    until_stopped,
    until_told,
)
from tests.integration.operator.world import STEP, build_class, build_job, message_of, plan_hash
from tests.waiting import gone, job_with, wait_for


async def test_a_job_is_complete_when_its_policy_says_so_and_its_application_is_stopped(
    operator: Operator, api: Api, namespace: str
) -> None:
    policy = build_class(f"class-{namespace}")
    await api.apply(kinds.NESTED_CLASS, policy)
    _, where = await start(api, "batch", namespace, successPolicy=POLICY, className=policy["metadata"]["name"])
    cluster = await api.get(kinds.NESTED_CLUSTER, "batch", where)
    assert cluster["spec"]["successPolicy"]["targets"] == [POLICY["targets"][0] | {"namespace": "default"}]
    # What an earlier server said does not count.
    await come_to(api, "batch", where, "Succeeded", server="another")
    await job_saying(api, "batch", namespace, conditions.SUCCEEDED, "not done yet")
    await come_to(api, "batch", where, "Running", "Job 'pi' is active")
    await job_saying(api, "batch", namespace, conditions.SUCCEEDED, "not done yet: Job 'pi' is active")
    await come_to(api, "batch", where, "Succeeded", "Job 'pi' is complete")
    job = await job_with(api, "batch", namespace, conditions.SUCCEEDED, "True", conditions.COMPLETED)
    assert job["status"]["completionTime"] >= job["status"]["startTime"]
    assert message_of(job, conditions.READY) == "Job 'pi' is complete"
    await job_with(api, "batch", namespace, conditions.READY, "True", conditions.COMPLETED)
    await until_stopped(api, "batch", where)
    await until_told(api, namespace, "Completed")
    await tell(api, "batch", where, suspended=True)

    # Templates that change after the end change nothing; only the user's word does.
    ended = job["status"]
    before = await server_of(api, "batch", where)
    hello = {"nested_kubernetes": {"templates": [STEP | {"path": "other.yml"}]}}
    await change(api, "batch", namespace, app={"appDef": {"commands": {"Hello": hello}}})
    job = await seen(api, "batch", namespace)
    assert job["status"]["completionTime"] == ended["completionTime"]
    assert job["status"]["steps"] == ended["steps"]

    # Its server goes after a time that its class may change.
    await job_saying(api, "batch", namespace, conditions.CLUSTER_READY, "stops 600 s after the job did, and its objects are gone")
    policy["spec"]["cluster"] = {"stopEndedAfterSeconds": 0}
    await api.apply(kinds.NESTED_CLASS, policy)
    await until_replicas(api, "batch", where, 0)
    await gone(api, kinds.POD, before["metadata"]["name"], where)
    job = await job_saying(
        api, "batch", namespace, conditions.CLUSTER_READY, "its control plane is stopped, and its objects are gone"
    )
    assert message_of(job, conditions.READY) == "Job 'pi' is complete"

    # It begins in an empty cluster, without the volumes: what is done there would end the job again at once.
    marks = {labels.MANAGED_BY: "nestor", labels.JOB: "batch", labels.CLUSTER: "batch", labels.NESTED_UID: "n"}
    meta = {"name": "data", "namespace": where, "labels": marks}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await api.create(kinds.PERSISTENT_VOLUME_CLAIM, {"metadata": meta, "spec": spec})
    await operator.heard(api)
    await rerun(api, "batch", namespace, "2")
    await server_of(api, "batch", where, after=before["metadata"]["uid"])
    await wait_for(api, kinds.PERSISTENT_VOLUME_CLAIM, "data", where, lambda found: found is None or is_terminating(found))
    await until_stopped(api, "batch", where, is_stopped=False)
    job = await job_with(api, "batch", namespace, conditions.SUCCEEDED, "Unknown", conditions.RUNNING)
    assert "completionTime" not in job["status"]
    assert job["status"]["rerun"] == "2"
    assert [step["state"] for step in job["status"]["steps"]] == ["Pending"]
    await until_told(api, namespace, "Rerun")


async def test_a_failed_step_ends_the_job_but_keeps_its_cluster_until_the_templates_change(
    operator: Operator, api: Api, namespace: str
) -> None:
    job, where = await start(api, "broken", namespace, state="Failed", activeDeadlineSeconds=3600)
    job = await job_with(api, "broken", namespace, conditions.SUCCEEDED, "False", conditions.STEP_FAILED)
    assert job["status"]["completionTime"]
    assert (await api.get(kinds.NESTED_CLUSTER, "broken", where))["spec"]["suspend"] is False
    before = await plan_hash(api, "broken", where)
    hello = {"nested_kubernetes": {"templates": [STEP | {"path": "corrected.yml"}]}}
    await change(api, "broken", namespace, app={"appDef": {"commands": {"Hello": hello}}})
    job = await job_with(api, "broken", namespace, conditions.SUCCEEDED, "Unknown", conditions.RUNNING)
    assert "completionTime" not in job["status"]
    await another_plan(api, "broken", where, before)


async def test_a_failed_step_is_tried_again_by_the_annotation_in_the_same_cluster(
    operator: Operator, api: Api, namespace: str
) -> None:
    _, where = await start(api, "again", namespace, state="Failed")
    await job_with(api, "again", namespace, conditions.SUCCEEDED, "False", conditions.STEP_FAILED)
    server = await server_of(api, "again", where)
    before = await plan_hash(api, "again", where)
    await rerun(api, "again", namespace, "now")
    await job_with(api, "again", namespace, conditions.SUCCEEDED, "Unknown", conditions.RUNNING)
    await another_plan(api, "again", where, before)
    assert (await server_of(api, "again", where))["metadata"]["uid"] == server["metadata"]["uid"]


async def test_a_job_ends_at_its_deadline_wherever_it_is(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("slow", namespace, activeDeadlineSeconds=3))
    job = await job_with(api, "slow", namespace, conditions.SUCCEEDED, "False", conditions.DEADLINE_EXCEEDED)
    where = job["status"]["namespace"]
    assert "`activeDeadlineSeconds` of 3 s" in message_of(job, conditions.READY)
    assert "the job ended before the first step was done" in message_of(job, conditions.STEPS_APPLIED)
    await until_stopped(api, "slow", where)
    await gone(api, kinds.POD, "slow-run", where)
    await until_told(api, namespace, "DeadlineExceeded")


async def test_a_job_that_was_deleted_and_made_again_does_not_inherit_the_end_of_the_former(
    operator: Operator, api: Api, namespace: str
) -> None:
    await start(api, "twice", namespace, state="Failed")
    await change(api, "twice", namespace, ttlSecondsAfterFinished=0)
    await gone(api, kinds.NESTED_APP_JOB, "twice", namespace)
    job = await api.create(kinds.NESTED_APP_JOB, build_job("twice", namespace, ttlSecondsAfterFinished=0))
    job = await job_with(api, "twice", namespace, conditions.SUCCEEDED, "Unknown", conditions.RUNNING)
    assert "completionTime" not in job["status"]


async def test_a_job_without_its_class_still_ends_and_goes(operator: Operator, api: Api, namespace: str) -> None:
    brief = f"gone-{namespace}"
    await api.apply(kinds.NESTED_CLASS, build_class(brief))
    _, where = await start(api, "bound", namespace, className=brief)
    await api.delete(kinds.NESTED_CLASS, brief)
    await job_with(api, "bound", namespace, conditions.ADMITTED, "False", conditions.CLASS_NOT_FOUND)
    await change(api, "bound", namespace, activeDeadlineSeconds=1)
    job = await job_with(api, "bound", namespace, conditions.SUCCEEDED, "False", conditions.DEADLINE_EXCEEDED)
    await until_stopped(api, "bound", where)
    job = await job_with(api, "bound", namespace, conditions.READY, "False", conditions.DEADLINE_EXCEEDED)
    assert not conditions.is_true(job["status"]["conditions"], conditions.ADMITTED)
    await change(api, "bound", namespace, ttlSecondsAfterFinished=1)
    await gone(api, kinds.NESTED_APP_JOB, "bound", namespace)
