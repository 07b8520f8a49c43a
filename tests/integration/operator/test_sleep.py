"""Jobs that nobody uses are put to sleep, and woken by a request; the test plays syncer, kubelet and activator."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from nestor.api import conditions, labels, names
from nestor.api.contracts.activator import CALLED, SERVICE, SLEEPERS
from nestor.clients.activator import Activator, build_app
from nestor.kube import Api, Forbidden, kinds
from tests.integration import apiserver
from tests.integration.chart import render
from tests.integration.operator.conftest import ACCOUNT, Operator, operator_running, plane_running
from tests.integration.operator.lifetime import change, tell, until_stopped
from tests.integration.operator.world import Object, be_ready_server, be_target, build_job, host_namespace, message_of, run_of
from tests.waiting import exists, gone, has, job_with, wait_for_none

OWN = "nestor-system"
LONG_AGO = "2026-01-01T00:00:00Z"
ENABLED = ("--set", "activator.enabled=true")
IDLE = {"idleSeconds": 30}


@pytest.fixture(scope="module")
async def sleep_plane() -> AsyncIterator[apiserver.ControlPlane]:
    """A control plane with what the chart says of the activator, and its EndpointSlice."""
    async with plane_running(*ENABLED) as plane, await Api.connect(str(plane.kubeconfig), manager="test") as api:
        (made,) = [item for item in await render(*ENABLED) if item["metadata"]["name"] == SLEEPERS]
        await api.apply(kinds.CONFIG_MAP, made)
        await api.apply(
            kinds.ENDPOINT_SLICE,
            {
                "metadata": {"name": "act-1", "namespace": OWN, "labels": {"kubernetes.io/service-name": SERVICE}},
                "addressType": "IPv4",
                "ports": [{"name": "http", "port": 8080}],
                "endpoints": [{"addresses": ["10.42.0.77"], "conditions": {"ready": True}}],
            },
        )
        yield plane


@pytest.fixture
async def api(sleep_plane: apiserver.ControlPlane) -> AsyncIterator[Api]:
    """A client with all rights."""
    async with await Api.connect(str(sleep_plane.kubeconfig), manager="test") as client:
        yield client


@pytest.fixture
async def operator(sleep_plane: apiserver.ControlPlane) -> AsyncIterator[Operator]:
    """An operator that lets jobs sleep."""
    async with operator_running(sleep_plane, more={"NESTOR_ACTIVATOR": "true"}) as running:
        yield running


async def be_up(api: Api, name: str, where: str, job: Object) -> None:
    """A cluster that works, with the job's target."""
    await be_ready_server(api, name, where, run=await run_of(api, name, where, "Succeeded"))
    await be_target(api, where, job)


async def fall_asleep(api: Api, name: str, namespace: str, **spec: Any) -> tuple[Object, str]:
    """A job that was ready for its time, and then did nothing."""
    job = await api.create(kinds.NESTED_APP_JOB, build_job(name, namespace, **spec))
    where = await host_namespace(api, job)
    await be_up(api, name, where, job)
    ready = await job_with(api, name, namespace, conditions.READY, "True")
    old = [item | {"lastTransitionTime": LONG_AGO} for item in ready["status"]["conditions"]]
    await api.patch(kinds.NESTED_APP_JOB, name, namespace, {"status": {"conditions": old}}, subresource="status")
    await tell(api, name, where, idleSince=LONG_AGO)
    return await job_with(api, name, namespace, conditions.READY, "False", conditions.SUSPENDED), where


async def hosts(api: Api) -> dict[str, str]:
    return dict((await api.get(kinds.CONFIG_MAP, SLEEPERS, OWN)).get("data") or {})


async def test_an_idle_job_sleeps_and_wakes_by_a_request(operator: Operator, api: Api, namespace: str) -> None:
    job, where = await fall_asleep(api, "dozy", namespace, **IDLE)
    host, service = f"dozy-{namespace}.jobs.test", names.host_name("web", "default")
    assert message_of(job, conditions.READY).startswith("asleep until a request to one of its URLs arrives: its pods are")
    assert await hosts(api) == {host: f"{namespace}/dozy"}
    await until_stopped(api, "dozy", where)
    (made,) = await api.list(kinds.ENDPOINT_SLICE, where, labels=f"{labels.PURPOSE}=activator")
    assert made["metadata"]["labels"]["kubernetes.io/service-name"] == service
    assert [item["addresses"] for item in made["endpoints"]] == [["10.42.0.77"]]
    assert [(item["name"], item["port"]) for item in made["ports"]] == [("http", 8080)]

    await be_target(api, where, job, is_ready=False)
    await tell(api, "dozy", where, idleSince=None, suspended=True)
    await api.patch(kinds.CONFIG_MAP, SLEEPERS, OWN, {"data": {host: f"{namespace}/dozy{CALLED}"}})
    await until_stopped(api, "dozy", where, is_stopped=False)
    await operator.heard(api)
    assert host in await hosts(api)  # until its pods answer
    (made,) = await api.list(kinds.ENDPOINT_SLICE, where, labels=f"{labels.PURPOSE}=activator")

    await tell(api, "dozy", where, suspended=False)
    await be_target(api, where, job)
    await exists(api, kinds.NESTED_APP_JOB, "dozy", namespace, lambda item: item["status"]["asleep"]["state"] == "Awake")
    assert await hosts(api) == {}
    await wait_for_none(api, kinds.ENDPOINT_SLICE, where, labels=f"{labels.PURPOSE}=activator")


async def test_one_that_is_asleep_can_be_woken_by_its_user_suspended_and_deleted(
    operator: Operator, api: Api, namespace: str
) -> None:
    _, where = await fall_asleep(api, "nap", namespace, **IDLE)
    await change(api, "nap", namespace, suspend=True)
    await job_with(api, "nap", namespace, conditions.READY, "False", conditions.SUSPENDED)
    await wait_for_none(api, kinds.ENDPOINT_SLICE, where, labels=f"{labels.PURPOSE}=activator")

    _, where = await fall_asleep(api, "rest", namespace, **IDLE)
    await api.patch(kinds.NESTED_APP_JOB, "rest", namespace, {"metadata": {"annotations": {labels.WAKE: "now"}}})
    await exists(api, kinds.NESTED_APP_JOB, "rest", namespace, has(conditions.ADMITTED, "True"))

    await fall_asleep(api, "gone", namespace, **IDLE)
    await api.delete(kinds.NESTED_APP_JOB, "gone", namespace)
    await gone(api, kinds.NESTED_APP_JOB, "gone", namespace)
    await operator.heard(api)
    assert f"gone-{namespace}.jobs.test" not in await hosts(api)


async def test_the_operators_token_makes_no_endpoints_elsewhere(
    sleep_plane: apiserver.ControlPlane, api: Api, namespace: str
) -> None:
    body = {
        "metadata": {"name": "trap", "namespace": namespace, "labels": {labels.PURPOSE: "activator"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"]}],
    }
    async with await Api.connect(str(sleep_plane.kubeconfig_of(ACCOUNT))) as stolen:
        with pytest.raises(Forbidden, match="in namespaces that are not jobs'"):
            await stolen.create(kinds.ENDPOINT_SLICE, body)


async def test_the_activator_holds_a_request_until_its_job_is_up(sleep_plane: apiserver.ControlPlane, api: Api) -> None:
    host, other = "held.jobs.test", {"other.jobs.test": "team/other"}
    await api.patch(kinds.CONFIG_MAP, SLEEPERS, OWN, {"data": {host: "team/held", **other}})
    account = sleep_plane.kubeconfig_of(f"system:serviceaccount:{OWN}:nestor-activator")
    async with await Api.connect(str(account)) as own, asyncio.TaskGroup() as group:
        activator = Activator(own, OWN)
        watching = group.create_task(activator.sleepers.run())
        await activator.sleepers.synced.wait()
        async with TestClient(TestServer(build_app(activator))) as browser:
            asked = group.create_task(
                browser.post("/a/b?c=d", headers={"Host": f"{host}:8080"}, data=b"x", allow_redirects=False)
            )
            await exists(api, kinds.CONFIG_MAP, SLEEPERS, OWN, lambda item: item["data"][host] == f"team/held{CALLED}")
            assert (await hosts(api)).items() >= other.items()
            assert not asked.done()
            await api.patch(kinds.CONFIG_MAP, SLEEPERS, OWN, {"data": {host: None}})
            answer = await asked
            assert (answer.status, answer.headers["Location"]) == (307, "/a/b?c=d")
        watching.cancel()
        with pytest.raises(Forbidden):
            await own.list(kinds.CONFIG_MAP, OWN)
        await api.patch(kinds.CONFIG_MAP, SLEEPERS, OWN, {"data": {host: f"team/held{CALLED}"}})
        twice = {"data": {host: f"team/held{CALLED}{CALLED}"}}
        for body in (twice, {"immutable": True}, {"metadata": {"labels": {"dashboard": "1"}}}, {"data": {"a.test": "team/a"}}):
            with pytest.raises(Forbidden, match="and nothing else"):
                await own.patch(kinds.CONFIG_MAP, SLEEPERS, OWN, body)
    await api.patch(kinds.CONFIG_MAP, SLEEPERS, OWN, {"data": None})
