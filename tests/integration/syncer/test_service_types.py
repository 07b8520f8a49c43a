"""Services that reach outside, and endpoints of users' own, as far as the class allows. The tests play operator and nodes."""

from functools import partial
from typing import Any

import pytest

from nestor.api import names
from nestor.api.objects import Object
from nestor.kube import kinds
from tests.integration.syncer.conftest import Allow
from tests.integration.syncer.pods import build_pod
from tests.integration.syncer.test_service_addresses import await_webhook, make_other
from tests.integration.syncer.test_services import build_service, events, host_service
from tests.integration.syncer.world import World, running_status
from tests.waiting import until

EVERYTHING = {"nodePorts": True, "loadBalancers": True, "loadBalancerClasses": ["example.com/lb"]}


@pytest.fixture(autouse=True)
async def webhook(world: World) -> None:
    """The API server knows it."""
    await await_webhook(world)


def outward(space: str, kind: str = "NodePort", name: str = "web", **spec: Any) -> Object:
    """A nested Service that is to be reached from outside."""
    return build_service(space, name, type=kind, **spec)


def list_node_ports(service: Object | None) -> list[int]:
    """In order."""
    return [port["nodePort"] for port in (service or {"spec": {}})["spec"].get("ports", ()) if "nodePort" in port]


async def find_access(world: World, space: str) -> Object | None:
    """The policy that lets traffic in."""
    return await world.host.find(kinds.NETWORK_POLICY, f"{names.host_name('web', space)}-access", world.namespace)


async def test_a_node_port_is_the_same_on_both_sides_from_the_beginning(world: World, space: str, allow: Allow) -> None:
    await allow(services={"nodePorts": True})

    async def made() -> Object | None:
        """The syncer learns of the class a moment later."""
        nested = await world.nested.create(kinds.SERVICE, outward(space))
        host = await world.host_object(kinds.SERVICE, "web", space)
        if host["spec"]["type"] == "NodePort":
            return nested
        await world.nested.delete(kinds.SERVICE, "web", space)
        return None

    nested = await world.eventually(made)
    host = await world.host_object(kinds.SERVICE, "web", space)
    assert list_node_ports(nested) == list_node_ports(host) != []
    policy = await world.eventually(lambda: find_access(world, space))
    assert policy["spec"]["podSelector"]["matchLabels"] == host["spec"]["selector"]
    assert policy["spec"]["ingress"] == [{"ports": [{"protocol": "TCP", "port": "web"}]}]


async def test_types_change_with_the_service_and_with_the_class(world: World, space: str, allow: Allow) -> None:
    await world.nested.create(kinds.SERVICE, outward(space))

    async def is_of(kind: str) -> bool:
        host, nested = await host_service(world, space), await world.nested.get(kinds.SERVICE, "web", space)
        has_access = await find_access(world, space) is not None
        ports = list_node_ports(host)
        return bool(
            host
            and host["spec"]["type"] == kind
            and ports == (list_node_ports(nested) if kind != "ClusterIP" else [])
            and has_access is (kind != "ClusterIP")
        )

    await world.eventually(lambda: is_of("ClusterIP"))
    assert "`services.nodePorts`" in (await world.eventually(lambda: events(world, space, "FieldsIgnored")))[0]
    await allow(services=EVERYTHING)
    await world.eventually(lambda: is_of("NodePort"))
    changes: list[tuple[str, Object]] = [
        ("LoadBalancer", {"type": "LoadBalancer", "loadBalancerClass": "example.com/lb", "externalTrafficPolicy": "Local"}),
        ("NodePort", {"type": "NodePort", "loadBalancerClass": None, "allocateLoadBalancerNodePorts": None}),
        ("ClusterIP", {"type": "ClusterIP", "externalTrafficPolicy": None}),
        ("LoadBalancer", {"type": "LoadBalancer", "loadBalancerSourceRanges": ["203.0.113.0/24"]}),
    ]
    for kind, change in changes:
        await world.nested.patch(kinds.SERVICE, "web", space, {"spec": change})
        await world.eventually(partial(is_of, kind))
    host = await host_service(world, space)
    assert host is not None
    assert host["spec"]["loadBalancerSourceRanges"] == ["203.0.113.0/24"]
    await allow(services=None)
    await world.eventually(lambda: is_of("ClusterIP"))


async def test_a_node_port_that_is_taken_is_told_and_tried_again(world: World, space: str, allow: Allow) -> None:
    other = await make_other(world.host, f"ports-{space}", type="NodePort")
    (taken,) = list_node_ports(other)
    await world.nested.create(kinds.SERVICE, outward(space, ports=[{"name": "http", "port": 80, "nodePort": taken}]))
    await world.host_object(kinds.SERVICE, "web", space)
    await allow(services={"nodePorts": True})
    (message,) = await world.eventually(lambda: events(world, space, "ServiceNotSynced"))
    assert f"{taken}: provided port is already allocated" in message
    assert message.endswith("; choose another one, or delete this Service and create it again")
    await world.host.delete(kinds.SERVICE, other["metadata"]["name"], other["metadata"]["namespace"])
    await until(lambda: host_service(world, space), lambda found: list_node_ports(found) == [taken])


async def test_where_a_load_balancer_is_comes_up_and_its_health_port_is_one(world: World, space: str, allow: Allow) -> None:
    await allow(services=EVERYTHING)

    async def allowed() -> bool:
        await world.nested.create(kinds.SERVICE, outward(space, "LoadBalancer", externalTrafficPolicy="Local"))
        if (await world.host_object(kinds.SERVICE, "web", space))["spec"]["type"] == "LoadBalancer":
            return True
        await world.nested.delete(kinds.SERVICE, "web", space)
        return False

    await world.eventually(allowed)
    nested, host = await world.nested.get(kinds.SERVICE, "web", space), await world.host_object(kinds.SERVICE, "web", space)
    assert nested["spec"]["healthCheckNodePort"] == host["spec"]["healthCheckNodePort"]
    assert list_node_ports(nested) == list_node_ports(host)
    ingress = [{"ip": "203.0.113.7", "ipMode": "VIP"}]
    status = {"status": {"loadBalancer": {"ingress": ingress}}}
    await world.host.patch(kinds.SERVICE, host["metadata"]["name"], world.namespace, status, subresource="status")
    await until(
        lambda: world.nested.get(kinds.SERVICE, "web", space),
        lambda found: found["status"]["loadBalancer"].get("ingress") == ingress,
    )


# Endpoints of users' own


async def run_pod(world: World, space: str, name: str, address: str) -> Object:
    """The host pod of a nested one that runs and has an address."""
    nested = await world.nested.create(kinds.POD, build_pod(space, name))
    host = await world.host_pod(nested)
    await world.schedule(host)
    await world.report(host, **(running_status(host) | {"podIP": address, "podIPs": [{"ip": address}]}))
    await world.nested_pod(nested, lambda pod: pod["status"].get("podIP") == address)
    return host


async def host_addresses(world: World, space: str) -> list[str]:
    """Where the slices of Service `web` point to on the host."""
    selector = f"kubernetes.io/service-name={names.host_name('web', space)}"
    found = await world.host.list(kinds.ENDPOINT_SLICE, world.namespace, labels=selector)
    return sorted(address for item in found for endpoint in item["endpoints"] or () for address in endpoint["addresses"])


async def test_endpoints_become_slices_and_reach_the_host(world: World, space: str) -> None:
    """Kubernetes' own controller in the nested cluster mirrors them."""
    await world.nested.create(kinds.SERVICE, build_service(space, selector=None))
    await run_pod(world, space, "own", "10.42.8.1")
    endpoints = {
        "metadata": {"name": "web", "namespace": space},
        "subsets": [{"addresses": [{"ip": "10.42.8.1"}, {"ip": "10.42.9.9"}], "ports": [{"name": "http", "port": 8080}]}],
    }
    await world.nested.request("POST", f"/api/v1/namespaces/{space}/endpoints", None, endpoints)
    await until(lambda: host_addresses(world, space), lambda found: found == ["10.42.8.1"])
