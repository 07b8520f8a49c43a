"""Gangs: pods that need each other go to one place, all of them, or none starts.

The backend is the interLink plugin, which really runs containers. It has more CPUs to offer than any machine, but not many more.
"""

import json

import pytest

from devcluster.cluster import PluginInfo
from nestor.api import conditions, labels
from nestor.api.objects import Object, annotations_of, status_of
from nestor.kube import kinds
from tests.e2e import overflow
from tests.e2e.conftest import kubectl
from tests.e2e.overflow import STAY, Place, pod, records_of
from tests.waiting import eventually

pytestmark = [pytest.mark.xdist_group("plugin"), pytest.mark.long]

SIZE = 3
FITS_THERE, FITS_NOWHERE = "300", "400"
"""CPUs of one pod: the backend has room for three of the first kind, and for two of the second; no machine has any."""


async def allow(place: Place) -> None:
    """Have pods overflow, and be gangs."""
    rules = {"overflow": {"backends": [{"name": place.link}]}, "gang": {}}
    await overflow.allow(place.api, place.class_name, rules)


def job(name: str, cpu: str) -> str:
    """A Job all of whose pods are one gang."""
    own = json.loads(pod(name, STAY, terminationGracePeriodSeconds=0, requests={"cpu": cpu}))
    template = {"metadata": {"annotations": {labels.GANG: name}}, "spec": own["spec"]}
    spec = {"parallelism": SIZE, "completions": SIZE, "completionMode": "Indexed", "template": template}
    return json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": own["metadata"], "spec": spec})


async def pods(place: Place, name: str) -> list[Object]:
    """The nested pods of a Job."""
    found: list[Object] = json.loads(await kubectl(place.inside, "get", "pods", "-l", f"job-name={name}", "-o", "json"))["items"]
    return found


async def until_running(place: Place, name: str) -> list[Object]:
    """The nested pods of a Job, once all of them run."""

    async def look() -> list[Object] | None:
        found = await pods(place, name)
        return found if [status_of(item).get("phase") for item in found] == ["Running"] * SIZE else None

    return await eventually(look)


async def hosts(place: Place) -> list[Object]:
    """The host pods of the application."""
    return await place.api.list(kinds.POD, place.home, labels=labels.selector(component=labels.COMPONENT_APP))


async def test_a_gang_that_no_machine_of_the_host_has_room_for_goes_out_whole(place: Place) -> None:
    await allow(place)
    await place.create(job("train", FITS_THERE))
    found = await until_running(place, "train")
    assert await place.places("train", SIZE) == [place.link] * SIZE
    why = f"backend '{place.link}' has room for all 3 pods of gang 'default/train'"
    for host in await hosts(place):
        assert not host["spec"].get("schedulingGates")
        assert annotations_of(host)[labels.PLACE_REASON] == why
    for item in found:
        told = await place.told(item["metadata"]["name"], "PodOverflowed")
        assert told == f"runs on node '{place.link}' of backend '{place.link}': {why}"

    async def counted() -> bool:
        (cluster,) = await place.api.list(kinds.NESTED_CLUSTER, place.home)
        places = status_of(cluster).get("pods", {}).get("places", [])
        return bool(places == [{"name": place.link, "running": SIZE, "starting": 0, "reason": why}])

    await eventually(counted)


async def test_a_gang_that_fits_nowhere_starts_nothing_says_why_and_holds_up_no_other(place: Place, plugin: PluginInfo) -> None:
    await allow(place)
    await place.create(job("huge", FITS_NOWHERE))
    expected = f"no place has room for all 3 pods of gang 'default/huge': the host cluster for 0, backend '{place.link}' for 2"

    async def explained() -> list[Object] | None:
        found = await pods(place, "huge")
        said = [conditions.find(status_of(item).get("conditions"), "PodScheduled") or {} for item in found]
        is_said = [(item.get("reason"), item.get("message")) for item in said] == [("GangWaiting", expected)] * SIZE
        return found if is_said else None

    await eventually(explained)
    waiting = await hosts(place)
    assert len(waiting) == SIZE
    assert not any(host["spec"].get("nodeName") for host in waiting)
    assert records_of(plugin, "huge") == []

    await place.create(job("small", FITS_THERE))
    await until_running(place, "small")
    assert {status_of(item).get("phase") for item in await pods(place, "huge")} == {"Pending"}
    assert records_of(plugin, "huge") == []
