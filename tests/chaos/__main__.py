"""`make chaos SEED=1 MINUTES=60`: ends with 0 if nothing was lost, doubled or left, and else tells what."""

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from random import Random

import aiohttp

from devcluster.cluster import PluginInfo, paths
from devcluster.demo.tools import find_tool
from nestor.api import labels
from nestor.api.objects import is_terminating, labels_of, status_of
from nestor.kube import Api, Informer, kinds
from tests.chaos.faults import Faults
from tests.chaos.jobs import CLASS, MOST_AT_A_TIME, Users
from tests.chaos.model import describe, find_broken, find_missing, find_strange, is_running
from tests.chaos.story import Story, insist
from tests.e2e import failures, overflow
from tests.e2e.conftest import Cluster, Web, apply_class, start_cluster
from tests.waiting import comes_true, wait_for_none

NAMESPACE = "chaos"
ACT_SECONDS, FAULT_SECONDS, CALM_SECONDS = 8.0, 20.0, 480.0
"""Between two acts of users and between two faults, on average; and after the last fault until all is well."""


class Broken(Exception):
    """What users may expect does not hold."""


class Chaos:
    """Users, faults, and who watches them."""

    def __init__(self, api: Api, web: Web, plugin: PluginInfo, seed: int) -> None:
        self._api, self._web, self._plugin, self._pauses = api, web, plugin, Random(seed)
        self.story = Story()
        self._users = Users(api, NAMESPACE, Random(f"users {seed}"), self.story)
        self._faults = Faults(api, plugin.client, Random(f"faults {seed}"), self.story)
        self._jobs = Informer(api, kinds.NESTED_APP_JOB, NAMESPACE)
        self._pages = 0

    async def run(self, minutes: float) -> None:
        """All of it. Raises `Broken`, in a group."""
        end = time.monotonic() + 60 * minutes
        async with asyncio.TaskGroup() as group:
            watching = [group.create_task(part) for part in (self._jobs.run(), self._watch(), self._browse())]
            async with asyncio.TaskGroup() as moving:
                moving.create_task(self._repeat(end, ACT_SECONDS, self._users.act))
                moving.create_task(self._repeat(end, FAULT_SECONDS, self._faults.make))
            self.story.tell("nothing fails any more")
            await self._calm()
            for task in watching:
                task.cancel()
        await self._look_for_twins()
        await self._clear()
        if not (self._faults.made and self._pages):
            raise Broken("nothing has failed, or nobody has read a page")
        self.story.tell(f"faults: {self._faults.made}; pages read: {self._pages}")

    async def _repeat(self, end: float, seconds: float, act: Callable[[], Awaitable[None]]) -> None:
        while time.monotonic() < end:
            await asyncio.sleep(self._pauses.expovariate(1 / seconds))
            await act()

    async def _watch(self) -> None:
        """Look each second: what is wrong twice in a row is, since a watch is a moment behind what users know."""
        await self._jobs.synced.wait()
        before: set[str] = set()
        while True:
            jobs = {job["metadata"]["name"]: job for job in self._jobs}
            found = set(find_broken(self._users.known, jobs, MOST_AT_A_TIME))
            if found & before:
                # The watch may have been cut: the API server itself has the last word.
                listed = await insist(lambda: self._api.list(kinds.NESTED_APP_JOB, NAMESPACE))
                jobs = {job["metadata"]["name"]: job for job in listed}
                if found := set(find_broken(self._users.known, jobs, MOST_AT_A_TIME)) & found & before:
                    raise Broken("\n".join(sorted(found)))
            before = found
            await asyncio.sleep(1)

    async def _browse(self) -> None:
        """A page says whose it is; no job's URL answers with another's."""
        while True:
            for job in list(self._jobs):
                name, url = job["metadata"]["name"], status_of(job).get("url")
                if url:
                    await self._look_at(name, url)
            await asyncio.sleep(2)

    async def _look_at(self, name: str, url: str) -> None:
        try:
            answer = await self._web.ask(url)
        except (aiohttp.ClientError, TimeoutError):
            return
        if answer.status == 200:
            self._pages += 1
            if strange := find_strange(name, self._users.known.get(name), answer.text):
                raise Broken(strange)

    async def _calm(self) -> None:
        """Await that each job is as its user expects."""
        try:
            await comes_true(lambda: not self._find_missing(), CALM_SECONDS)
        except AssertionError:
            raise Broken("\n".join(f"job '{name}': {what}" for name, what in self._find_missing().items())) from None

    async def _look_for_twins(self) -> None:
        spaces = await self._api.list(kinds.NAMESPACE, labels=labels.selector(job_namespace=NAMESPACE))
        homes = Counter(labels_of(item)[labels.JOB_UID] for item in spaces if not is_terminating(item))
        if twins := [uid for uid, count in homes.items() if count > 1]:
            raise Broken(f"jobs with several clusters: {', '.join(twins)}")

    def _find_missing(self) -> dict[str, str]:
        jobs = {job["metadata"]["name"]: job for job in self._jobs}
        found = {}
        # A job that is kept after a failed step has its place, too.
        placed = [job for job in jobs.values() if is_running(job) or status_of(job).get("terminalState") == "Failed"]
        for name, expected in self._users.known.items():
            job = jobs.get(name, {})
            if what := find_missing(expected, job, has_room=len(placed) < MOST_AT_A_TIME):
                found[name] = f"{what}: {describe(job)}"
        return found

    async def _clear(self) -> None:
        """Everybody deletes everything, and nothing is left."""
        self.story.tell("all jobs are deleted")
        await self._api.delete(kinds.NESTED_CLASS, CLASS)
        for name in self._users.known:
            await self._api.delete(kinds.NESTED_APP_JOB, name, NAMESPACE)
        try:
            async with asyncio.timeout(CALM_SECONDS):
                await wait_for_none(self._api, kinds.NESTED_APP_JOB, NAMESPACE)
                for kind in (kinds.NAMESPACE, kinds.CLUSTER_ROLE_BINDING):
                    await wait_for_none(self._api, kind, "", labels=labels.JOB_UID)
                await overflow.until_forgotten(self._plugin, "")
        except TimeoutError:
            raise Broken("something is left of jobs that were deleted") from None


async def play(cluster: Cluster, seed: int, minutes: float) -> str:
    """What is broken, with the last minutes; empty if nothing is."""
    timeout = aiohttp.ClientTimeout(total=10)
    broken: list[str] = []
    async with AsyncExitStack() as stack:
        plugin = stack.enter_context(overflow.running_plugin())
        api = await stack.enter_async_context(await Api.connect(str(cluster.kubeconfig), manager="chaos"))
        session = await stack.enter_async_context(aiohttp.ClientSession(timeout=timeout))
        await stack.enter_async_context(overflow.backend(api, CLASS, overflow.interlink(plugin)))
        away = {**overflow.BY_ROOM, "mode": "Always", "backends": [{"name": CLASS}]}
        await apply_class(
            api,
            CLASS,
            queue={"maxJobs": MOST_AT_A_TIME},
            pool=1,
            placement={"overflow": away},
            storage={"classes": ["local"]},
            namespace={"quota": {"requests.storage": "100Mi"}},
        )
        await api.apply(kinds.NAMESPACE, {"metadata": {"name": NAMESPACE}})
        chaos = Chaos(api, Web(session, cluster.address, cluster.http_port), plugin, seed)
        try:
            await chaos.run(minutes)
        except* Broken as group:
            broken = [*map(str, group.exceptions), f"The last two minutes (SEED={seed}):", chaos.story.tail(120)]
    return "\n".join(broken)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60)
    arguments = parser.parse_args()
    cluster = start_cluster()
    broken = asyncio.run(play(cluster, arguments.seed, arguments.minutes))
    if broken:
        kept = failures.Keeper(paths.default().cache / "failed", find_tool("kubectl")).keep("chaos", cluster.kubeconfig)
        print(f"{broken}\n\nlogs and events: {kept}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
