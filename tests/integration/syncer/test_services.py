"""Services: the same address on both sides, whatever it takes."""

from typing import Any

from nestor.api import names
from nestor.api.objects import Object
from nestor.kube import kinds
from nestor.pods.translate.labels import host_key, host_labels
from tests.integration.syncer.world import World
from tests.waiting import until


def build_service(space: str, name: str = "web", **spec: Any) -> Object:
    """A small nested Service."""
    return {
        "metadata": {"name": name, "namespace": space},
        "spec": {"ports": [{"name": "http", "port": 80, "targetPort": "web"}], "selector": {"app": name}, **spec},
    }


async def host_service(world: World, space: str, name: str = "web") -> Object | None:
    """The host Service of a nested one."""
    return await world.host.find(kinds.SERVICE, names.host_name(name, space), world.namespace)


async def events(world: World, space: str, reason: str) -> list[str]:
    """What was told in a nested namespace."""
    return [item["message"] for item in await world.nested.list(kinds.EVENT, space) if item["reason"] == reason]


async def test_a_service_has_the_same_address_and_selects_this_cluster_s_pods_only(world: World, space: str) -> None:
    nested = await world.nested.create(kinds.SERVICE, build_service(space, sessionAffinity="ClientIP"))
    host = await world.host_object(kinds.SERVICE, "web", space)
    assert host["spec"]["clusterIP"] == nested["spec"]["clusterIP"]
    assert host["spec"]["selector"] == host_labels({"app": "web"}, ()) | {
        "nestor.dev/cluster": "hello",
        "nestor.dev/nested-namespace": space,
    }
    assert host["spec"]["sessionAffinity"] == "ClientIP"
    assert host["spec"]["ports"] == [{"name": "http", "port": 80, "targetPort": "web", "protocol": "TCP"}]


async def test_changes_and_deletion_follow(world: World, space: str) -> None:
    await world.nested.create(kinds.SERVICE, build_service(space))
    host = await world.host_object(kinds.SERVICE, "web", space)
    change = {"spec": {"selector": {"app": None, "tier": "front"}, "ports": [{"port": 81}], "publishNotReadyAddresses": True}}
    await world.nested.patch(kinds.SERVICE, "web", space, change)

    async def followed() -> bool:
        found = await host_service(world, space)
        assert found is not None
        spec = found["spec"]
        same = [port["port"] for port in spec["ports"]] == [81] and spec.get("publishNotReadyAddresses")
        return bool(same and host_key("app", ()) not in spec["selector"] and spec["selector"][host_key("tier", ())] == "front")

    await world.eventually(followed)
    await world.nested.delete(kinds.SERVICE, "web", space)
    await world.gone(world.host, kinds.SERVICE, host)


async def test_a_service_made_again_by_its_owner_moves_the_host_s(world: World, space: str) -> None:
    await world.nested.create(kinds.SERVICE, build_service(space))
    await world.host_object(kinds.SERVICE, "web", space)
    await world.nested.delete(kinds.SERVICE, "web", space)
    again = await world.nested.create(kinds.SERVICE, build_service(space))

    async def same() -> bool:
        found = await host_service(world, space)
        return bool(found and found["spec"]["clusterIP"] == again["spec"]["clusterIP"])

    await world.eventually(same)


async def test_an_address_that_comes_free_a_moment_later_is_kept(world: World, space: str) -> None:
    first = await world.nested.create(kinds.SERVICE, build_service(space))
    host = await world.host_object(kinds.SERVICE, "web", space)
    for _ in range(5):
        await world.host.delete(kinds.SERVICE, host["metadata"]["name"], world.namespace)
        await world.gone(world.host, kinds.SERVICE, host)
        host = await world.host_object(kinds.SERVICE, "web", space)
    assert host["spec"]["clusterIP"] == first["spec"]["clusterIP"]
    now = await world.nested.get(kinds.SERVICE, "web", space)
    assert now["metadata"]["uid"] == first["metadata"]["uid"]


async def test_what_stays_nested_and_what_is_told(world: World, space: str) -> None:
    await world.nested.create(kinds.SERVICE, build_service(space, "headless", clusterIP="None"))
    await world.nested.create(kinds.SERVICE, build_service(space, "name", type="ExternalName", externalName="example.org"))
    bare = build_service(space, "bare")
    del bare["spec"]["selector"]
    await world.nested.create(kinds.SERVICE, bare)
    await world.nested.create(kinds.SERVICE, build_service(space, "public", type="LoadBalancer"))
    public = await world.host_object(kinds.SERVICE, "public", space)
    assert public["spec"]["type"] == "ClusterIP"
    assert "nodePort" not in public["spec"]["ports"][0]
    assert await world.eventually(lambda: events(world, space, "FieldsIgnored")) == [
        "`spec.type` is 'LoadBalancer', but the Service is reached inside the nested cluster only, at its cluster IP: its class "
        "does not allow more (`services.loadBalancers`)"
    ]
    assert "selector" not in (await world.host_object(kinds.SERVICE, "bare", space))["spec"]
    await world.heard()
    for name in ("headless", "name"):
        assert await host_service(world, space, name) is None


async def test_the_dns_server_has_its_usual_service_in_the_nested_cluster(world: World) -> None:
    dns = await world.host.get(kinds.SERVICE, "hello-dns", world.namespace)
    await until(
        lambda: world.nested.find(kinds.SERVICE, "kube-dns", "kube-system"),
        lambda found: found and found["spec"]["clusterIP"] == dns["spec"]["clusterIP"],
    )
    await world.heard()
    assert await host_service(world, "kube-system", "kube-dns") is None
    assert await world.nested.find(kinds.CLUSTER_ROLE, "nestor:coredns")
