"""`python -m benchmarks.scale`: a thousand jobs that run, and five thousand that are suspended, at one operator."""

import argparse
import asyncio
import math
import sys
import time
from collections import Counter
from dataclasses import dataclass

from benchmarks.jobs import processes
from benchmarks.overflow.goals import Goal, report
from benchmarks.scale.players import Players, is_told
from nestor.api import conditions
from nestor.clients.cli.bench.figures import cut
from nestor.kube import Api, Change, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator, await_rights, operator_running, plane_running
from tests.integration.operator.world import build_job
from tests.waiting import comes_true

NAMESPACES, TOGETHER = 20, 10
NEW, PER_MINUTE = 60, 20
"""Jobs that come when all is quiet, and their pace."""
MEGABYTES, IDLE_SHARE, STATUS_SECONDS = 400.0, 0.15, 2.0
QUIET_SECONDS = 60.0


@dataclass(frozen=True)
class Size:
    """How many jobs there are when it is measured."""

    running: int
    suspended: int


class Site:
    """The operator, and what can be seen of it."""

    def __init__(self, api: Api, plane: apiserver.ControlPlane, operator: Operator, players: Players) -> None:
        self._api, self._plane, self._operator = api, plane, operator
        self._made: dict[str, float] = {}
        self.told: dict[str, float] = {}
        players.jobs.on_change(self._on_job)

    def _on_job(self, change: Change) -> None:
        name = change.key[1]
        if change.new is not None and name in self._made and name not in self.told and is_told(change.new):
            self.told[name] = time.monotonic() - self._made[name]

    async def create(self, sort: str, number: int) -> None:
        name, suspend = f"{sort}-{number}", sort == "rests"
        if not suspend:
            self._made[name] = time.monotonic()
        await self._api.create(kinds.NESTED_APP_JOB, build_job(name, f"team-{number % NAMESPACES}", suspend=suspend))

    async def create_all(self, sort: str, count: int) -> None:
        """Some at a time."""
        waiting = iter(range(count))

        async def work() -> None:
            for number in waiting:
                await self.create(sort, number)

        await asyncio.gather(*(work() for _ in range(TOGETHER)))

    def read(self) -> tuple[float, float]:
        """Seconds of processor time of the operator, and of the API server."""
        return processes.read(self._operator.process.pid).own, processes.read(self._plane.processes[1].pid).own

    @property
    def memory(self) -> float:
        """The operator's, in MB."""
        return processes.read_memory(self._operator.process.pid, "Pss")

    async def count(self) -> Counter[str]:
        """Passes over jobs and requests without watches, since the operator began."""
        found: Counter[str] = Counter()
        for (name, *values), number in (await self._operator.read_metrics()).items():
            if name == "nestor_operator_reconcile_seconds_count" and kinds.NESTED_APP_JOB.name in values:
                found["passes"] += int(number)
            elif name == "nestor_operator_requests_total" and "WATCH" not in values:
                found["requests"] += int(number)
        return found

    async def settle(self) -> None:
        """Await that the operator has nothing to do."""
        await self._operator.heard(self._api)


async def measure(size: Size) -> list[Goal]:
    async with plane_running() as plane, await Api.connect(str(plane.kubeconfig), manager="benchmarks") as api:
        await await_rights(plane)
        for number in range(NAMESPACES):
            await api.apply(kinds.NAMESPACE, {"metadata": {"name": f"team-{number}"}})
        await api.patch(kinds.NESTED_CLASS, "default", None, {"spec": {"maxJobsPerNamespace": 100_000}})
        players = Players(api)
        async with players.playing(), operator_running(plane, more={"NESTOR_LOG_LEVEL": "info"}) as operator:
            site = Site(api, plane, operator, players)
            return await _measure(site, players, size)


async def _measure(site: Site, players: Players, size: Size) -> list[Goal]:
    empty = site.memory
    begin = time.monotonic()
    await site.create_all("rests", size.suspended)
    await site.settle()
    print(f"{size.suspended} suspended jobs: {time.monotonic() - begin:.0f} s; operator {empty:.0f} → {site.memory:.0f} MB")

    before, (busy, server) = await site.count(), site.read()
    begin = time.monotonic()
    await site.create_all("runs", size.running)
    await comes_true(lambda: players.count(conditions.READY) == size.running)
    took, counted = time.monotonic() - begin, await site.count() - before
    used, served = (now - then for now, then in zip(site.read(), (busy, server), strict=True))
    print(f"{size.running} jobs at once: all Ready after {took:.0f} s, {60 * size.running / took:.0f} a minute")
    print(
        f"  for each: {counted['passes'] / size.running:.1f} passes, {counted['requests'] / size.running:.1f} requests, "
        f"{used / size.running:.2f} s of the operator's processor time, {served / size.running:.2f} s of the API server's"
    )
    print(f"  first status: {_describe(list(site.told.values()))}")

    await site.settle()
    before, (busy, server) = await site.count(), site.read()
    await asyncio.sleep(QUIET_SECONDS)
    counted = await site.count() - before
    idle, idle_server = ((now - then) / QUIET_SECONDS for now, then in zip(site.read(), (busy, server), strict=True))
    memory = site.memory
    requests = counted["requests"] / QUIET_SECONDS
    print(f"nothing happens: operator {memory:.0f} MB, {idle:.1%} of a core, {requests:.1f} requests a second")
    print(f"  API server {idle_server:.1%} of a core")

    site.told.clear()
    for number in range(NEW):
        await site.create("new", number)
        await asyncio.sleep(60 / PER_MINUTE)
    await comes_true(lambda: len(site.told) == NEW)
    last = sorted(site.told.values())
    print(f"{PER_MINUTE} new jobs a minute: first status {_describe(last)}")
    return [
        Goal(f"operator's memory with {size.running} jobs", memory, MEGABYTES, "MB"),
        Goal("operator's share of a core when nothing happens", idle, IDLE_SHARE),
        Goal(f"first status at {PER_MINUTE} new jobs a minute, p99", cut(last, 99) if last else math.nan, STATUS_SECONDS, "s"),
    ]


def _describe(seconds: list[float]) -> str:
    found = sorted(seconds)
    return f"{cut(found, 50):.2f} s (p50), {cut(found, 99):.2f} s (p99)"


def main() -> int:
    """Read the command line. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="benchmarks.scale", description=__doc__)
    parser.add_argument("--running", type=int, default=1000)
    parser.add_argument("--suspended", type=int, default=5000)
    found = parser.parse_args()
    missed = report(asyncio.run(measure(Size(**vars(found)))))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
