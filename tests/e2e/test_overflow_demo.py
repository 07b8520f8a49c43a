"""What `make demo-overflow` runs, on the tests' cluster: it tells where each pod goes, and how many are where."""

import re
from collections.abc import AsyncIterator

import pytest

import devcluster.cluster
from devcluster.cluster import PluginInfo
from devcluster.demo import overflow, scene, show
from nestor.kube import Api, kinds
from tests.e2e.overflow import remove_backend
from tests.e2e.test_demo import run_demo
from tests.waiting import gone

pytestmark = [pytest.mark.alone, pytest.mark.long]


@pytest.fixture
async def tidied(api: Api, plugin: PluginInfo) -> AsyncIterator[None]:
    """Without what the demo leaves: it is for people who look around."""
    if len(devcluster.cluster.nodes()) < 2:
        pytest.skip("the cluster was started with NODES=1")
    yield
    await end_job(api, show.job_of(overflow.EXAMPLE)["metadata"]["name"])
    for name in (scene.CLUSTER, scene.PLUGIN):
        await remove_backend(api, name)
    await end_job(api, scene.CLUSTER)
    for name in (scene.CLASS, scene.CLUSTER_CLASS):
        await api.delete(kinds.NESTED_CLASS, name)
    await api.delete(kinds.SECRET, scene.CLUSTER, scene.SYSTEM)
    for name in ("parts-templates", f"{scene.CLUSTER}-templates"):
        await api.delete(kinds.CONFIG_MAP, name, scene.NAMESPACE)


async def end_job(api: Api, name: str) -> None:
    """Delete a job of the demo and await its end; harmless when it is gone."""
    await api.delete(kinds.NESTED_APP_JOB, name, scene.NAMESPACE)
    await gone(api, kinds.NESTED_APP_JOB, name, scene.NAMESPACE)


@pytest.mark.usefixtures("tidied")
async def test_the_demo_tells_where_pods_go_and_how_many_are_in_each_place() -> None:
    code, output = await run_demo("overflow")
    assert code == 0, output
    for place in (scene.CLUSTER, scene.PLUGIN):
        assert re.search(rf"\d s  parts-\d-\w+ goes to backend '{place}': no node of the host cluster could take it", output)
    assert re.search(r"\d s  parts-\d-\w+ stays, on node ", output)
    assert re.search(rf"pods: [1-3] here, \d at '{scene.PLUGIN}', \d at '{scene.CLUSTER}'", output)
    summary = output.partition("How many pods ran where:")[2]
    counts = dict(re.findall(r"^  (\S+) +(\d)$", summary, re.MULTILINE))
    assert counts.keys() == {"here", scene.CLUSTER, scene.PLUGIN}
    assert sum(map(int, counts.values())) == scene.PARTS
    assert "0" not in counts.values()
