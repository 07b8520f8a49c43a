"""Array jobs: a large one runs at a backend and a small one here. Both are gathered and merged, and a server is told."""

import asyncio
import contextlib
import hashlib
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from devcluster.cluster import PluginInfo, settings
from nestor.api import conditions, labels
from nestor.api.objects import Object, labels_of
from nestor.kube import Api, kinds
from tests.e2e import overflow
from tests.e2e.conftest import apply, class_like_default, example, kubectl, nested_kubeconfig, read_example
from tests.fakes.sink import FakeSink
from tests.waiting import eventually, has, job_with, wait_for

pytestmark = [pytest.mark.xdist_group("plugin"), pytest.mark.long]

FOLDER = "08-array-job"
TRIGGER = 6
NUMBERS = "".join(f"{number}\n" for number in range(20_000))
"""More than a parameter may have."""
COMPUTE = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b}


@contextlib.asynccontextmanager
async def catalog(api: Api) -> AsyncIterator[None]:
    """The example's entry of the catalog."""
    templates, app = read_example(FOLDER, "app.yaml")
    name, file = app["metadata"]["name"], templates["metadata"]
    await api.apply(kinds.CONFIG_MAP, templates)
    await api.apply(kinds.NESTED_APP, app)
    try:
        await wait_for(api, kinds.NESTED_APP, name, "", has(conditions.ACCEPTED, "True"))
        yield
    finally:
        await api.delete(kinds.NESTED_APP, name)
        await api.delete(kinds.CONFIG_MAP, file["name"], file["namespace"])


@contextlib.asynccontextmanager
async def serving(content: str) -> AsyncIterator[str]:
    """A file on a server outside of the cluster; its URL."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=content)

    application = web.Application()
    application.router.add_get("/numbers", answer)
    async with TestServer(application, host=settings.MACHINE_IP) as server:
        yield str(server.make_url("/numbers"))


async def start(api: Api, name: str, namespace: str, class_name: str, **parameters: Any) -> list[Object]:
    """The example's job; its items."""
    documents = example(FOLDER, name, namespace)
    spec = documents[-1]["spec"]
    spec |= {"className": class_name, "parameters": spec["parameters"] | parameters}
    await apply(api, documents)
    return [json.loads(line) for line in spec["parameters"]["input"].splitlines()]


async def read_data(inside: Path, name: str) -> dict[str, str]:
    """The data of a nested ConfigMap."""
    found: dict[str, str] = json.loads(await kubectl(inside, "get", "configmap", name, "-o", "json"))["data"]
    return found


async def find_nodes(inside: Path, job: str) -> list[str]:
    """The nodes of a nested Job's pods, one for each pod."""
    return (await kubectl(inside, "get", "pods", "-l", f"job-name={job}", "-o", "jsonpath={.items[*].spec.nodeName}")).split()


def check_results(text: str, items: list[Object]) -> None:
    """Each item is there once, in order, with its result."""
    results = [json.loads(line) for line in text.splitlines()]
    assert [{key: value for key, value in item.items() if key != "result"} for item in results] == items
    expected = [COMPUTE[item["op"]](item["value1"], item["value2"]) for item in items]
    assert [item["result"] for item in results] == pytest.approx(expected)


async def test_a_large_list_is_worked_on_at_a_backend_and_a_small_one_here(
    api: Api, plugin: PluginInfo, namespace: str, tmp_path: Path
) -> None:
    sink, backend = FakeSink(), f"array-{uuid.uuid4().hex[:6]}"
    async with (
        sink.serve(settings.MACHINE_IP) as url,
        overflow.backend(api, backend, overflow.interlink(plugin)),
        serving(NUMBERS) as file,
        class_like_default(
            api,
            "overflow",
            placement={"overflow": {"backends": [{"name": backend}]}},
            notices=[{"name": "portal", "url": url}],
            network={"privateRanges": []},
        ) as class_name,
        catalog(api),
    ):
        items = await start(api, "large", namespace, class_name)
        checksum = hashlib.sha256(NUMBERS.encode()).hexdigest()
        small_job = example(FOLDER, "small", namespace, "job-from-url.yaml")
        small_job[-1]["spec"] |= {"className": class_name}
        small_job[-1]["spec"]["parameters"] |= {"input_url": file, "input_sha256": checksum, "parts": 2, "cpu": "50m"}
        await apply(api, small_job)
        large, small = await asyncio.gather(
            *(job_with(api, name, namespace, conditions.SUCCEEDED, "True") for name in ("large", "small"))
        )
        inside = await nested_kubeconfig(api, large, tmp_path)
        parts = await read_data(inside, "parts")
        assert len(parts) == -(-len(items) // 2) >= TRIGGER
        assert await find_nodes(inside, "work") == [backend] * len(parts)
        assert await find_nodes(inside, "merge") != [backend], "one pod is no reason to leave"
        check_results(parts["part-3"], items[6:8])
        check_results((await read_data(inside, "results"))["all"], items)

        inside = await nested_kubeconfig(api, small, tmp_path)
        nodes = await find_nodes(inside, "work")
        assert len(nodes) == 2
        own = {node["metadata"]["name"] for node in await api.list(kinds.NODE) if labels.BACKEND not in labels_of(node)}
        assert set(nodes) <= own
        assert (await read_data(inside, "results"))["all"].split() == [str(sum(map(int, NUMBERS.split())))]

        await check_notices(api, sink, namespace, large, small)


async def check_notices(api: Api, sink: FakeSink, namespace: str, *jobs: Object) -> None:
    """The sink is told of each job's end, once."""

    async def are_told() -> bool:
        return sink.types().count("succeeded") == len(jobs)

    await eventually(are_told)
    for job in jobs:
        name, uid = job["metadata"]["name"], job["metadata"]["uid"]
        (told,) = [
            item for item in sink.events if item["type"].endswith(".succeeded") and item["subject"] == f"{namespace}/{name}"
        ]
        assert told["id"].startswith(f"{uid}.succeeded.")
        assert (told["data"]["uid"], told["data"]["reason"]) == (uid, conditions.COMPLETED)

        def is_delivered(found: Object | None) -> bool:
            return not (found or {}).get("status", {}).get("notices")

        await wait_for(api, kinds.NESTED_APP_JOB, name, namespace, is_delivered)
