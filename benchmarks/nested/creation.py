"""How much later a nested pod runs than one of the host, each made by its user at the same moment as others."""

from __future__ import annotations

import asyncio
import statistics
import time

from benchmarks.nested.load import Load
from benchmarks.nested.pods import Cluster, build_pod, playing, until
from benchmarks.nested.site import SPACE, Site
from benchmarks.overflow.goals import Goal
from nestor.kube import Api, kinds

PODS, ROUNDS = 50, 5
MEDIAN_SECONDS, WORST_SECONDS = 0.15, 0.6


async def creation(site: Site) -> list[Goal]:
    """Fifty pods at a time, in turns on the host and in the nested cluster: from the request until a watch shows them running."""
    world = site.world
    host, nested = list[float](), list[float]()
    load = Load()
    async with playing(world) as cluster:
        await _measure(cluster, world.nested, SPACE, "warm")
        for number in range(ROUNDS):
            host += await _measure(cluster, world.host, world.namespace, f"host-{number}")
            nested += await _measure(cluster, world.nested, SPACE, f"nested-{number}")
    cuts = {name: statistics.quantiles(times, n=100) for name, times in (("host", host), ("nested", nested))}
    print(f"creation: {PODS} pods at a time, {ROUNDS} times in turns, until a watch shows that they run")
    for name, found in cuts.items():
        print(f"  {name:<8} median {found[49]:.3f} s, p99 {found[98]:.3f} s")
    print(f"  {load}")
    return [
        Goal("creation until it runs, more than on the host, median", cuts["nested"][49] - cuts["host"][49], MEDIAN_SECONDS, "s"),
        Goal("creation until it runs, more than on the host, p99", cuts["nested"][98] - cuts["host"][98], WORST_SECONDS, "s"),
    ]


async def _measure(cluster: Cluster, api: Api, namespace: str, prefix: str) -> list[float]:
    """Seconds of each pod; all are gone afterwards."""
    begun: dict[str, float] = {}

    async def one(name: str) -> None:
        begin = time.monotonic()
        pod = await api.create(kinds.POD, build_pod(name, namespace))
        begun[pod["metadata"]["uid"]] = begin

    names = [f"{prefix}-{number}" for number in range(PODS)]
    await asyncio.gather(*map(one, names))
    await until(lambda: begun.keys() <= cluster.seen.keys())
    for name in names:
        await api.delete(kinds.POD, name, namespace)
    await until(lambda: cluster.left == 0)
    return [cluster.seen[uid] - begin for uid, begin in begun.items()]
