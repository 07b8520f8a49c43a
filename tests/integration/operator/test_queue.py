"""Jobs of a class wait for each other: by number and by quota, across whatever happens to jobs, class and operator."""

import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from nestor.api import conditions, labels, times
from nestor.kube import Api, ApiError, Invalid, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator, operator_running
from tests.integration.operator.lifetime import change, create_app_pod, job_saying, start, tell, until_stopped
from tests.integration.operator.world import Object, build_class, build_job, host_namespace, message_of
from tests.waiting import eventually, gone, job_with, queued_job, wait_for

Make = Callable[..., Awaitable[str]]
MACHINES = [{"name": "small", "quota": {"requests.cpu": "2"}}, {"name": "big", "quota": {"requests.cpu": "6"}}]


@pytest.fixture
async def queue(api: Api, namespace: str) -> AsyncIterator[Make]:
    """Makes or changes a class of the test's own; returns its name."""
    name = f"{namespace}-line"

    async def make(*, placement: Object | None = None, **found: Any) -> str:
        body = build_class(name)
        body["spec"] |= {"queue": found} | ({"placement": placement} if placement else {})
        await api.apply(kinds.NESTED_CLASS, body)
        return name

    yield make
    await api.delete(kinds.NESTED_CLASS, name)


async def waiting(api: Api, name: str, namespace: str, position: int) -> Object:
    """Await that the job waits in that position."""
    return await queued_job(api, name, namespace, position)


async def admitted(api: Api, name: str, namespace: str) -> Object:
    """Await that the job may run."""
    return await job_with(api, name, namespace, conditions.ADMITTED, "True")


async def make_jobs(api: Api, namespace: str, class_name: str, *names: str, **spec: Any) -> None:
    """One after another, each in another second; and it is admitted or told its position before the next one comes."""
    for name in names:
        job = await api.create(kinds.NESTED_APP_JOB, build_job(name, namespace, className=class_name, **spec))
        await wait_for(api, kinds.NESTED_APP_JOB, name, namespace, is_told)
        await eventually(functools.partial(is_past, job["metadata"]["creationTimestamp"]))


def is_told(job: Object | None) -> bool:
    """Whether the operator has looked at it."""
    found = conditions.find(((job or {}).get("status") or {}).get("conditions"), conditions.ADMITTED)
    return found is not None and found["reason"] != conditions.PENDING


async def is_past(second: str) -> bool:
    """Whether that second is over."""
    return times.timestamp() > second


async def test_jobs_wait_in_turn_and_what_waits_has_nothing(operator: Operator, api: Api, namespace: str, queue: Make) -> None:
    name = await queue(maxJobs=1)
    await make_jobs(api, namespace, name, "one", "two", "three")
    await admitted(api, "one", namespace)
    two = await waiting(api, "two", namespace, 1)
    assert message_of(two, conditions.ADMITTED) == f"next in the queue of class '{name}'; jobs running: 1 of 1"
    assert conditions.reason_of(conditions.find(two["status"]["conditions"], conditions.READY)) == conditions.QUEUED
    assert two["status"]["queue"]["since"] == two["metadata"]["creationTimestamp"]
    three = await waiting(api, "three", namespace, 2)
    assert message_of(three, conditions.ADMITTED) == f"number 2 in the queue of class '{name}'"
    await operator.heard(api)
    for job in (two, three):
        mine = labels.selector(job_uid=job["metadata"]["uid"])
        assert await api.list(kinds.NAMESPACE, labels=mine) == []
        assert "namespace" not in job["status"]

    await api.delete(kinds.NESTED_APP_JOB, "one", namespace)
    found = await admitted(api, "two", namespace)
    assert "queue" not in found["status"]
    await host_namespace(api, found)
    await waiting(api, "three", namespace, 1)
    await queue(maxJobs=2)
    await admitted(api, "three", namespace)


async def test_a_suspended_job_gives_its_place_away_and_waits_when_it_is_resumed(
    operator: Operator, api: Api, namespace: str, queue: Make
) -> None:
    name = await queue(maxJobs=1)
    _, where = await start(api, "one", namespace, className=name)
    await make_jobs(api, namespace, name, "two")
    await waiting(api, "two", namespace, 1)
    await change(api, "one", namespace, suspend=True)
    await until_stopped(api, "one", where)
    await tell(api, "one", where, suspended=True)
    await admitted(api, "two", namespace)

    await change(api, "one", namespace, suspend=False)
    job = await waiting(api, "one", namespace, 1)
    assert "startTime" not in job["status"]
    said = conditions.find(job["status"]["conditions"], conditions.SUCCEEDED) or {}
    assert said["reason"] == conditions.QUEUED
    assert (await api.get(kinds.NESTED_CLUSTER, "one", where))["spec"]["suspend"] is True
    await api.delete(kinds.NESTED_APP_JOB, "two", namespace)
    await until_stopped(api, "one", where, is_stopped=False)
    await admitted(api, "one", namespace)


async def hold_pod(api: Api, job: Object, where: str) -> None:
    """A pod of the application that is being deleted and stays until it is let go. It has a node, or it would be cleared away."""
    await api.apply(kinds.NODE, {"metadata": {"name": "slow"}, "spec": {}})
    held = {"finalizers": ["test.nestor.dev/held"]}
    await create_app_pod(api, "web", where, job, held, nodeName="slow")
    await api.delete(kinds.POD, "web", where)


async def let_go(api: Api, where: str) -> None:
    """The pod goes, as after its grace period."""
    await api.delete(kinds.POD, "web", where, grace_seconds=0)
    await api.patch(kinds.POD, "web", where, {"metadata": {"finalizers": None}})


async def test_a_place_is_free_when_the_pods_are_gone(operator: Operator, api: Api, namespace: str, queue: Make) -> None:
    name = await queue(placement={"machines": MACHINES}, quota={"requests.cpu": "6"})
    job, where = await start(api, "one", namespace, className=name, machine="small")
    await make_jobs(api, namespace, name, "two", machine="big")
    await waiting(api, "two", namespace, 1)
    await change(api, "one", namespace, suspend=True)
    await until_stopped(api, "one", where)
    await hold_pod(api, job, where)
    await tell(api, "one", where, suspended=True)
    two = await job_saying(api, "two", namespace, conditions.ADMITTED, "1 job is ending")
    assert message_of(two, conditions.ADMITTED).endswith("it needs 6 of `requests.cpu`, 4 available; 1 job is ending")
    await change(api, "one", namespace, suspend=False, machine="big")
    one = await job_saying(api, "one", namespace, conditions.ADMITTED, "its pods from before it was stopped are still ending")
    assert one["status"]["reserved"] == {"requests.cpu": "2"}, "not what it will have"
    assert set(one["status"]["queue"]) == {"since"}
    await let_go(api, where)
    await admitted(api, "two", namespace)
    one = await waiting(api, "one", namespace, 1)
    assert "reserved" not in one["status"]
    assert (await api.get(kinds.NESTED_CLUSTER, "one", where))["spec"]["suspend"] is True


async def test_a_job_of_another_controller_is_left_alone(operator: Operator, api: Api, namespace: str, queue: Make) -> None:
    name = await queue(maxJobs=1)
    other = await api.create(
        kinds.NESTED_APP_JOB, build_job("other", namespace, className=name, managedBy="kueue.x-k8s.io/multikueue")
    )
    said: Object = {"type": "Ready", "status": "True", "reason": "AppReady", "message": "elsewhere"}
    said["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    status = {"conditions": [said], "url": "https://elsewhere.test", "namespace": "nestor-elsewhere", "observedGeneration": 1}
    body = {"metadata": {"name": "other", "namespace": namespace}, "status": status}
    await api.apply(kinds.NESTED_APP_JOB, body, subresource="status")
    await make_jobs(api, namespace, name, "mine", managedBy="nestor.dev/operator")
    await admitted(api, "mine", namespace)
    await operator.heard(api)
    found = await api.get(kinds.NESTED_APP_JOB, "other", namespace)
    assert found["status"] == status
    assert "finalizers" not in found["metadata"]
    assert await api.list(kinds.NAMESPACE, labels=labels.selector(job_uid=other["metadata"]["uid"])) == []
    await api.delete(kinds.NESTED_APP_JOB, "other", namespace)
    await gone(api, kinds.NESTED_APP_JOB, "other", namespace)


@pytest.mark.slow
async def test_another_operator_knows_whose_pods_are_still_there_also_while_their_job_is_deleted(
    second_plane: apiserver.ControlPlane, lonely: Api
) -> None:
    team = "team-ending"
    await lonely.create(kinds.NAMESPACE, {"metadata": {"name": team}})
    body = build_class("ending")
    body["spec"]["queue"] = {"maxJobs": 1}
    await lonely.apply(kinds.NESTED_CLASS, body)
    async with operator_running(second_plane) as first:
        job, where = await start(lonely, "one", team, className="ending")
        await make_jobs(lonely, team, "ending", "two")
        await waiting(lonely, "two", team, 1)
        await change(lonely, "one", team, suspend=True)
        await until_stopped(lonely, "one", where)
        await hold_pod(lonely, job, where)
        await tell(lonely, "one", where, suspended=True)
        await job_saying(lonely, "two", team, conditions.ADMITTED, "ending: 1")
        first.kill()
    async with operator_running(second_plane, give_up=600) as second:
        await second.heard(lonely)
        await waiting(lonely, "two", team, 1)
        await lonely.delete(kinds.NESTED_APP_JOB, "one", team)
        await job_with(lonely, "one", team, conditions.READY, "False", conditions.TERMINATING)
        await second.heard(lonely)
        await waiting(lonely, "two", team, 1)
        await let_go(lonely, where)
        await admitted(lonely, "two", team)
        await lonely.delete(kinds.NESTED_APP_JOB, "two", team)
        await gone(lonely, kinds.NESTED_APP_JOB, "two", team)


@pytest.mark.parametrize("value", ["kueue", "Kueue/x", "kueue.x-k8s.io/", ""])
async def test_a_controller_has_the_form_that_jobs_have(api: Api, namespace: str, value: str) -> None:
    with pytest.raises(Invalid, match="managedBy"):
        await api.create(kinds.NESTED_APP_JOB, build_job("bad", namespace, managedBy=value))


@pytest.mark.parametrize("value", ["example.com/other", "nestor.dev/operator"])
async def test_a_controller_stays(operator: Operator, api: Api, namespace: str, value: str) -> None:
    await api.create(kinds.NESTED_APP_JOB, build_job("fixed", namespace, managedBy="kueue.x-k8s.io/multikueue"))
    for changed in (value, None):
        with pytest.raises(ApiError, match="managedBy"):
            await change(api, "fixed", namespace, managedBy=changed)
