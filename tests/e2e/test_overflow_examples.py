"""The examples of overflow, as their readers apply them, but that the backends are somewhere else."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import PluginInfo
from nestor.api import conditions, labels
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests.e2e import overflow
from tests.e2e.conftest import apply, class_like_default, example, read_example
from tests.waiting import eventually, job_with, until, wait_for_any

pytestmark = pytest.mark.long

APP = labels.selector(component=labels.COMPONENT_APP)


@contextlib.asynccontextmanager
async def backend_of(api: Api, folder: str, spec: Object) -> AsyncIterator[str]:
    """The backend of an example, somewhere else."""
    (made,) = read_example(folder, "backend.yaml")
    kept = {key: value for key, value in made["spec"].items() if key not in ("interlink", "kubernetes")}
    assert kept["type"] == spec["type"]
    async with overflow.backend(api, made["metadata"]["name"], kept | spec):
        yield made["metadata"]["name"]


@contextlib.asynccontextmanager
async def class_of(api: Api, folder: str, **rules: Any) -> AsyncIterator[str]:
    """A class that is patched as an example says, but for some `rules` of overflow."""
    (patch,) = read_example(folder, "placement.yaml")
    patch["spec"]["placement"]["overflow"] |= rules
    async with class_like_default(api, "overflow", **patch["spec"]) as name:
        yield name


async def start(api: Api, folder: str, name: str, namespace: str, class_name: str, **spec: Any) -> str:
    """The job of an example; its namespace in the host cluster."""
    documents = example(folder, name, namespace)
    documents[-1]["spec"] |= {"className": class_name, **spec}
    await apply(api, documents)
    job = await job_with(api, name, namespace, conditions.ADMITTED, "True")
    return str(job["status"]["namespace"])


async def find_all_places(api: Api, home: str, count: int) -> set[str]:
    """The backends of the pods of a job's application, once so many have a node; empty for the host's own."""
    found = await until(lambda: overflow.find_places(api, home), lambda places: len(places) == count)
    return set(found.values())


@pytest.mark.alone  # the machines are full
async def test_cpu_overflow(api: Api, plugin: PluginInfo, namespace: str) -> None:
    folder = "09-cpu-overflow"
    async with backend_of(api, folder, overflow.interlink(plugin)) as name, class_of(api, folder) as class_name:
        own = [node for node, found in (await overflow.backends_of_nodes(api)).items() if not found]
        count = len(own) + 2
        parameters = {"PARTS": count, "CPU": await overflow.find_share(api), "SECONDS": 20}
        home = await start(api, folder, "parts", namespace, class_name, parameters=parameters)
        assert await find_all_places(api, home, count) == {"", name}
        await job_with(api, "parts", namespace, conditions.SUCCEEDED, "True")


@pytest.mark.xdist_group("plugin")
async def test_a_gpu_on_a_backend(api: Api, plugin: PluginInfo, namespace: str) -> None:
    folder = "10-gpu-on-a-backend"
    async with backend_of(api, folder, overflow.interlink(plugin)) as name, class_of(api, folder) as class_name:
        node = await api.get(kinds.NODE, name)
        assert node["metadata"]["labels"][labels.PRICE] == "3"
        home = await start(api, folder, "training", namespace, class_name)
        await wait_for_any(api, kinds.POD, home, lambda pod: pod["spec"].get("nodeName") == name, labels=APP)
        await job_with(api, "training", namespace, conditions.SUCCEEDED, "True")


@pytest.mark.xdist_group("plugin")
async def test_a_gang_goes_to_one_place(api: Api, plugin: PluginInfo, namespace: str) -> None:
    """There is one rank too many for the host cluster's own nodes, even if they are empty, so none stays."""
    folder = "12-gang"
    async with backend_of(api, folder, overflow.interlink(plugin)) as name, class_of(api, folder) as class_name:
        own = [node for node, found in (await overflow.backends_of_nodes(api)).items() if not found]
        count = len(own) + 1
        parameters = {"RANKS": count, "CPU": await overflow.find_share(api), "SECONDS": 10}
        home = await start(api, folder, "ranks", namespace, class_name, parameters=parameters)
        assert await find_all_places(api, home, count) == {name}
        await job_with(api, "ranks", namespace, conditions.SUCCEEDED, "True")


@pytest.mark.xdist_group("second-cluster")
async def test_a_second_cluster(api: Api, namespace: str, tmp_path: Path) -> None:
    """All pods go there: it has the machines of the host cluster, so it has no room when these have none."""
    folder, parameters = "13-second-cluster", {"PARTS": 2, "CPU": "50m", "SECONDS": 5}
    async with (
        overflow.second_cluster(api, "east", namespace, tmp_path, {"cpu": "4", "memory": "2Gi"}) as spec,
        backend_of(api, folder, spec) as name,
        class_of(api, folder, mode="Always") as class_name,
    ):
        home = await start(api, folder, "parts", namespace, class_name, parameters=parameters)

        async def look() -> list[str]:
            nodes = [pod["spec"].get("nodeName") or "" for pod in await api.list(kinds.POD, home, labels=APP)]
            return nodes if len(nodes) == parameters["PARTS"] and all(nodes) else []

        assert await eventually(look) == [name] * 2
        await job_with(api, "parts", namespace, conditions.SUCCEEDED, "True")
