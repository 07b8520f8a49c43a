"""What is measured. Each measure prints what it has found, and returns its goals."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from benchmarks.overflow.backend import FOREVER
from benchmarks.overflow.goals import Goal
from benchmarks.overflow.near import near
from benchmarks.overflow.published import PUBLISHED
from benchmarks.overflow.site import Observer, Site, describe, median, names, site, until
from nestor.api.objects import Object, status_of
from nestor.kube import Api, kinds
from tests.integration.vnode.world import NodePlane

Measure = Callable[[NodePlane, Api], Awaitable[list[Goal]]]

WHAT = {"here": "Kubernetes alone", "overflowed": "Nestor's virtual node"}
"""Whose time it is that `demonstration` measures: no kubelet, container or nested cluster takes part."""
SHARE_SECONDS, SIZE_MEGABYTES, CALLS_PER_PERIOD = 1.0, 150.0, 1.0
PERIOD_SECONDS = 1.0
"""Of calls for statuses."""
_JOBS = ((2, 1), (13, 4))
"""Parts of the Jobs that the page shows, and how many of them run at a time."""
_SHORT, _MANY, _FLEET, _SITES = 100, 1000, 10_000, 3
_WINDOW = 30.0
_LIMIT = 1200.0


async def share(plane: NodePlane, api: Api) -> list[Goal]:
    """Nestor's own share of an overflowed pod: the backend starts containers at once, and knows when they end."""
    async with site(plane, api, "share", 3.0) as place, Observer(api, place.space).watching() as seen:
        bound: dict[str, float] = {}
        for name in names(_SHORT):
            bound[await place.bind(name)] = time.monotonic()
            await asyncio.sleep(0.1)
        await until(lambda: len(seen.ended) == _SHORT, _LIMIT)
        accepted = [seen.accepted[uid] - at for uid, at in bound.items()]
        told = [seen.ended[uid] - place.light.ended[uid] for uid in bound]
        print(f"share: {_SHORT} pods, one each 0.1 s, that run for 3 s")
        print(f"  bound → accepted        {describe(accepted)}")
        print(f"  finished → host status  {describe(told)}")
        return [
            Goal("bound → accepted, median", median(accepted), SHARE_SECONDS, "s"),
            Goal("finished → host status, median", median(told), SHARE_SECONDS, "s"),
        ]


async def size(plane: NodePlane, api: Api) -> list[Goal]:
    """A thousand pods on one virtual node."""
    async with site(plane, api, "size", FOREVER) as place, Observer(api, place.space).watching() as seen:
        empty, begin = place.memory, time.monotonic()
        await place.bind_many(list(names(_MANY)))
        await until(lambda: len(seen.running) == _MANY, _LIMIT)
        took = time.monotonic() - begin
        busy, asked = place.busy, len(place.light.questions)
        await asyncio.sleep(_WINDOW)
        calls = place.light.questions[asked:]
        memory, least = place.memory, min(count for _, count in calls)
        print(f"size: {_MANY} pods on one virtual node")
        print(f"  bound → all run         {took:.1f} s")
        print(f"  memory (PSS)            {memory:.0f} MB, {empty:.0f} MB without pods")
        print(f"  calls in {_WINDOW:.0f} s            {len(calls)}, each about {least} pods or more")
        print(f"  processor               {100 * (place.busy - busy) / _WINDOW:.0f} % of one while nothing happens")
        return [
            Goal(f"memory with {_MANY} pods", memory, SIZE_MEGABYTES, "MB"),
            Goal("calls for statuses in a period", find_rate([at for at, _ in calls]), CALLS_PER_PERIOD),
            Goal("pods that a call leaves out", _MANY - least, 0),
        ]


def find_rate(times: list[float]) -> float:
    """How many calls there are in one period, from when they came."""
    return (len(times) - 1) * PERIOD_SECONDS / (times[-1] - times[0]) if len(times) > 1 else float("nan")


async def fleet(plane: NodePlane, api: Api) -> list[Goal]:
    """Ten thousand pods on three backends; one of the processes is killed and comes back; then all end at once."""
    async with contextlib.AsyncExitStack() as stack:
        places = [await stack.enter_async_context(site(plane, api, f"fleet-{index}", FOREVER)) for index in range(_SITES)]
        seen = [await stack.enter_async_context(Observer(api, place.space).watching()) for place in places]
        shares = [len(range(index, _FLEET, _SITES)) for index in range(_SITES)]
        begin = time.monotonic()
        await asyncio.gather(*(place.bind_many(list(names(count))) for place, count in zip(places, shares, strict=True)))
        await until(lambda: sum(len(item.running) for item in seen) == _FLEET, _LIMIT)
        print(f"fleet: {_FLEET} pods on {_SITES} backends")
        print(f"  bound → all run         {time.monotonic() - begin:.1f} s")
        print(f"  memory (PSS) of each    {', '.join(f'{place.memory:.0f} MB' for place in places)}")
        print(f"  calls in {_WINDOW:.0f} s of each    {', '.join(map(str, await _count_calls(places)))}")
        await places[0].stop()
        back = time.monotonic()
        await places[0].start()
        await _count_calls(places[:1])
        print(f"  killed → ready again    {time.monotonic() - back - _WINDOW:.1f} s")
        for place in places:
            place.light.end_all()
        print(f"  all end → all told      {await until(lambda: sum(len(item.ended) for item in seen) == _FLEET, _LIMIT):.1f} s")
        twice = sum(count > 1 for place in places for count in place.light.creations.values())
        created = sum(len(place.light.creations) for place in places)
        print(f"  created                 {created} pods, {twice} of them twice")
        return [Goal("pods that were not created", _FLEET - created, 0), Goal("pods that were created twice", twice, 0)]


async def _count_calls(places: list[Site]) -> list[int]:
    before = [len(place.light.questions) for place in places]
    await asyncio.sleep(_WINDOW)
    return [len(place.light.questions) - count for place, count in zip(places, before, strict=True)]


async def demonstration(plane: NodePlane, api: Api) -> list[Goal]:
    """The same Job on a node of the cluster and on a virtual one, from its creation to its condition Complete.

    Its work takes no time in either place, and its pods have their node from the start. So it has no goal: the page's runs
    contain scheduling, images, containers and work.
    """
    async with site(plane, api, "far", 0.0) as place, near(api, place.space) as node:
        nodes = {"here": node, "overflowed": place.name}
        found = {
            (where, parts): await _run(place, name, parts, parallel) for where, name in nodes.items() for parts, parallel in _JOBS
        }
    print("demonstration: a Job from its creation to Complete, with neither scheduler nor containers nor a nested cluster")
    for where, published in PUBLISHED.items():
        own = ", ".join(f"{found[where, parts]:.1f} s ({parts} parts, {parallel} at a time)" for parts, parallel in _JOBS)
        print(f"  {where:<10}  {WHAT[where]} {own} · aksjobscheduler's page, with all of that: {published} s")
    ratios = ", ".join(f"{found['overflowed', parts] / found['here', parts]:.1f} ({parts} parts)" for parts, _ in _JOBS)
    print(f"  overflowed ÷ here       {ratios} · page {PUBLISHED['overflowed'] / PUBLISHED['here']:.1f}")
    return []


async def _run(place: Site, node: str, parts: int, parallel: int) -> float:
    name = f"{node}-{parts}"
    pod: Object = {"nodeName": node, "restartPolicy": "Never", "containers": [{"name": "main", "image": "example/part:1"}]}
    spec = {"completions": parts, "parallelism": parallel, "completionMode": "Indexed", "template": {"spec": pod}}
    meta = {"name": name, "namespace": place.space}
    begin = time.monotonic()
    await place.api.create(kinds.JOB, {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec})
    while True:
        job = await place.api.get(kinds.JOB, name, place.space)
        if any(item["type"] == "Complete" and item["status"] == "True" for item in status_of(job).get("conditions") or ()):
            return time.monotonic() - begin
        await asyncio.sleep(0.05)


MEASURES: dict[str, Measure] = {"share": share, "size": size, "fleet": fleet, "demonstration": demonstration}
