"""What a cluster's own policies let its pods, its server and its visitors reach, wherever the host has its DNS and its API."""

import ipaddress
from typing import Any

import pytest

from nestor.api import labels
from nestor.api.class_parts import NetworkPolicyModel
from nestor.api.contracts import addresses
from nestor.api.objects import labels_of
from nestor.cluster import policies
from nestor.cluster.shape import Host, HostDns
from nestor.operator.world.host_facts import build_remote
from tests.unit.operator.builders import Object, build_shape

NO_JOB = {"namespaceSelector": {"matchExpressions": [{"key": "nestor.dev/job", "operator": "DoesNotExist"}]}}
ISSUER = {"expose": {"annotations": {"cert-manager.io/issuer": "ours"}}}


def list_policies(**changes: Any) -> dict[str, Object]:
    """The specs of a cluster's policies by the last part of their names."""
    found = policies.build_policies(build_shape(**changes))
    return {item["metadata"]["name"].removeprefix("hello-"): item["spec"] for item in found}


def test_a_class_may_close_the_internet_and_open_private_ranges() -> None:
    closed = NetworkPolicyModel.model_validate({"internet": "None"})
    assert policies.build_internet(closed, build_shape().host) == []
    opened = NetworkPolicyModel.model_validate({"privateRanges": []})
    excepted = policies.build_internet(opened, build_shape().host)[0]["ipBlock"]["except"]
    assert excepted == [
        "10.43.0.0/16",
        "100.100.100.200/32",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "192.0.0.0/24",
        "203.0.113.7/32",
    ]


@pytest.mark.parametrize("network", [*addresses.LINK_LOCAL, *addresses.METADATA, *addresses.NAT64])
def test_no_class_opens_the_clouds_metadata(network: str) -> None:
    opened = NetworkPolicyModel.model_validate({"privateRanges": []})
    closed = ipaddress.ip_network(network)
    blocks = policies.build_internet(opened, build_shape().host)
    excepted = [ipaddress.ip_network(cidr) for block in blocks for cidr in block["ipBlock"]["except"]]
    assert any(closed.version == other.version and closed.subnet_of(other) for other in excepted)  # type: ignore[arg-type]
    assert network in build_remote(None, None).denied_addresses


def test_an_exposed_target_is_reached_from_where_the_class_says() -> None:
    port = {"protocol": "TCP", "port": 8080}
    exposed = policies.build_exposed(build_shape(), "hello-exposed", {"app": "web"}, port, ["10.40.0.0/30", "ingress"])
    assert exposed["spec"]["podSelector"] == {"matchLabels": {"app": "web"}}
    named = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}
    assert exposed["spec"]["ingress"] == [{"from": [{"ipBlock": {"cidr": "10.40.0.0/30"}}, named], "ports": [port]}]
    anywhere = policies.build_exposed(build_shape(), "hello-exposed", {"app": "web"}, port, [])
    assert anywhere["spec"]["ingress"] == [{"from": [NO_JOB], "ports": [port]}]


def test_the_nested_api_is_reached_from_where_the_class_says() -> None:
    def peers(**network: Any) -> Any:
        return list_policies(policy={"network": network})["server"]["ingress"][1]["from"]

    assert peers(apiFrom=["fd00::/8", "*"]) == [{"ipBlock": {"cidr": "fd00::/8"}}, NO_JOB]
    assert peers() == peers(apiFrom=[]) == [NO_JOB]


def test_cert_managers_solvers_are_reached_only_where_there_is_an_issuer() -> None:
    solver = list_policies(policy=ISSUER)["acme"]
    assert solver["podSelector"] == {"matchLabels": {"acme.cert-manager.io/http01-solver": "true"}}
    assert solver["policyTypes"] == ["Ingress"]


def test_the_server_reaches_the_hosts_api_and_dns_and_nothing_private_of_it() -> None:
    """Its tenant is admin of the nested API server, whose proxies and webhooks connect to wherever he says."""
    host = Host(("10.43.0.0/16",), ("203.0.113.7", "2001:db8::7"), (16443,), ("10.43.0.10",))
    server = list_policies(policy={"network": {"internet": "None"}}, host=host)["server"]
    assert server["policyTypes"] == ["Ingress", "Egress"]
    dns = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
    api = [{"protocol": "TCP", "port": 16443}]
    found = [(peer, rule.get("ports")) for rule in server["egress"] for peer in rule["to"]]
    app = {"podSelector": {"matchLabels": {"nestor.dev/cluster": "hello", "nestor.dev/component": "app"}}}
    assert found == [
        (app, None),
        ({"ipBlock": {"cidr": "203.0.113.7/32"}}, api),
        ({"ipBlock": {"cidr": "2001:db8::7/128"}}, api),
        ({"ipBlock": {"cidr": "10.43.0.1/32"}}, [{"protocol": "TCP", "port": 443}]),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}, dns),
        ({"ipBlock": {"cidr": "10.43.0.10/32"}}, dns),
        ({"ipBlock": {"cidr": "169.254.20.10/32"}}, dns),
    ]


@pytest.mark.parametrize("host", [Host(("10.43.0.0/16",)), Host(("10.43.0.0/16",), ("203.0.113.7",))])
def test_a_host_that_does_not_tell_its_ports_opens_no_other_than_an_api_servers(host: Host) -> None:
    egress = list_policies(host=host)["server"]["egress"]
    api = [rule["ports"] for rule in egress if {"ipBlock": {"cidr": "203.0.113.7/32"}} in rule["to"]]
    assert api == [[{"protocol": "TCP", "port": 443}, {"protocol": "TCP", "port": 6443}]] * len(host.api_addresses)


def test_pods_of_a_dns_elsewhere_may_be_asked_and_no_others() -> None:
    dns = HostDns(("openshift-dns",), (53, 5353), ("192.0.2.0/24",))
    host = Host(("10.43.0.0/16",), ("203.0.113.7",), resolvers=("10.43.0.10",), dns=dns)
    rules = list_policies(host=host)["server"]["egress"]
    (rule,) = [rule for rule in rules if {"protocol": "UDP", "port": 53} in rule.get("ports", ())]
    assert rule["ports"] == [{"protocol": protocol, "port": port} for port in (53, 5353) for protocol in ("UDP", "TCP")]
    assert {"ipBlock": {"cidr": "192.0.2.0/24"}} in rule["to"]
    selectors = [peer["namespaceSelector"] for peer in rule["to"] if "namespaceSelector" in peer]
    assert selectors == [{"matchLabels": {"kubernetes.io/metadata.name": "openshift-dns"}}]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({}, {labels.NODE_PORTS: "false", labels.BUDGETS: "false"}),
        ({"placement": {}}, {labels.NODE_PORTS: "false", labels.BUDGETS: "false"}),
        ({"placement": {"disruptionBudgets": True}}, {labels.NODE_PORTS: "false", labels.BUDGETS: "true"}),
        ({"services": {"nodePorts": True}}, {labels.NODE_PORTS: "true", labels.BUDGETS: "false"}),
    ],
)
def test_the_wall_says_what_the_class_lets_reach_further(policy: Object, said: dict[str, str]) -> None:
    found = policies.build_policies(build_shape(policy=policy))
    (wall,) = [item for item in found if labels_of(item).get(labels.PURPOSE) == labels.EGRESS_WALL]
    assert said.items() <= labels_of(wall).items()
