"""Services that reach outside or have endpoints of their users' own, between two clusters in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nestor.api import labels, names
from nestor.api.objects import Object
from nestor.kube import Forbidden, Invalid, kinds
from nestor.syncer import limits
from nestor.syncer.copies.rows.endpoint_slices import EndpointSliceRow
from nestor.syncer.copies.rows.service_access import NodePortsRow, ServiceAccessRow
from nestor.syncer.copies.rows.services import ServiceRow
from nestor.syncer.view.caches import OWN_CONTROLLER
from tests.unit.pods.translate.builders import TARGET, build_service
from tests.unit.syncer.copies.pair import HOST, SPACE, Clusters, Running, remembered, running

NODE_PORTS = {"nodePorts": True}


def build_outward(kind: str = "NodePort", **spec: Any) -> Object:
    return build_service(type=kind, ports=[{"port": 80, "protocol": "TCP", "nodePort": 30007}], **spec)


def host_spec(clusters: Clusters) -> Object:
    spec: Object = clusters.copy(kinds.SERVICE, "web")["spec"]
    return spec


def node_port(service: Object | None) -> int | None:
    found: int | None = ((service or {}).get("spec", service or {})["ports"])[0].get("nodePort")
    return found


async def test_a_node_port_that_is_taken_on_the_host_is_told_until_it_is_free() -> None:
    """It was chosen where the class allowed none, or the Service had another type."""
    clusters = Clusters.build()
    taken = Invalid(422, "Invalid", "spec.ports[0].nodePort: Invalid value: 30007: provided port is already allocated")
    clusters.nested.put(kinds.SERVICE, build_outward())
    async with running(clusters, ServiceRow) as made:
        clusters.host.refusal = lambda *_: taken
        await made.allow(services=NODE_PORTS)
        (message,) = [message for reason, message in clusters.events if reason == "ServiceNotSynced"]
        assert message.endswith("; choose another one, or delete this Service and create it again")
        assert host_spec(clusters)["type"] == "ClusterIP"
        clusters.host.refusal = lambda *_: None
        await made.until(lambda: node_port(host_spec(clusters)) == 30007)


async def test_load_balancers_of_the_nested_cluster_s_own_are_not_touched() -> None:
    clusters = Clusters.build()
    ingress = [{"ip": "10.0.0.1"}]
    clusters.nested.put(kinds.SERVICE, build_outward(kind="LoadBalancer") | {"status": {"loadBalancer": {"ingress": ingress}}})
    async with running(clusters, ServiceRow):
        assert (clusters.nested.look(kinds.SERVICE, "web", SPACE) or {})["status"]["loadBalancer"]["ingress"] == ingress


async def test_a_full_quota_says_who_can_raise_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.unit.syncer.at_work.TARGET", replace(TARGET, quota_class="small"))
    clusters = Clusters.build()
    reason = "exceeded quota: nestor, requested: services=1, used: services=50, limited: services=50"
    message = f'services "x" is forbidden: {reason}'
    clusters.host.refusal = lambda verb, _: Forbidden(403, "Forbidden", message) if verb == "POST" else None
    clusters.nested.put(kinds.SERVICE, build_service())
    async with running(clusters, ServiceRow):
        advice = "ask an administrator to raise `namespace.quota` of class 'small'"
        assert clusters.events == [("ServiceNotSynced", f"{reason}; {advice}")]


# Access from outside


def find_access(clusters: Clusters) -> Any:
    return clusters.host.look(kinds.NETWORK_POLICY, f"{names.host_name('web', SPACE)}-access", HOST)


async def test_traffic_from_outside_is_let_in_as_long_as_the_class_allows_it() -> None:
    clusters = Clusters.build()
    ports = [
        {"port": 80, "protocol": "TCP", "nodePort": 30007, "targetPort": "web"},
        {"port": 53, "protocol": "UDP", "nodePort": 30008},
    ]
    clusters.nested.put(kinds.SERVICE, build_service(type="NodePort", ports=ports))
    async with running(clusters, ServiceAccessRow, ServiceRow) as made:
        assert find_access(clusters) is None
        await made.allow(services=NODE_PORTS)
        policy = find_access(clusters)
        assert policy["spec"]["ingress"] == [{"ports": [{"protocol": "TCP", "port": "web"}, {"protocol": "UDP", "port": 53}]}]
        assert policy["spec"]["policyTypes"] == ["Ingress"]
        assert policy["spec"]["podSelector"]["matchLabels"] == host_spec(clusters)["selector"]
        await made.put_nested(kinds.SERVICE, build_service(type="NodePort", ports=ports, selector={"tier": "front"}))
        policy = find_access(clusters)
        assert policy["spec"]["podSelector"]["matchLabels"] == host_spec(clusters)["selector"]
        await made.put_nested(kinds.SERVICE, build_service(ports=ports))
        assert find_access(clusters) is None


async def put_policy(made: Running, selector: Object, *rules: Object) -> None:
    spec = {"podSelector": selector, "policyTypes": ["Ingress"], "ingress": list(rules)}
    await made.put_nested(kinds.NETWORK_POLICY, {"metadata": {"name": "one", "namespace": SPACE}, "spec": spec})


async def test_nested_policies_say_who_gets_in_to_pods_that_they_isolate() -> None:
    clusters = Clusters.build(services=NODE_PORTS)
    clusters.nested.put(kinds.SERVICE, build_outward())
    async with running(clusters, ServiceAccessRow) as made:
        not_isolated = [{"key": labels.ISOLATED_INGRESS, "operator": "DoesNotExist"}]
        assert find_access(clusters)["spec"]["podSelector"]["matchExpressions"] == not_isolated
        await put_policy(made, {})
        assert find_access(clusters) is None
        blocks = [{"ipBlock": {"cidr": "192.0.2.0/24"}}]
        await put_policy(made, {}, {"from": blocks})
        spec = find_access(clusters)["spec"]
        assert spec["ingress"] == [{"from": blocks, "ports": [{"protocol": "TCP", "port": 80}]}]
        assert not spec["podSelector"].get("matchExpressions")
        await put_policy(made, {}, {})
        assert find_access(clusters)["spec"]["ingress"] == [{"ports": [{"protocol": "TCP", "port": 80}]}]
        # About some of the Service's pods: it stays closed for those, and open for the others.
        await put_policy(made, {"matchLabels": {"only": "some"}}, {})
        assert find_access(clusters)["spec"]["podSelector"]["matchExpressions"] == not_isolated
        await made.drop_nested(kinds.NETWORK_POLICY, "one", SPACE)
        assert find_access(clusters)["spec"]["podSelector"]["matchExpressions"] == not_isolated


async def test_a_service_of_too_many_ports_gets_no_policy() -> None:
    clusters = Clusters.build(services=NODE_PORTS)
    ports = [{"port": number, "protocol": "TCP"} for number in range(1, 3000)]
    clusters.nested.put(kinds.SERVICE, build_service(type="NodePort", ports=ports))
    async with running(clusters, ServiceAccessRow) as made:
        assert find_access(clusters) is None
        await made.put_nested(kinds.SERVICE, build_outward())
        assert find_access(clusters) is not None
        assert {reason for reason, _ in clusters.events} == {"NotCarried"}


@pytest.mark.parametrize("how", ["class", "service", "selector"])
async def test_nobody_is_let_in_any_more(how: str) -> None:
    clusters = Clusters.build(services=NODE_PORTS)
    clusters.nested.put(kinds.SERVICE, build_outward())
    async with running(clusters, ServiceAccessRow) as made:
        assert find_access(clusters) is not None
        if how == "class":
            clusters.allow()
        elif how == "service":
            clusters.nested.drop(kinds.SERVICE, "web", SPACE)
        else:
            clusters.nested.put(kinds.SERVICE, build_outward(selector=None))
        await made.settle()
        assert find_access(clusters) is None
        assert remembered(made.engine) == 0


def find_way_out(clusters: Clusters) -> list[Object]:
    """What the policy for node ports lets pods connect to."""
    found = clusters.host.look(kinds.NETWORK_POLICY, f"{names.host_name('web', SPACE)}-nodes", HOST)
    return list(found["spec"]["egress"]) if found else []


def put_node(clusters: Clusters, name: str, *addresses: str) -> None:
    listed = [{"type": "Hostname", "address": name}, *({"type": "InternalIP", "address": item} for item in addresses)]
    clusters.host.put(kinds.NODE, {"metadata": {"name": name}, "status": {"addresses": listed}})


async def test_pods_reach_the_node_ports_of_their_cluster_at_the_nodes_that_it_shows_and_nothing_else_there() -> None:
    clusters = Clusters.build(services=NODE_PORTS)
    ports = [
        {"port": 80, "protocol": "TCP", "nodePort": 30007, "targetPort": "web"},
        {"port": 53, "protocol": "UDP", "nodePort": 30008},
        {"port": 54, "protocol": "UDP"},
    ]
    clusters.nested.put(kinds.SERVICE, build_service(type="NodePort", ports=ports))
    # What a nested admin says about nodes opens nothing.
    clusters.nested.put(
        kinds.NODE, {"metadata": {"name": "forged"}, "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]}}
    )
    async with running(clusters, NodePortsRow, ServiceRow) as made:
        assert find_way_out(clusters) == []
        put_node(clusters, "one", "192.0.2.1", "2001:db8::1")
        made.caches.host_nodes.select("")
        await made.until(lambda: find_way_out(clusters))
        opened = [{"protocol": "TCP", "port": 30007}, {"protocol": "UDP", "port": 30008}]
        block = [{"ipBlock": {"cidr": cidr}} for cidr in ("192.0.2.1/32", "2001:db8::1/128")]
        assert find_way_out(clusters) == [{"to": block, "ports": opened}]
        policy: Any = clusters.host.look(kinds.NETWORK_POLICY, f"{names.host_name('web', SPACE)}-nodes", HOST)
        assert policy["spec"]["policyTypes"] == ["Egress"]
        assert policy["spec"]["podSelector"] == {
            "matchLabels": TARGET.scope(None) | {labels.COMPONENT: labels.COMPONENT_APP},
            "matchExpressions": [{"key": labels.ISOLATED_EGRESS, "operator": "DoesNotExist"}],
        }
        put_node(clusters, "one", "192.0.2.2")
        await made.settle()
        assert find_way_out(clusters)[0]["to"] == [{"ipBlock": {"cidr": "192.0.2.2/32"}}]
        await made.put_nested(kinds.SERVICE, build_service(type="NodePort", ports=ports[:1]))
        assert find_way_out(clusters)[0]["ports"] == opened[:1]
        await made.allow()
        assert find_way_out(clusters) == []


# Endpoints of users' own


def build_slice(*addresses: str, name: str = "web-1", manager: str = "", **content: Any) -> Object:
    own = {"kubernetes.io/service-name": "web"} | ({"endpointslice.kubernetes.io/managed-by": manager} if manager else {})
    return {
        "metadata": {"name": name, "namespace": SPACE, "labels": own},
        "addressType": "IPv4",
        "ports": [{"port": 80, "protocol": "TCP"}],
        "endpoints": [{"addresses": [address]} for address in addresses],
        **content,
    }


def add_host_pod(clusters: Clusters, address: str, phase: str = "Running") -> Object:
    meta = TARGET.metadata({"metadata": {"name": "one", "namespace": SPACE, "uid": "one-uid"}})
    status = {"phase": phase, "podIPs": [{"ip": address}]}
    return clusters.host.put(kinds.POD, {"metadata": meta, "spec": {"nodeName": "node-1"}, "status": status})


def host_addresses(clusters: Clusters, name: str = "web-1") -> list[str] | None:
    found = clusters.copy(kinds.ENDPOINT_SLICE, name)
    return None if found is None else [item["addresses"][0] for item in found["endpoints"]]


async def test_endpoints_are_the_cluster_s_own_pods_as_long_as_these_live() -> None:
    clusters = Clusters.build()
    clusters.nested.put(kinds.SERVICE, build_service(selector=None))
    clusters.nested.put(kinds.ENDPOINT_SLICE, build_slice("10.42.0.7", "10.42.0.8"))
    async with running(clusters, EndpointSliceRow) as made:
        assert host_addresses(clusters) == []
        assert [reason for reason, _ in clusters.events] == ["EndpointsIgnored"]
        assert "10.42.0.7, 10.42.0.8" in clusters.events[0][1]
        assert "`services.endpointRanges`" in clusters.events[0][1]
        pod = add_host_pod(clusters, "10.42.0.7")
        await made.settle()
        assert host_addresses(clusters) == ["10.42.0.7"]
        add_host_pod(clusters, "10.42.0.7", "Failed")
        await made.settle()
        assert host_addresses(clusters) == []
        add_host_pod(clusters, "10.42.0.8")
        await made.settle()
        assert host_addresses(clusters) == ["10.42.0.8"]
        await made.drop_host(kinds.POD, pod["metadata"]["name"], HOST)
        assert host_addresses(clusters) == []


async def test_the_class_allows_further_addresses_but_not_the_closed_ones() -> None:
    clusters = Clusters.build()
    clusters.nested.put(kinds.SERVICE, build_service(selector=None))
    clusters.nested.put(kinds.ENDPOINT_SLICE, build_slice("203.0.113.7", "203.0.113.9", "169.254.169.254"))
    async with running(clusters, EndpointSliceRow) as made:
        await made.allow(services=dict(endpointRanges=["203.0.113.0/24", "169.254.0.0/16"], closedRanges=["203.0.113.9/32"]))
        assert host_addresses(clusters) == ["203.0.113.7"]
        assert "203.0.113.9, 169.254.169.254" in clusters.events[-1][1]
        await made.allow()
        assert host_addresses(clusters) == []


@pytest.mark.parametrize(
    ("service", "manager"),
    [
        (None, ""),
        (build_service(type="ExternalName", clusterIP=""), ""),
        (build_service(clusterIP="None"), ""),
        (build_service(), "endpointslice-controller.k8s.io"),
    ],
)
async def test_slices_that_the_host_needs_not(service: Object | None, manager: str) -> None:
    clusters = Clusters.build()
    add_host_pod(clusters, "10.42.0.7")
    if service is not None:
        clusters.nested.put(kinds.SERVICE, service)
    clusters.nested.put(kinds.ENDPOINT_SLICE, build_slice("10.42.0.7", manager=manager))
    async with running(clusters, EndpointSliceRow):
        assert host_addresses(clusters) is None
        assert clusters.events == []


async def test_names_as_endpoints_are_refused() -> None:
    clusters = Clusters.build()
    clusters.nested.put(kinds.SERVICE, build_service(selector=None))
    clusters.nested.put(kinds.ENDPOINT_SLICE, build_slice("example.org", addressType="FQDN"))
    async with running(clusters, EndpointSliceRow):
        assert host_addresses(clusters) is None
        ((reason, message),) = clusters.events
        assert reason == "EndpointsNotSynced"
        assert "ExternalName" in message


async def test_there_are_only_so_many_slices_beside_those_that_the_host_makes_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have the labels of their Services."""
    monkeypatch.setattr(limits, "SYNCED_SLICES", 1)
    monkeypatch.setattr(limits, "SYNCED_ENDPOINTS", 1)
    clusters = Clusters.build()
    add_host_pod(clusters, "10.42.0.7")
    clusters.nested.put(kinds.SERVICE, build_service(selector=None))
    own = TARGET.metadata(build_service("other"))["labels"] | {"endpointslice.kubernetes.io/managed-by": OWN_CONTROLLER}
    meta = {"name": "made-by-the-host", "namespace": HOST, "labels": own}
    clusters.host.put(kinds.ENDPOINT_SLICE, build_slice("10.42.0.9") | {"metadata": meta})
    clusters.nested.put(kinds.ENDPOINT_SLICE, build_slice("10.42.0.7"))
    async with running(clusters, EndpointSliceRow) as made:
        assert host_addresses(clusters) == ["10.42.0.7"]
        assert clusters.host.look(kinds.ENDPOINT_SLICE, "made-by-the-host", HOST) is not None
        await made.put_nested(kinds.ENDPOINT_SLICE, build_slice("10.42.0.7", name="web-2"))
        message = "a nested cluster may have 1 EndpointSlices of its users' own; delete others first"
        assert clusters.events == [("EndpointsNotSynced", message)]
