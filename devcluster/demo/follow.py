"""Watching one job until its page answers, telling the news as they come."""

import asyncio
import datetime
from collections.abc import Callable
from typing import Any

from nestor.api import conditions
from nestor.api.objects import conditions_of
from nestor.clients.cli import web
from nestor.clients.cli.view import facts
from nestor.clients.cli.view.story import Story
from nestor.kube import Api, ApiError, Change, Informer, kinds

Object = dict[str, Any]


class Failed(Exception):
    """The job did not get to its page; `job` is its last known state."""

    def __init__(self, message: str, job: Object) -> None:
        super().__init__(message)
        self.job = job


class Follower:
    """Follows one job by a watch."""

    def __init__(self, api: Api, name: str, namespace: str, tell: Callable[[str], None]) -> None:
        self._api = api
        self._informer = Informer(api, kinds.NESTED_APP_JOB, namespace, fields=f"metadata.name={name}")
        self._story = Story()
        self._tell = tell
        self._job: Object = {"metadata": {"name": name, "namespace": namespace}}
        self._changed = asyncio.Event()
        self.answered = 0.0
        """When the page was there, in the loop's time."""
        self._informer.on_change(self._take)

    def _take(self, change: Change) -> None:
        self._job = change.latest
        for line in self._story.tell(change.latest, datetime.datetime.now(datetime.UTC)):
            self._tell(line)
        self._changed.set()

    async def run(self, limit: float) -> tuple[Object, str]:
        """The ready job and its page. Raises `Failed` when it cannot get there, or not within `limit` seconds."""
        watching = asyncio.create_task(self._informer.run())
        try:
            async with asyncio.timeout(limit):
                fetching = await self._start_fetching()
                try:
                    content = await fetching
                    self.answered = asyncio.get_running_loop().time()
                    self._tell("HTTP 200")
                    await self._until(is_ready)
                finally:
                    fetching.cancel()
        except TimeoutError:
            raise Failed(f"Not ready after {limit:g} s. {await self._explain_delay()}", self._job) from None
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        return self._job, content

    async def _explain_delay(self) -> str:
        try:
            await self._api.request("GET", "/readyz", timeout=5)
        except ApiError as error:
            return f"The cluster's own API server does not answer any more: {error.message}"
        return describe_delay(self._job)

    async def _start_fetching(self) -> asyncio.Task[str]:
        """Ask for the page from when the steps are applied: the first answer counts, not the condition that reports it."""
        await self._until(_has_url)
        return asyncio.create_task(web.fetch_when_ready(self._job["status"]["url"]))

    async def _until(self, is_met: Callable[[Object], bool]) -> None:
        while not is_met(self._job):
            ending = facts.find_ending(self._job, until_finished=True)
            if ending:
                raise Failed(f"{ending.reason}: {ending.message}", self._job)
            self._changed.clear()
            await self._changed.wait()


def _has_url(job: Object) -> bool:
    return facts.url_of(job) is not None and _is_true(job, conditions.STEPS_APPLIED)


def _is_true(job: Object, kind: str) -> bool:
    return conditions.is_true(conditions_of(job), kind)


def is_ready(job: Object) -> bool:
    """The job's app can be reached."""
    return _is_true(job, conditions.READY)


def describe_delay(job: Object) -> str:
    """What a job that took too long waits for."""
    ready = facts.condition(job, conditions.READY)
    if ready is None:
        return "no status reported yet; is the operator running?"
    return f"{ready['reason']}: {ready['message']}"
