"""What goes on while the dashboard's picture is taken: a few minutes of several jobs, with queues, retries, an error and ends."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Sequence

from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from nestor.objects import Object
from tests.e2e import overflow
from tests.e2e.conftest import NOTHING, apply, example, inline_job
from tests.waiting import job_with, wait_for_none

CLASSES: dict[str, Object] = {"interactive": {}, "batch": {"queue": {"maxJobs": 2}}}
"""By name: what each has besides what the default one has."""
FAILING = base64.b64encode(b"#!/bin/sh\necho 'no database yet'\nexit 1\n").decode()


async def play(api: Api, namespace: str) -> None:
    """All of it. In the end, the namespace has no jobs."""
    await _end(api, namespace)
    async with _classes(api):
        await _start(api, namespace, "hello", ["hello-1", "hello-2"], "interactive")
        await _until(api, namespace, ["hello-1", "hello-2"], conditions.READY)
        with overflow.running_plugin() as plugin:
            async with overflow.backend(api, "gpu-site", overflow.interlink(plugin)):
                await _be_busy(api, namespace)
                await _end(api, namespace)


async def _be_busy(api: Api, namespace: str) -> None:
    parts = [f"part-{number}" for number in range(1, 6)]
    await _start(api, namespace, "batch", parts, "batch")
    failing = {"name": "seed", "type": "custom", "cmd": FAILING, "retry": 4, "retry_sleep": 3}
    await apply(api, inline_job("shop", namespace, {"nothing.yaml": NOTHING}, [failing]))
    await _start(api, namespace, "hello", ["lost"], "gold")
    await _until(api, namespace, parts[:2], conditions.SUCCEEDED)
    await _start(api, namespace, "hello", ["short"], "interactive", activeDeadlineSeconds=30)
    await _patch(api, namespace, "hello-1", {"metadata": {"annotations": {labels.RERUN: "1"}}})
    await _patch(api, namespace, "hello-2", {"spec": {"suspend": True}})
    await job_with(api, "hello-2", namespace, conditions.READY, "False", conditions.SUSPENDED)
    await _until(api, namespace, parts, conditions.SUCCEEDED)
    await apply(api, inline_job("shop", namespace, {"nothing.yaml": NOTHING}))
    await _patch(api, namespace, "hello-2", {"spec": {"suspend": False}})
    await api.delete(kinds.NESTED_APP_JOB, "lost", namespace)
    await _start(api, namespace, "hello", ["hello-3"], "interactive")
    await job_with(api, "short", namespace, conditions.SUCCEEDED, "False")
    await _until(api, namespace, ["hello-1", "hello-2", "hello-3", "shop"], conditions.READY)


@contextlib.asynccontextmanager
async def _classes(api: Api) -> AsyncIterator[None]:
    default = (await api.get(kinds.NESTED_CLASS, "default"))["spec"]
    for name, more in CLASSES.items():
        await api.apply(kinds.NESTED_CLASS, {"metadata": {"name": name}, "spec": default | more})
    try:
        yield
    finally:
        for name in CLASSES:
            await api.delete(kinds.NESTED_CLASS, name)


async def _start(api: Api, namespace: str, kind: str, names: Sequence[str], class_name: str, **spec: object) -> None:
    folder = {"hello": "01-hello-world", "batch": "06-batch"}[kind]
    for name in names:
        documents = example(folder, name, namespace)
        documents[-1]["spec"] |= {"className": class_name, **spec}
        await apply(api, documents)


async def _until(api: Api, namespace: str, names: Sequence[str], condition: str) -> None:
    await asyncio.gather(*(job_with(api, name, namespace, condition, "True") for name in names))


async def _patch(api: Api, namespace: str, name: str, change: Object) -> None:
    await api.patch(kinds.NESTED_APP_JOB, name, namespace, change)


async def _end(api: Api, namespace: str) -> None:
    for job in await api.list(kinds.NESTED_APP_JOB, namespace):
        await api.delete(kinds.NESTED_APP_JOB, job["metadata"]["name"], namespace)
    await wait_for_none(api, kinds.NESTED_APP_JOB, namespace)
