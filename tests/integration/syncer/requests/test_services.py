"""Services, and the links to them."""

from __future__ import annotations

import pytest

from nestor.api import labels
from nestor.kube import kinds
from tests.integration.syncer.pods import build_pod
from tests.integration.syncer.requests.conftest import Object, Stage
from tests.integration.syncer.test_services import build_service, host_service

pytestmark = pytest.mark.slow

SPACE = "services"
FIRST, SECOND, TAKEN, AGAIN = (f"10.43.0.{number}" for number in (101, 102, 103, 104))
"""Of the part of the range from which nothing is given out by itself."""


async def test_requests(stage: Stage) -> None:
    world, nested_api = stage.world, stage.world.nested
    await stage.set_up()
    async with stage.step("a Service is created"):
        await nested_api.create(kinds.SERVICE, build_service(SPACE, clusterIP=FIRST, sessionAffinity="ClientIP"))
        host = await world.host_object(kinds.SERVICE, "web", SPACE)
    await _changes(stage)
    async with stage.step("a label of the host Service is changed by others"):
        change = {"metadata": {"labels": {"nestor.dev/job": "other"}}}
        await world.host.patch(kinds.SERVICE, host["metadata"]["name"], world.namespace, change)
        await stage.host_is(
            kinds.SERVICE, "web", lambda found: bool(found and found["metadata"]["labels"]["nestor.dev/job"] == "hello")
        )
    async with stage.step("the host Service is deleted by others"):
        await world.host.delete(kinds.SERVICE, host["metadata"]["name"], world.namespace)
        await world.gone(world.host, kinds.SERVICE, host)
        await world.host_object(kinds.SERVICE, "web", SPACE)
    await _not_carried(stage)
    await _an_address_that_is_taken(stage)
    await _links(stage)
    async with stage.step("the Services are deleted"):
        for name in ("web", "public", "headless", "name", "bare", "clash"):
            await nested_api.delete(kinds.SERVICE, name, SPACE)
            await stage.host_is(kinds.SERVICE, name, lambda found: found is None)
    stage.check()


async def _changes(stage: Stage) -> None:
    """The tenant changes a Service, one field at a time."""
    changes: list[tuple[str, Object]] = [
        ("ports", {"ports": [{"name": "http", "port": 80, "targetPort": 8080}, {"name": "dns", "port": 53, "protocol": "UDP"}]}),
        ("selector", {"selector": {"app": None, "tier": "front", "app.kubernetes.io/managed-by": "Helm"}}),
        ("session affinity", {"sessionAffinity": "None", "sessionAffinityConfig": None}),
        ("publishNotReadyAddresses", {"publishNotReadyAddresses": True}),
        ("trafficDistribution", {"trafficDistribution": "PreferClose"}),
        ("trafficDistribution, away", {"trafficDistribution": None}),
    ]
    for title, change in changes:
        async with stage.step(f"changed: {title}"):
            await stage.world.nested.patch(kinds.SERVICE, "web", SPACE, {"spec": change})
            await stage.recorder.settle()
    async with stage.step("changed: a label of the tenant's"):
        await stage.world.nested.patch(kinds.SERVICE, "web", SPACE, {"metadata": {"labels": {"color": "red"}}})
        await stage.recorder.settle()


async def _not_carried(stage: Stage) -> None:
    """Those that live in the nested cluster alone, or cannot work."""
    world = stage.world
    async with stage.step("a headless and an ExternalName Service are created"):
        await world.nested.create(kinds.SERVICE, build_service(SPACE, "headless", clusterIP="None"))
        await world.nested.create(kinds.SERVICE, build_service(SPACE, "name", type="ExternalName", externalName="example.org"))
        await stage.recorder.settle()
    async with stage.step("a Service without a selector is created"):
        bare = build_service(SPACE, "bare", clusterIP=SECOND)
        del bare["spec"]["selector"]
        await world.nested.create(kinds.SERVICE, bare)
        await world.host_object(kinds.SERVICE, "bare", SPACE)
    async with stage.step("a Service for the outside is created"):
        public = {"type": "LoadBalancer", "clusterIP": AGAIN, "allocateLoadBalancerNodePorts": False}
        await world.nested.create(kinds.SERVICE, build_service(SPACE, "public", **public))
        await world.host_object(kinds.SERVICE, "public", SPACE)


async def _an_address_that_is_taken(stage: Stage) -> None:
    """The host gave it away: it chooses another one, before the nested Service exists."""
    world = stage.world
    other = build_service("default", "requests-other", clusterIP=TAKEN)
    await world.host.create(kinds.SERVICE, other)
    async with stage.step("a Service has an address that is taken on the host"):
        body = build_service(SPACE, "clash", clusterIP=TAKEN)
        body["metadata"]["annotations"] = {"note": "kept"}
        await world.nested.create(kinds.SERVICE, body)

        async def same() -> bool:
            nested, host = await world.nested.find(kinds.SERVICE, "clash", SPACE), await host_service(world, SPACE, "clash")
            good = nested and host and nested["spec"]["clusterIP"] == host["spec"]["clusterIP"] != TAKEN
            return bool(good and host and labels.RESERVED_UNTIL not in host["metadata"]["annotations"])

        await world.eventually(same)
    await world.host.delete(kinds.SERVICE, "requests-other", "default")


async def _links(stage: Stage) -> None:
    """The variables that pods get of the Services of their namespace."""
    world = stage.world
    async with stage.step("the namespace's first pod is created"):
        first = await stage.create(build_pod(SPACE, "first", automountServiceAccountToken=False))
    async with stage.step("a second one is created, and one without links"):
        second = await stage.create(build_pod(SPACE, "second", automountServiceAccountToken=False))
        third = await stage.create(build_pod(SPACE, "third", automountServiceAccountToken=False, enableServiceLinks=False))
    async with stage.step("a port of a Service is changed while there are pods"):
        await world.nested.patch(kinds.SERVICE, "web", SPACE, {"spec": {"ports": [{"name": "http", "port": 81}]}})
        await stage.recorder.settle()
    for pair in (first, second, third):
        await stage.bind(*pair)
    await stage.recorder.settle()
    for pair in (second, third):
        await stage.delete(*pair)
        await stage.recorder.settle()
        await stage.end(*pair)
    async with stage.step("the namespace's last pod goes"):
        await stage.remove(first)
