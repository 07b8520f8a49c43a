"""What a process says of its caches, and of its work."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

from nestor.kube import Api, Informer, WorkQueue, kinds
from nestor.kube.process import caches
from nestor.kube.stream import Stream

API = cast(Api, None)


def pod(name: str, version: int) -> dict[str, Any]:
    """A pod of that version."""
    return {"metadata": {"namespace": "team-a", "name": name, "resourceVersion": str(version), "labels": {"secret": "x"}}}


def read(*informers: Informer) -> list[dict[str, Any]]:
    """The caches of the page."""
    found: list[dict[str, Any]] = json.loads(caches.write({"host": informers}, ()))["caches"]
    return found


def test_a_cache_says_how_much_it_knows_and_nothing_of_its_objects() -> None:
    informer = Informer(API, kinds.POD, "team-a", labels="a=b", fields="spec.nodeName=n")
    about = {"server": "host", "apiVersion": "v1", "resource": "pods"}
    selectors = {"namespace": "team-a", "labelSelector": "a=b", "fieldSelector": "spec.nodeName=n"}
    assert read(informer) == [about | selectors | {"isKnown": False, "objects": 0, "versions": 0, "version": 0}]
    for event, item in (
        ("ADDED", pod("one", 5)),
        ("ADDED", pod("two", 7)),
        ("MODIFIED", pod("one", 8)),
        ("DELETED", pod("two", 9)),
    ):
        informer._take({"type": event, "object": item})
    assert read(informer) == [about | selectors | {"isKnown": True, "objects": 1, "versions": 8, "version": 9}]
    informer._take({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "12"}}})
    assert read(informer)[0]["version"] == 12


def test_a_stream_keeps_nothing_and_says_how_far_it_has_come() -> None:
    stream = Stream(API, kinds.EVENT)
    stream._take({"type": "ADDED", "object": pod("one", 5)})
    assert read(stream) == [{"server": "host", "apiVersion": "v1", "resource": "events", "isKnown": True, "version": 5}]


async def test_work_is_what_waits_or_runs_or_is_due_soon() -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    async def work(_: str) -> None:
        began.set()
        await go_on.wait()

    def count() -> int:
        found: int = json.loads(caches.write({}, [queue]))["busy"]
        return found

    queue: WorkQueue[str] = WorkQueue(work, workers=1)
    running = asyncio.create_task(queue.run())
    assert count() == 0
    for key in ("runs", "waits"):
        queue.add(key)
    queue.add("soon", caches.SOON_SECONDS / 2)
    queue.add("later", 3600)
    await began.wait()
    assert count() == 3
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
