"""Who gets in from outside: at a Service's ports alone, and only as nested policies let them."""

from typing import Any

import pytest

from nestor.api import labels, names
from nestor.api.objects import Object
from nestor.kube import kinds
from nestor.syncer.copies.rows.service_access import NodePortsRow, ServiceAccessRow, build_rules, list_covering
from nestor.syncer.copies.rows.services import ServiceRow
from tests.unit.pods.translate.builders import TARGET, build_service
from tests.unit.syncer.copies.pair import HOST, SPACE, Clusters, Running, remembered, running

WEB = {"app": "web", "tier": "front"}
NODE_PORTS = {"nodePorts": True}


def policy(selector: Object | None = None, *rules: Object, types: tuple[str, ...] = ("Ingress",)) -> Object:
    return {"spec": {"podSelector": selector or {}, "policyTypes": list(types), "ingress": list(rules)}}


def service(*ports: Object) -> Object:
    """One whose pods are those with both labels."""
    return build_service(selector=WEB, ports=list(ports) or [{"port": 80, "targetPort": 8080}])


def port(number: Any, protocol: str = "TCP") -> Object:
    return {"protocol": protocol, "port": number}


def block(cidr: str, *closed: str) -> Object:
    return {"ipBlock": {"cidr": cidr} | ({"except": list(closed)} if closed else {})}


@pytest.mark.parametrize(
    ("selector", "is_covering"),
    [
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchLabels": {"app": "web", "version": "2"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, True),
        # The Service's pods may have these labels or not.
        ({"matchExpressions": [{"key": "version", "operator": "NotIn", "values": ["2"]}]}, False),
        ({"matchExpressions": [{"key": "version", "operator": "DoesNotExist"}]}, False),
    ],
)
def test_which_policies_select_all_pods_of_a_service(selector: Object, is_covering: bool) -> None:
    assert bool(list_covering(service(), [policy(selector)])) is is_covering
    assert not list_covering(service(), [policy(selector, types=("Egress",))])


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([], []),
        ([{}], [{"ports": [port(8080)]}]),
        ([{"from": []}], [{"ports": [port(8080)]}]),
        ([{"from": [{"podSelector": {}}, {"namespaceSelector": {}}]}], []),
        (
            [{"from": [{"podSelector": {}}, block("192.0.2.0/24", "192.0.2.7/32")]}],
            [{"ports": [port(8080)], "from": [block("192.0.2.0/24", "192.0.2.7/32")]}],
        ),
        ([{"ports": [{"port": 8080}]}], [{"ports": [port(8080)]}]),
        ([{"ports": [{"port": 80}]}], []),
        ([{"ports": [{"port": 8000, "endPort": 8100}]}], [{"ports": [port(8080)]}]),
        ([{"ports": [{"port": 8000, "endPort": 8079}]}], []),
        ([{"ports": [{"protocol": "TCP"}]}], [{"ports": [port(8080)]}]),
        ([{"ports": [{"protocol": "UDP", "port": 8080}]}], []),
        ([{"ports": [{"port": "web"}]}], []),
        ([{"from": [{"ipBlock": {"cidr": "0.0.0.0/0"}, "newSelector": {}}]}], []),
        ([{"newRule": 1}], []),
        ([{"from": [block("010.0.0.0/8")]}], []),
        ([{"ports": [{"newPort": 1}]}], []),
    ],
)
def test_a_policy_lets_in_whom_it_says_and_never_at_other_ports(rules: list[Object], expected: list[Object]) -> None:
    assert build_rules(service(), [policy({}, *rules)]) == expected


def test_policies_add_up_and_names_of_ports_are_compared_as_names() -> None:
    given = service({"port": 80, "targetPort": "web"}, {"port": 81, "targetPort": 9090})
    found = build_rules(given, [policy(), policy({}, {"ports": [{"port": "web"}]}), policy({}, {"ports": [{"port": 9090}]})])
    assert found == [{"ports": [port("web")]}, {"ports": [port(9090)]}]


def build_outward(**spec: Any) -> Object:
    return build_service(type="NodePort", ports=[{"port": 80, "protocol": "TCP", "nodePort": 30007}], **spec)


def host_spec(clusters: Clusters) -> Object:
    spec: Object = clusters.copy(kinds.SERVICE, "web")["spec"]
    return spec


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
        assert policy["spec"]["ingress"] == [{"ports": [port("web"), port(53, "UDP")]}]
        assert policy["spec"]["policyTypes"] == ["Ingress"]
        assert policy["spec"]["podSelector"]["matchLabels"] == host_spec(clusters)["selector"]
        await made.put_nested(kinds.SERVICE, build_service(type="NodePort", ports=ports, selector={"tier": "front"}))
        policy = find_access(clusters)
        assert policy["spec"]["podSelector"]["matchLabels"] == host_spec(clusters)["selector"]
        await made.put_nested(kinds.SERVICE, build_service(ports=ports))
        assert find_access(clusters) is None


async def put_policy(made: Running, selector: Object, *rules: Object) -> None:
    await made.put_nested(kinds.NETWORK_POLICY, {"metadata": {"name": "one", "namespace": SPACE}, **policy(selector, *rules)})


async def test_nested_policies_say_who_gets_in_to_pods_that_they_isolate() -> None:
    clusters = Clusters.build(services=NODE_PORTS)
    clusters.nested.put(kinds.SERVICE, build_outward())
    async with running(clusters, ServiceAccessRow) as made:
        not_isolated = [{"key": labels.ISOLATED_INGRESS, "operator": "DoesNotExist"}]
        assert find_access(clusters)["spec"]["podSelector"]["matchExpressions"] == not_isolated
        await put_policy(made, {})
        assert find_access(clusters) is None
        blocks = [block("192.0.2.0/24")]
        await put_policy(made, {}, {"from": blocks})
        spec = find_access(clusters)["spec"]
        assert spec["ingress"] == [{"from": blocks, "ports": [port(80)]}]
        assert not spec["podSelector"].get("matchExpressions")
        await put_policy(made, {}, {})
        assert find_access(clusters)["spec"]["ingress"] == [{"ports": [port(80)]}]
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
        opened = [port(30007), port(30008, "UDP")]
        found = [block(cidr) for cidr in ("192.0.2.1/32", "2001:db8::1/128")]
        assert find_way_out(clusters) == [{"to": found, "ports": opened}]
        policy: Any = clusters.host.look(kinds.NETWORK_POLICY, f"{names.host_name('web', SPACE)}-nodes", HOST)
        assert policy["spec"]["policyTypes"] == ["Egress"]
        assert policy["spec"]["podSelector"] == {
            "matchLabels": TARGET.scope(None) | {labels.COMPONENT: labels.COMPONENT_APP},
            "matchExpressions": [{"key": labels.ISOLATED_EGRESS, "operator": "DoesNotExist"}],
        }
        put_node(clusters, "one", "192.0.2.2")
        await made.settle()
        assert find_way_out(clusters)[0]["to"] == [block("192.0.2.2/32")]
        await made.put_nested(kinds.SERVICE, build_service(type="NodePort", ports=ports[:1]))
        assert find_way_out(clusters)[0]["ports"] == opened[:1]
        await made.allow()
        assert find_way_out(clusters) == []
