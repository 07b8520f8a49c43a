"""What the server of a nested cluster may connect to in the host, wherever that has its DNS."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nestor.api import labels
from nestor.api.names import Part
from nestor.api.objects import labels_of
from nestor.cluster import policies
from nestor.cluster.shape import Host, HostDns
from tests.unit.operator.builders import build_shape

Object = dict[str, Any]
HOST = Host(("10.43.0.0/16",), ("203.0.113.7",), resolvers=("10.43.0.10",))


def find_dns(dns: HostDns) -> Object:
    """The rule of the server's policy that is about DNS."""
    shape = build_shape(host=replace(HOST, dns=dns))
    (found,) = [item for item in policies.build_policies(shape) if item["metadata"]["name"] == shape.child(Part.SERVER_POLICY)]
    (rule,) = [rule for rule in found["spec"]["egress"] if {"protocol": "UDP", "port": dns.ports[0]} in rule.get("ports", ())]
    return dict(rule)


def list_namespaces(rule: Object) -> list[str]:
    """The namespaces whose pods may be asked."""
    selectors = [item["namespaceSelector"] for item in rule["to"] if "namespaceSelector" in item]
    return [selector["matchLabels"]["kubernetes.io/metadata.name"] for selector in selectors]


def test_pods_of_a_dns_elsewhere_may_be_asked_and_no_others() -> None:
    rule = find_dns(HostDns(("openshift-dns",), (53, 5353), ("192.0.2.0/24",)))
    assert list_namespaces(rule) == ["openshift-dns"]
    assert {"ipBlock": {"cidr": "192.0.2.0/24"}} in rule["to"]
    assert {port["port"] for port in rule["ports"]} == {53, 5353}
    assert {port["protocol"] for port in rule["ports"]} == {"UDP", "TCP"}


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
