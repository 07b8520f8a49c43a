"""Awaiting what the cluster becomes, by watches. When a test's time is up, its report has what was seen last (`last_seen`).

`limit` is for what runs without pytest, and has no time limit of its own. What a process knows: `tests/heard.py`.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import yaml

from nestor.api import conditions
from nestor.api.objects import Object, without_managers
from nestor.kube import Api, Change, Informer, Kind, WorkQueue, kinds

T = TypeVar("T")


async def wait_for(
    api: Api, kind: Kind, name: str, namespace: str, is_met: Callable[[Object | None], bool], *, limit: float | None = None
) -> Object | None:
    """Await a state of one object (None: absent); returns it, whatever has come since."""

    def is_first_met(items: list[Object]) -> bool:
        return is_met(items[0] if items else None)

    items = await _watch(api, kind, namespace, f"metadata.name={name}", "", is_first_met, limit)
    return items[0] if items else None


async def exists(api: Api, kind: Kind, name: str, namespace: str, is_met: Callable[[Object], Any] = bool) -> Object:
    """Await an object that is as it should be, and return it."""
    found = await wait_for(api, kind, name, namespace, lambda item: item is not None and bool(is_met(item)))
    assert found is not None
    return found


async def another(api: Api, kind: Kind, name: str, namespace: str, *, than: Object) -> Object:
    """Await an object of that name that is not this one, and return it."""
    return await exists(api, kind, name, namespace, lambda item: item["metadata"]["uid"] != than["metadata"]["uid"])


async def gone(api: Api, kind: Kind, name: str, namespace: str) -> None:
    """Await that there is no such object."""
    await wait_for(api, kind, name, namespace, lambda item: item is None)


async def wait_for_any(api: Api, kind: Kind, namespace: str, is_met: Callable[[Object], bool], *, labels: str = "") -> Object:
    """Await one object among those that `labels` select that meets the condition."""
    items = await _watch(api, kind, namespace, "", labels, lambda items: any(map(is_met, items)))
    return next(filter(is_met, items))


async def wait_for_none(api: Api, kind: Kind, namespace: str, *, labels: str = "") -> None:
    """Await that no such object is left."""
    await _watch(api, kind, namespace, "", labels, lambda items: not items)


async def eventually(check: Callable[[], Awaitable[T | None]], limit: float | None = None) -> T:
    """The first result of `check` that is true: for what no single watch shows. It is asked for less and less often, each half
    second in the end: many a check starts a program.
    """
    last_seen: object = None
    pause = 0.05
    try:
        async with asyncio.timeout(limit):
            while True:
                last_seen = result = await check()
                if result:
                    return result
                await asyncio.sleep(pause)
                pause = min(0.5, 1.3 * pause)
    except TimeoutError:
        raise AssertionError(f"not within {limit} s; last seen: {last_seen!r}") from None


async def comes_true(check: Callable[[], object], limit: float | None = None) -> None:
    """Await a condition that is seen without asking anybody."""

    async def look() -> bool:
        return bool(check())

    await eventually(look, limit)


async def worked_off(queue: WorkQueue[Any]) -> None:
    """Await that no key waits, is worked on, or is due later."""
    await comes_true(lambda: not queue.count_due(math.inf))


async def until(look: Callable[[], Awaitable[T | None]], is_met: Callable[[Any], object]) -> T:
    """What `look` finds, once it is as awaited: as `eventually`, for what no single watch shows."""

    async def check() -> list[Any]:
        found = await look()
        return [found] if is_met(found) else []

    result: T = (await eventually(check))[0]
    return result


async def _watch(
    api: Api,
    kind: Kind,
    namespace: str,
    fields: str,
    labels: str,
    is_met: Callable[[list[Object]], bool],
    limit: float | None = None,
) -> list[Object]:
    """The objects as they were when the condition was met: events that come together are told together, and the last of them
    may be past it.
    """
    informer = Informer(api, kind, namespace or None, labels=labels, fields=fields)
    last_seen: list[Object] = []
    met: asyncio.Future[list[Object]] = asyncio.get_running_loop().create_future()

    def check(_: Change | None = None) -> None:
        if informer.synced.is_set() and not met.done():
            items = list(informer)
            last_seen[:] = map(without_managers, items)
            if is_met(items):
                met.set_result(items)

    informer.on_change(check)
    task = asyncio.create_task(informer.run())
    try:
        async with asyncio.timeout(limit):
            await informer.synced.wait()
            check()
            return await met
    except TimeoutError:
        seen = yaml.safe_dump(last_seen[:3]) if last_seen else "nothing"
        what = f"{kind.name} {fields or labels} in {namespace}"
        raise AssertionError(f"{what}: not as awaited within {limit} s; last seen:\n{seen}") from None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def has(condition: str, status: str, reason: str | None = None, *, generation: int = 0) -> Callable[[Object | None], bool]:
    """A predicate: the object has that condition with that status (and reason), of this `generation` of its spec or later."""

    def is_met(obj: Object | None) -> bool:
        found = conditions.find((obj or {}).get("status", {}).get("conditions"), condition) or {}
        is_current = found.get("observedGeneration", 0) >= generation
        return found.get("status") == status and reason in (None, found.get("reason")) and is_current

    return is_met


async def job_with(
    api: Api, name: str, namespace: str, condition: str, status: str, reason: str | None = None, *, generation: int = 0
) -> Object:
    """Await a condition of a NestedAppJob (see `has`) and return the job."""
    is_met = has(condition, status, reason, generation=generation)
    job = await wait_for(api, kinds.NESTED_APP_JOB, name, namespace, is_met)
    assert job is not None
    return job


async def queued_job(api: Api, name: str, namespace: str, position: int, text: str = "") -> Object:
    """Await a NestedAppJob that waits in that position of a queue, and is told so with this text; returns the job."""

    def waits(found: Object | None) -> bool:
        is_told = has(conditions.ADMITTED, "False", conditions.QUEUED)(found)
        status = (found or {}).get("status") or {}
        is_there = is_told and (status.get("queue") or {}).get("position") == position
        return is_there and text in message_of(found or {}, conditions.ADMITTED)

    job = await wait_for(api, kinds.NESTED_APP_JOB, name, namespace, waits)
    assert job is not None
    return job


def message_of(job: Object, condition: str) -> str:
    """The message of a job's condition."""
    found = conditions.find(job["status"]["conditions"], condition)
    assert found is not None
    return str(found["message"])
