"""The one way to wait: act, then `heard`.

Each watch is ordered by itself: what a test sees by its own, or in an answer to its own write, says nothing of what a process
of Nestor's has seen. So a test that goes on with "and nothing happens", with a second act that relies on the first being
known, or with a look at what a process has left alone, asks the process:

    await api.patch(kinds.NESTED_CLASS, name, None, {"spec": {"maxJobsPerNamespace": 1}})
    await operator.heard(api)
    await api.create(kinds.NESTED_APP_JOB, build_job("three", namespace, className=name))

Afterwards, every process that was asked

- knows all that its API servers had when `heard` was called, or had last: whoever wrote it, and deletions too. Each cache
  holds just what a list with its selectors gives;
- has done what follows from that, and nothing of what it did is unknown to it: no key waits or is worked on, and none is due
  within half a second. What is due later, as a deadline or another attempt, is not waited for;
- and all of this was so at one moment, for all processes together.

So a negative assertion after it is exact: `heard`, then look. For what is to come, `wait_for` and its like in `tests/waiting.py`
are enough, and shorter. Neither has a limit: the time limit of the test (pytest-timeout) is the only clock, and its report has
what was seen last.

A process says what it knows at `/debug/caches` of its health port (`nestor.kube.serving.pages`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp

from nestor.api.objects import Object
from nestor.kube import Api, Kind
from tests.waiting import eventually


@dataclass(frozen=True)
class Process:
    """Where a process says what it knows, and clients of its API servers, by the names that it has for them."""

    port: int
    servers: Mapping[str, Api]


async def heard(*processes: Process) -> None:
    """Await that the processes know everything, and have nothing to do."""

    last_seen = ""

    async def find_reason() -> str:
        pages = [await _read(process.port) for process in processes]
        # After the pages: a cache that equals a later list was up to date, and has been idle with that.
        for process, page in zip(processes, pages, strict=True):
            if page is None or page["busy"] or not page["caches"]:
                return f"at port {process.port}: {page and page['busy']} keys are worked on or due"
            for cache in page["caches"]:
                if not cache["isKnown"] or not await _is_current(process.servers[cache["server"]], cache):
                    return f"at port {process.port}: not up to date: {cache}"
        return ""

    async def is_met() -> bool:
        nonlocal last_seen
        last_seen = await find_reason()
        return not last_seen

    await eventually(is_met)


async def _read(port: int) -> Object | None:
    """The page; None while the process does not answer."""
    try:
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/debug/caches") as answer:
            found: Object | None = await answer.json(content_type=None) if answer.status == 200 else None
            return found
    except aiohttp.ClientError:
        return None


async def _is_current(api: Api, cache: Object) -> bool:
    group, _, version = cache["apiVersion"].rpartition("/")
    kind = Kind(group, version, cache["resource"], cache["resource"])
    labels, fields = cache.get("labelSelector", ""), cache.get("fieldSelector", "")
    listed = await api.with_metadata_only().list(kind, cache.get("namespace"), labels=labels, fields=fields)
    versions = [int(item["metadata"]["resourceVersion"]) for item in listed]
    if "objects" not in cache:  # a stream of events
        return bool(cache["version"] >= max(versions, default=0))
    return (cache["objects"], cache["versions"]) == (len(versions), sum(versions))
