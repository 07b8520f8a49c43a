"""`nestor bench`: the test plays the operator, the kubelets and the Ingress controller; the host's controllers are real."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from nestor.clients.cli.exits import Code
from nestor.kube import Api, Change, Informer, kinds
from tests.fakes.pages import serving
from tests.integration.cli.conftest import CommandLine, Object, report
from tests.unit.clients.cli.builders import ADMITTED, APPLIED, CLUSTER, EXPOSED, READY, RUNNING, condition
from tests.waiting import wait_for_none

FAILED = condition("Succeeded", "False", "StepFailed", "step 1 of 1 'web' failed")


class Players:
    """Whatever is created is ready soon; but the job `fails` is not."""

    def __init__(self, host: Api, namespace: str, port: int) -> None:
        self._host, self._port = host, port
        self.informers = [Informer(host, kind, namespace) for kind in (kinds.NESTED_APP_JOB, kinds.POD)]
        self.fails = ""
        self.jobs: list[str] = []
        self._begun: set[str] = set()
        self._changes: asyncio.Queue[Object] = asyncio.Queue()
        for informer in self.informers:
            informer.on_change(self._take)

    def _take(self, change: Change) -> None:
        if change.new is not None and change.new["metadata"]["uid"] not in self._begun:
            self._begun.add(change.new["metadata"]["uid"])
            self._changes.put_nowait(change.new)

    async def run(self) -> None:
        while True:
            item = await self._changes.get()
            await (self._serve(item) if item["kind"] == "NestedAppJob" else self._start(item))

    async def _serve(self, job: Object) -> None:
        name = job["metadata"]["name"]
        self.jobs.append(name)
        found = [FAILED] if self.fails and name.endswith(self.fails) else [CLUSTER, APPLIED, EXPOSED, READY, RUNNING]
        url = f"http://{name}.apps.localhost:{self._port}/"
        await report(self._host, job, ADMITTED, *found, url=url, className="default")

    async def _start(self, pod: Object) -> None:
        conditions = [condition("Ready", "True", "") | {"lastTransitionTime": "2026-01-01T00:00:00Z"}]
        body = {"status": {"phase": "Running", "conditions": conditions}}
        await self._host.patch(kinds.POD, pod["metadata"]["name"], pod["metadata"]["namespace"], body, subresource="status")


@pytest.fixture
async def hosts() -> AsyncIterator[tuple[int, list[str]]]:
    """A port at which pages of all hosts answer, and the hosts that were asked for."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.host)
        return web.Response(text="hello")

    async with serving(answer) as port:
        yield port, asked


@pytest.fixture
async def players(host: Api, namespace: str, hosts: tuple[int, list[str]]) -> AsyncIterator[Players]:
    found = Players(host, namespace, hosts[0])
    tasks = [asyncio.create_task(work) for work in (found.run(), *(informer.run() for informer in found.informers))]
    yield found
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def expect_nothing_left(host: Api, namespace: str) -> None:
    for kind in (kinds.NESTED_APP_JOB, kinds.DEPLOYMENT, kinds.POD, kinds.INGRESS):
        await wait_for_none(host, kind, namespace)
    assert not [item for item in await host.list(kinds.CONFIG_MAP, namespace) if item["metadata"]["name"].startswith("bench-")]


async def test_jobs_and_the_floor_are_measured_in_turns(
    cli: CommandLine, host: Api, namespace: str, players: Players, hosts: tuple[int, list[str]]
) -> None:
    players.fails = "-job-2"
    call = await cli("bench", "--jobs", "3", "--at-once", "2", "-o", "json")
    assert call.code == Code.FAILED, call.stderr
    found = json.loads(call.stdout)
    assert [len(found[place]["seconds"]) for place in ("jobs", "floor")] == [2, 3]
    assert found["jobs"]["stages"].keys() == {"clusterReady", "ready", "http200", "gone"}
    assert found["ratios"].keys() == found["floor"]["stages"].keys() == {"ready", "http200", "gone"}
    [problem] = found["jobs"]["failed"]
    assert problem.endswith("-job-2: StepFailed: step 1 of 1 'web' failed")
    assert [name[len("bench-123456-") :] for name in sorted(players.jobs)] == ["first-job-1", "job-1", "job-2", "job-3"]
    assert {name.endswith(".invalid") for name in hosts[1]} == {True, False}, (
        "the floor's pages were asked for at the jobs' address"
    )
    await expect_nothing_left(host, namespace)


async def test_an_interrupted_run_leaves_nothing(cli: CommandLine, host: Api, namespace: str, players: Players) -> None:
    call = await cli.start("bench", "--no-floor")
    await call.read_line("-job-1: cluster ready")
    call.interrupt()
    await call.wait()
    assert call.code == Code.INTERRUPTED
    await expect_nothing_left(host, namespace)
