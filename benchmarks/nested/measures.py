"""What is measured between two API servers. Each measure prints what it has found, and returns its goals."""

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.nested.creation import creation
from benchmarks.nested.load import Load
from benchmarks.nested.pods import Cluster, build_pod, create, finished_status, playing, until
from benchmarks.nested.site import SPACE, Site
from benchmarks.overflow.goals import Goal
from nestor.clients.cli.bench.figures import cut
from nestor.kube import NotFound, kinds
from nestor.syncer import limits
from tests.integration.syncer import fake_kubelet
from tests.integration.syncer.world import NODE

Measure = Callable[[Site], Awaitable[list[Goal]]]

RESIDENT_MEGABYTES, FINISHED_MEGABYTES = 60.0, 40.0
HOST_REQUESTS, LAG_SECONDS = 4.0, 1.0
LOGS_MEGABYTES = 256.0
"""Its container may have 384."""
_SOME, _MANY, _TALKING = 100, 1000, 10
_SETTLE_SECONDS = 20.0
"""Idle connections are closed after 15."""
RATE = 20.0
SECONDS = float(os.environ.get("SECONDS_OF_CHURN", "120"))
"""How long pods come and go at `RATE` a second."""
LIFE_SECONDS = 5.0


async def size(site: Site) -> list[Goal]:
    """A hundred pods that run, then a thousand that have ended and that nobody removes."""
    async with playing(site.world) as cluster:
        empty = site.memory
        await create(site.world.nested, (f"runs-{number}" for number in range(_SOME)))
        await until(lambda: cluster.running == _SOME)
        await asyncio.sleep(_SETTLE_SECONDS)
        some = site.memory
        await _finish(site, cluster, _SOME)
        for part in range(_SOME, _MANY, _SOME):
            await create(site.world.nested, (f"ends-{number}" for number in range(part, part + _SOME)))
            await until(lambda: cluster.running == _SOME)
            await _finish(site, cluster, part + _SOME)
        await asyncio.sleep(_SETTLE_SECONDS)
        many = site.memory
    print("size: resident memory of the syncer")
    print(f"  no pods                 {empty:.0f} MB")
    print(f"  {_SOME} pods run            {some:.0f} MB")
    print(f"  {_MANY} have ended         {many:.0f} MB")
    return [
        Goal(f"memory with {_SOME} pods", some, RESIDENT_MEGABYTES, "MB"),
        Goal(f"memory that {_MANY} ended pods add", many - empty, FINISHED_MEGABYTES, "MB"),
    ]


async def _finish(site: Site, cluster: Cluster, count: int) -> None:
    pods = [pod for pod in cluster.host_pods if pod["status"]["phase"] == "Running"]
    for pod in pods:
        await site.world.report(pod, **finished_status(pod))
    await until(lambda: cluster.ended == count)


async def life(site: Site) -> list[Goal]:
    """The requests of a pod from its creation to its end, all that goes on beside it included."""
    async with playing(site.world) as cluster:
        await _live(site, cluster, "warm", 1)
        written, before, begin = cluster.status_writes, await site.count(), time.monotonic()
        await _live(site, cluster, "pod", _SOME)
        after, took = await site.count(), time.monotonic() - begin
        counts = cluster.status_writes - written
        await asyncio.sleep(took)
        idle = await site.count() - after
    found = after - before
    print(f"life: requests of the syncer for {_SOME} pods that are made, run and are deleted, watches left out")
    for side in ("host", "nested"):
        print(f"  {side:<8} {found[side] / _SOME:.1f} a pod, of which {idle[side] / _SOME:.1f} are sent also without pods")
    print(f"  of these, {counts} writes of the number of pods to the host, in {took:.0f} s")
    most = limits.COUNT_WRITES
    return [
        Goal("host requests for a pod", (found["host"] - idle["host"] - counts) / _SOME, HOST_REQUESTS),
        Goal("writes of the number of pods a second", max(0, counts - most.burst) / took, most.per_second),
    ]


async def _live(site: Site, cluster: Cluster, prefix: str, count: int) -> None:
    names = [f"{prefix}-{number}" for number in range(count)]
    await create(site.world.nested, names)
    await until(lambda: cluster.running == count)
    for name in names:
        await site.world.nested.delete(kinds.POD, name, SPACE)
    # No write of the number of pods is under way then: each one that was counted was also seen.
    await until(lambda: cluster.left == 0 and cluster.is_told_empty)


async def churn(site: Site) -> list[Goal]:
    """Pods that come and go: how late the nested cluster shows what a kubelet reports."""
    api, running, load = site.world.nested, set[asyncio.Task[None]](), Load()
    async with playing(site.world) as cluster:

        async def one(name: str) -> None:
            pod = await api.create(kinds.POD, build_pod(name))
            await cluster.wait_for(pod["metadata"]["uid"])
            await asyncio.sleep(LIFE_SECONDS)
            with contextlib.suppress(NotFound):
                await api.delete(kinds.POD, name, SPACE)

        before, begin, number = site.busy, time.monotonic(), 0
        while (passed := time.monotonic() - begin) < SECONDS:
            if number <= passed * RATE:
                running.add(task := asyncio.create_task(one(f"pod-{number}")))
                task.add_done_callback(running.discard)
                number += 1
            else:
                await asyncio.sleep(0.01)
        await asyncio.gather(*running)
        busy = (site.busy - before) / (time.monotonic() - begin)
        await until(lambda: cluster.left == 0)
        lags = cluster.list_lags()
    print(f"churn: {number} pods in {SECONDS:.0f} s, {number / SECONDS:.1f} a second, that run for {LIFE_SECONDS:.0f} s")
    print(f"  host status → nested status   median {cut(lags, 50):.3f} s, p99 {cut(lags, 99):.3f} s, most {max(lags):.3f} s")
    print(f"  processor                     {100 * busy:.0f} % of one · memory {site.memory:.0f} MB · {load}")
    return [
        Goal("pods a second that were not made", RATE - number / SECONDS, 0.5),
        Goal("pods that no watch saw running", number - len(lags), 0),
        Goal("status lag, p99", cut(lags, 99), LAG_SECONDS, "s"),
    ]


async def logs(site: Site) -> list[Goal]:
    """A thousand logs that are followed, and whether others are served meanwhile."""
    world = site.world
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _, port = await stack.enter_async_context(fake_kubelet.running(folder))
        status = {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}
        await world.host.patch(kinds.NODE, NODE, None, {"status": status}, subresource="status")
        cluster = await stack.enter_async_context(playing(site.world))
        await create(world.nested, (f"talks-{number}" for number in range(_TALKING)))
        await until(lambda: cluster.running == _TALKING)
        before, begin = site.memory, time.monotonic()
        for number in range(_MANY):
            path = kinds.POD.path(SPACE, f"talks-{number % _TALKING}", "log")
            answer = await stack.enter_async_context(world.nested.stream(path, {"follow": "true"}))
            await answer.content.readline()
        took, memory = time.monotonic() - begin, site.memory
        begin = time.monotonic()
        await create(world.nested, ["meanwhile"])
        await until(lambda: cluster.running == _TALKING + 1)
        meanwhile = time.monotonic() - begin
    print(f"logs: {_MANY} are followed")
    print(f"  opened and first line   {took:.1f} s, one after the other")
    print(f"  memory                  {memory:.0f} MB, {before:.0f} MB without")
    print(f"  a pod meanwhile         {meanwhile:.2f} s until it runs")
    return [Goal(f"memory with {_MANY} followed logs", memory, LOGS_MEGABYTES, "MB")]


MEASURES: dict[str, Measure] = {"size": size, "life": life, "creation": creation, "churn": churn, "logs": logs}
