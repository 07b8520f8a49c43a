"""The examples of overflow, as their readers apply them; only where the backends are is changed."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import devcluster.cluster
from devcluster.cluster import PluginInfo
from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from nestor.objects import Object
from tests.e2e import overflow
from tests.e2e.conftest import apply, example, read_example
from tests.waiting import eventually, job_with, wait_for_any

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
async def class_of(api: Api, folder: str, **placement: Any) -> AsyncIterator[str]:
    """A class that is patched as an example says, and then some."""
    (patch,) = read_example(folder, "placement.yaml")
    spec = patch["spec"] | {"placement": patch["spec"]["placement"] | placement}
    async with overflow.overflow_class(api, **spec) as name:
        yield name


async def start(api: Api, folder: str, name: str, namespace: str, class_name: str, **spec: Any) -> str:
    """The job of an example; its namespace in the host cluster."""
    documents = example(folder, name, namespace)
    documents[-1]["spec"] |= {"className": class_name, **spec}
    await apply(api, documents)
    job = await job_with(api, name, namespace, conditions.ADMITTED, "True")
    return str(job["status"]["namespace"])


async def work_in_two_places(
    api: Api, folder: str, namespace: str, class_name: str, backend: str, parameters: dict[str, Any]
) -> None:
    """Run the job of parts to its end, and see that some of them run here and some there at the same time."""
    home = await start(api, folder, "parts", namespace, class_name, parameters={**parameters, "SECONDS": 20})

    async def look() -> list[str]:
        found = await overflow.find_places(api, home)
        return sorted(found.values()) if len(found) == parameters["PARTS"] else []

    assert set(await eventually(look, limit=overflow.LIMIT)) == {"", backend}
    await job_with(api, "parts", namespace, conditions.SUCCEEDED, "True", limit=180)


@pytest.mark.alone  # the machines are full
async def test_cpu_overflow(api: Api, plugin: PluginInfo, namespace: str) -> None:
    folder = "09-cpu-overflow"
    async with backend_of(api, folder, overflow.interlink(plugin)) as name, class_of(api, folder) as class_name:
        own = [node for node, found in (await overflow.backends_of_nodes(api)).items() if not found]
        parameters = {"PARTS": len(own) + 2, "CPU": await overflow.find_share(api)}
        await work_in_two_places(api, folder, namespace, class_name, name, parameters)


@pytest.mark.xdist_group("plugin")
async def test_a_gpu_on_a_backend(api: Api, plugin: PluginInfo, namespace: str) -> None:
    folder = "10-gpu-on-a-backend"
    async with backend_of(api, folder, overflow.interlink(plugin)) as name, class_of(api, folder) as class_name:
        node = await api.get(kinds.NODE, name)
        assert node["metadata"]["labels"][labels.PRICE] == "3"
        home = await start(api, folder, "training", namespace, class_name)
        await wait_for_any(api, kinds.POD, home, lambda pod: pod["spec"].get("nodeName") == name, labels=APP, limit=120)
        await job_with(api, "training", namespace, conditions.SUCCEEDED, "True", limit=180)


@pytest.mark.alone  # as above
async def test_a_gang_goes_to_one_place(api: Api, plugin: PluginInfo, namespace: str) -> None:
    """There is one rank too many for the host cluster's own nodes, so none stays."""
    folder = "12-gang"
    async with backend_of(api, folder, overflow.interlink(plugin)) as name, class_of(api, folder) as class_name:
        own = [node for node, found in (await overflow.backends_of_nodes(api)).items() if not found]
        parameters = {"RANKS": len(own) + 1, "CPU": await overflow.find_share(api), "SECONDS": 10}
        home = await start(api, folder, "ranks", namespace, class_name, parameters=parameters)

        async def look() -> list[str]:
            found = await overflow.find_places(api, home)
            return list(found.values()) if len(found) == parameters["RANKS"] else []

        assert set(await eventually(look, limit=overflow.LIMIT)) == {name}
        await job_with(api, "ranks", namespace, conditions.SUCCEEDED, "True", limit=180)


@pytest.mark.alone  # as above
async def test_a_second_cluster(api: Api, cluster: object, namespace: str, tmp_path: Path) -> None:
    """The pods of the second cluster run on the first node, all others on the second one, which takes three parts at most."""
    if len(nodes := devcluster.cluster.nodes()) < 2:
        pytest.skip("the cluster has one node")
    folder, share = "13-second-cluster", await overflow.find_share(api, Decimal("0.3"))
    capacity = {"cpu": f"{2 * int(share.removesuffix('m'))}m", "memory": "2Gi"}
    first, second = ({"nodeSelector": {"kubernetes.io/hostname": node}} for node in nodes[:2])
    async with (
        overflow.overflow_class(api, first) as other,
        overflow.second_cluster(api, "east", namespace, tmp_path, capacity, className=other) as spec,
        backend_of(api, folder, spec) as name,
        class_of(api, folder, **second) as class_name,
    ):
        await work_in_two_places(api, folder, namespace, class_name, name, {"PARTS": 4, "CPU": share})
