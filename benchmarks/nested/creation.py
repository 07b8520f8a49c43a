"""How much later a nested pod runs than one of the host, each made by its user at the same moment as others."""

import asyncio
import time

from benchmarks.nested.load import Load
from benchmarks.nested.pods import Cluster, build_pod, playing, until
from benchmarks.nested.site import SPACE, Site
from benchmarks.overflow.goals import Goal
from nestor.clients.cli.bench.figures import cut
from nestor.kube import Api, kinds

PODS, ROUNDS = 50, 5
ALONE = 30
MEDIAN_SECONDS, WORST_SECONDS = 0.15, 0.6


async def creation(site: Site) -> list[Goal]:
    """From the request until a watch shows that pods run, in turns on the host and in the nested cluster: one, and fifty at once.

    Fifty at once fill two cores on the host already, so that their median says how much there is to do, not how long one waits.
    """
    world = site.world
    places = {"host": (world.host, world.namespace), "nested": (world.nested, SPACE)}
    alone: dict[str, list[float]] = {name: [] for name in places}
    together: dict[str, list[float]] = {name: [] for name in places}
    load = Load()
    async with playing(world) as cluster:
        await _measure(cluster, *places["nested"], "warm", PODS)
        for number in range(ALONE):
            for name, place in places.items():
                alone[name] += await _measure(cluster, *place, f"{name}-alone-{number}", 1)
        for number in range(ROUNDS):
            for name, place in places.items():
                together[name] += await _measure(cluster, *place, f"{name}-{number}", PODS)
    print("creation: until a watch shows that they run")
    for title, times in ((f"{ALONE} pods, one at a time", alone), (f"{PODS} pods at once, {ROUNDS} times", together)):
        said = (f"{name} median {cut(taken, 50):.3f} s, p99 {cut(taken, 99):.3f} s" for name, taken in times.items())
        print(f"  {title}: {'; '.join(said)}")
    print(f"  {load}")
    return [
        Goal("a pod alone until it runs, more than on the host, median", _more(alone, 50), MEDIAN_SECONDS, "s"),
        Goal(f"{PODS} pods at once until they run, more than on the host, p99", _more(together, 99), WORST_SECONDS, "s"),
    ]


def _more(times: dict[str, list[float]], percent: int) -> float:
    return cut(times["nested"], percent) - cut(times["host"], percent)


async def _measure(cluster: Cluster, api: Api, namespace: str, prefix: str, count: int) -> list[float]:
    """Seconds of each pod; all are gone afterwards."""
    begun: dict[str, float] = {}

    async def one(name: str) -> None:
        begin = time.monotonic()
        pod = await api.create(kinds.POD, build_pod(name, namespace))
        begun[pod["metadata"]["uid"]] = begin

    names = [f"{prefix}-{number}" for number in range(count)]
    await asyncio.gather(*map(one, names))
    await until(lambda: begun.keys() <= cluster.seen.keys())
    for name in names:
        await api.delete(kinds.POD, name, namespace)
    await until(lambda: cluster.left == 0)
    return [cluster.seen[uid] - begin for uid, begin in begun.items()]
