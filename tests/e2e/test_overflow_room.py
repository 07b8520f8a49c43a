"""Pods that overflow because the machines are full. Nothing else may run on these meanwhile: it would take room, or find none."""

import pytest

from devcluster.cluster import PluginInfo
from nestor.api.objects import status_of
from nestor.api.words import HOST
from nestor.kube import kinds
from tests.e2e import overflow
from tests.e2e.conftest import kubectl
from tests.e2e.overflow import BY_ROOM, NEVER, STAY, Place, deployment
from tests.waiting import eventually

pytestmark = [pytest.mark.alone, pytest.mark.long]


async def test_pods_that_do_not_fit_go_out_and_say_where_and_why(place: Place) -> None:
    await place.allow(**BY_ROOM)
    share, own = await overflow.find_share(place.api), await overflow.backends_of_nodes(place.api)
    count = sum(not name for name in own.values()) + 2
    await place.create(deployment("parts", count, STAY, requests={"cpu": share}))
    await place.rolled_out("parts")
    found = await place.places("parts", count)
    assert found.count("") >= 1
    assert found.count(place.link) >= 2
    assert set(found) == {"", place.link}

    async def counted() -> bool:
        (cluster,) = await place.api.list(kinds.NESTED_CLUSTER, place.home)
        told = status_of(cluster).get("pods", {}).get("places", [])
        return {item["name"]: item.get("running") for item in told} == {
            HOST: found.count(""),
            place.link: found.count(place.link),
        }

    await eventually(counted)

    nodes = "jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName}{'\\n'}{end}"
    pods = dict(line.split() for line in (await kubectl(place.inside, "get", "pods", "-o", nodes)).splitlines())
    away = next(name for name, node in pods.items() if node == place.link)
    assert await place.told(away, "PodOverflowed") == (
        f"runs on node '{place.link}' of backend '{place.link}': no node of the host cluster could take it"
    )
    assert place.link in await kubectl(place.inside, "get", "nodes")
    here = next(name for name, node in pods.items() if node != place.link)
    fields = f"--field-selector=involvedObject.name={here},reason=PodOverflowed"
    assert "No resources found" in await kubectl(place.inside, "get", "events", fields)


async def test_a_pod_that_the_backend_holds_back_is_taken_back_and_runs_here(place: Place, plugin: PluginInfo) -> None:
    share, nodes = await overflow.find_share(place.api), await overflow.backends_of_nodes(place.api)
    own = sum(not name for name in nodes.values())
    await place.allow(**BY_ROOM | NEVER)
    await place.create(deployment("filler", own, STAY, requests={"cpu": share}))
    await place.places("filler", own)

    plugin.client.switch(hold=True)
    await place.allow(**BY_ROOM, pendingSeconds=20)
    await place.create(deployment("guest", 1, STAY, requests={"cpu": share}))
    assert await place.places("guest", 1) == [place.link]
    await kubectl(place.inside, "delete", "deployment", "filler")

    names = "jsonpath={range .items[?(@.status.reason=='BouncedBack')]}{.metadata.name} {.status.message}{'\\n'}{end}"
    said = await eventually(lambda: kubectl(place.inside, "get", "pods", "-l", "app=guest", "-o", names))
    assert f"Backend '{place.link}' has not started the pod within 20 s" in said
    await place.rolled_out("guest")
    assert await place.places("guest", 1) == [""]
    await overflow.until_forgotten(plugin, "guest")
