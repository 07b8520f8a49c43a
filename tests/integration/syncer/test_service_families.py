"""Services of two clusters with both address families, whose range is so small that the host has much of it.

One in thirteen addresses is taken, as in a range of the usual size (/16) beside 5,000 Services of the host.
"""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator

import pytest

from nestor.api import labels, names
from nestor.api.objects import Object, labels_of
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.syncer import world as worlds
from tests.integration.syncer.test_service_addresses import await_webhook, read_counter
from tests.integration.syncer.test_services import build_service
from tests.integration.syncer.world import World

pytestmark = pytest.mark.slow

RANGES = "10.43.0.0/20,fd43::/112"
TAKEN = 4096 * 5000 // 65536
OWN = 200


@pytest.fixture(scope="module")
async def dual() -> AsyncIterator[World]:
    """A host with many Services, and a syncer that is asked about new ones."""
    async with apiserver.running(service_cidr=RANGES) as plane, await Api.connect(str(plane.kubeconfig), manager="tests") as host:
        gate = asyncio.Semaphore(20)

        async def make(number: int) -> None:
            body = {"metadata": {"name": f"other-{number}", "namespace": "default"}, "spec": {"ports": [{"port": 80}]}}
            async with gate:
                await host.create(kinds.SERVICE, body)

        await asyncio.gather(*(make(number) for number in range(TAKEN)))
        async with worlds.running(host, plane) as made:
            await await_webhook(made)
            yield made


async def make_many(world: World) -> list[tuple[float, Object]]:
    """Services of the nested cluster, and how long each took."""
    gate = asyncio.Semaphore(4)

    async def make(number: int) -> tuple[float, Object]:
        async with gate:
            begin = time.monotonic()
            body = build_service("default", f"web-{number}", ipFamilyPolicy="PreferDualStack" if number % 2 else "SingleStack")
            made = await world.nested.create(kinds.SERVICE, body)
            return time.monotonic() - begin, made

    return await asyncio.gather(*(make(number) for number in range(OWN)))


async def find_copies(world: World, services: list[Object]) -> list[Object]:
    """Their host Services, once all are theirs."""

    async def look() -> list[Object]:
        found = {item["metadata"]["name"]: item for item in await world.host.list(kinds.SERVICE, world.namespace)}
        copies = [found.get(names.host_name(item["metadata"]["name"], "default"), {}) for item in services]
        uids = [labels_of(copy).get(labels.NESTED_UID) for copy in copies]
        return copies if uids == [item["metadata"]["uid"] for item in services] else []

    return await world.eventually(look)


async def test_none_of_200_services_in_a_crowded_range_is_made_again(dual: World) -> None:
    made = await make_many(dual)
    copies = await find_copies(dual, [item for _, item in made])
    nested = {item["metadata"]["name"]: item for item in await dual.nested.list(kinds.SERVICE, "default")}
    for (_, item), copy in zip(made, copies, strict=True):
        assert nested[item["metadata"]["name"]]["metadata"]["uid"] == item["metadata"]["uid"]
        assert copy["spec"]["clusterIPs"] == item["spec"]["clusterIPs"]
        assert len(copy["spec"]["clusterIPs"]) == (2 if item["spec"]["ipFamilyPolicy"] == "PreferDualStack" else 1)
    seconds = [taken for taken, _ in made]
    print(f"{OWN} Services: median {statistics.median(seconds) * 1000:.0f} ms, longest {max(seconds) * 1000:.0f} ms")
    assert await read_counter(dual, "service_addresses_missed") == 0
    await asyncio.gather(*(dual.nested.delete(kinds.SERVICE, item["metadata"]["name"], "default") for _, item in made))


@pytest.mark.parametrize(
    ("spec", "families"),
    [
        ({"ipFamilyPolicy": "PreferDualStack"}, ["IPv4", "IPv6"]),
        ({"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6", "IPv4"]}, ["IPv6", "IPv4"]),
        ({"ipFamilies": ["IPv6"]}, ["IPv6"]),
        ({}, ["IPv4"]),
    ],
)
async def test_both_families_are_the_same_on_both_sides(dual: World, spec: Object, families: list[str]) -> None:
    name = "-".join(["family", *families, "x" if spec else "y"]).lower()
    made = await dual.nested.create(kinds.SERVICE, build_service("default", name, **spec))
    (copy,) = await find_copies(dual, [made])
    for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        assert copy["spec"][key] == made["spec"][key]
    assert made["spec"]["ipFamilies"] == families


async def test_a_second_family_comes_and_goes(dual: World) -> None:
    made = await dual.nested.create(kinds.SERVICE, build_service("default", "grows"))

    async def change(policy: str, families: list[str]) -> None:
        await dual.nested.patch(kinds.SERVICE, "grows", "default", {"spec": {"ipFamilyPolicy": policy, "ipFamilies": families}})
        nested = await dual.nested.get(kinds.SERVICE, "grows", "default")

        async def same() -> bool:
            (copy,) = await find_copies(dual, [made])
            return bool(copy["spec"]["clusterIPs"] == nested["spec"]["clusterIPs"])

        await dual.eventually(same)

    await find_copies(dual, [made])
    await change("RequireDualStack", ["IPv4", "IPv6"])
    short = {"spec": {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"], "clusterIPs": [made["spec"]["clusterIP"]]}}
    await dual.nested.patch(kinds.SERVICE, "grows", "default", short)
    await change("SingleStack", ["IPv4"])
