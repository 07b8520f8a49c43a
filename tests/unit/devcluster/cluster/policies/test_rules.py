"""NetworkPolicies as rules: who may talk to whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from devcluster.cluster.policies.rules import match_block, merge
from tests.unit.devcluster.cluster.policies.cluster import build, passes, pod, policy

WEB, DB, OTHER, FAR = "10.42.0.2", "10.42.0.3", "10.42.0.4", "10.42.1.5"
PODS = [
    pod("web", WEB, ports=[("http", 8080)]),
    pod("db", DB, ports=[("sql", 5432), ("http", 9090)]),
    pod("web", OTHER, namespace="b"),
    pod("db", FAR, namespace="b", node="node-2", ports=[("sql", 5433)]),
]
WEB_PODS = {"podSelector": {"matchLabels": {"app": "web"}}}
TEAM_B = {"namespaceSelector": {"matchLabels": {"team": "b"}}}


def ingress(*rules: Mapping[str, Any]) -> Mapping[str, Any]:
    """A policy about all pods of its namespace."""
    return {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": list(rules)}


def egress(*rules: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same for the other direction."""
    return {"podSelector": {}, "policyTypes": ["Egress"], "egress": list(rules)}


def tcp(port: int | str, **more: Any) -> Mapping[str, Any]:
    """A port of a rule."""
    return {"protocol": "TCP", "port": port, **more}


@pytest.mark.parametrize(
    ("spec", "source", "destination", "port", "expected"),
    [
        ({"podSelector": {"matchLabels": {"app": "x"}}, "policyTypes": ["Ingress"]}, OTHER, DB, 1, True),
        (ingress(), WEB, DB, 1, False),
        (ingress(), "10.40.0.6", DB, 1, False),
        (ingress(), DB, OTHER, 1, True),
        (ingress(), DB, "8.8.8.8", 1, True),
        (ingress(), DB, DB, 1, True),
        ({"podSelector": {}}, WEB, DB, 1, False),
        ({"podSelector": {}}, DB, "8.8.8.8", 1, True),
        ({"podSelector": {}, "egress": [{}]}, WEB, DB, 1, False),
        ({"podSelector": {}, "egress": [{"ports": [tcp(1)]}], "ingress": [{}]}, WEB, DB, 2, False),
        (ingress({}), "8.8.8.8", DB, 1, True),
        (ingress({"from": [WEB_PODS]}), WEB, DB, 1, True),
        (ingress({"from": [WEB_PODS]}), OTHER, DB, 1, False),
        (ingress({"from": [TEAM_B]}), OTHER, DB, 1, True),
        (ingress({"from": [TEAM_B]}), FAR, DB, 1, True),
        (ingress({"from": [TEAM_B]}), WEB, DB, 1, False),
        (ingress({"from": [TEAM_B | WEB_PODS]}), OTHER, DB, 1, True),
        (ingress({"from": [TEAM_B | WEB_PODS]}), FAR, DB, 1, False),
        (ingress({"from": [TEAM_B, WEB_PODS]}), WEB, DB, 1, True),
        (ingress({"from": [{"namespaceSelector": {}}]}), FAR, DB, 1, True),
        (ingress({"from": [{"namespaceSelector": {}}]}), "8.8.8.8", DB, 1, False),
        (ingress({"from": [WEB_PODS], "ports": [tcp(80)]}), WEB, DB, 80, True),
        (ingress({"from": [WEB_PODS], "ports": [tcp(80)]}), WEB, DB, 81, False),
        (ingress({"ports": [tcp(80), tcp(8000, endPort=8010)]}), WEB, DB, 8005, True),
        (ingress({"ports": [tcp(80), tcp(8000, endPort=8010)]}), WEB, DB, 8011, False),
        (ingress({"ports": [{"protocol": "TCP"}]}), WEB, DB, 12345, True),
        (ingress({"ports": [{"port": 80}]}), WEB, DB, 80, True),
        (ingress({"ports": [{"protocol": "UDP", "port": 80}]}), WEB, DB, 80, False),
        (ingress({"ports": [tcp("http")]}), OTHER, DB, 9090, True),
        (ingress({"ports": [tcp("http")]}), OTHER, DB, 8080, False),
        (ingress({"ports": [tcp("http")]}), OTHER, WEB, 8080, True),
        (ingress({"ports": [tcp("nothing")]}), OTHER, DB, 80, False),
        (ingress({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.42.0.4/32"]}}]}), WEB, DB, 1, True),
        (ingress({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.42.0.4/32"]}}]}), OTHER, DB, 1, False),
        (ingress({"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}), "11.0.0.1", DB, 1, False),
        (ingress({"from": [{"ipBlock": {"cidr": "fd00::/8"}}]}), WEB, DB, 1, False),
        (egress(), WEB, DB, 1, False),
        (egress(), OTHER, DB, 1, True),
        (egress({"to": [TEAM_B]}), WEB, FAR, 1, True),
        (egress({"to": [TEAM_B]}), WEB, DB, 1, False),
        (egress({"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}]}), WEB, "8.8.8.8", 1, True),
        (egress({"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}]}), WEB, FAR, 1, False),
        (egress({"ports": [tcp("sql")]}), WEB, DB, 5432, True),
        (egress({"ports": [tcp("sql")]}), WEB, FAR, 5433, True),
        (egress({"ports": [tcp("sql")]}), WEB, FAR, 5432, False),
        (egress({"to": [TEAM_B], "ports": [tcp("sql")]}), WEB, DB, 5432, False),
        (egress({"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}], "ports": [tcp("sql")]}), WEB, DB, 5432, False),
    ],
)
def test_one_policy(spec: Mapping[str, Any], source: str, destination: str, port: int, expected: bool) -> None:
    assert passes(build(PODS, [policy("one", spec)]), source, destination, port) is expected


def test_policies_add_up() -> None:
    policies = [
        policy("closed", ingress()),
        policy("web", ingress({"from": [WEB_PODS]})),
        policy("b", ingress({"from": [TEAM_B]})),
    ]
    ruleset = build(PODS, policies)
    assert passes(ruleset, WEB, DB, 1)
    assert passes(ruleset, OTHER, DB, 1)
    assert not passes(ruleset, "8.8.8.8", DB, 1)


def test_both_ends_must_allow_a_connection() -> None:
    policies = [policy("in", ingress({"from": [WEB_PODS]})), policy("out", egress())]
    assert not passes(build(PODS, policies), WEB, DB, 1)


def test_an_isolated_pod_reaches_its_own_node_only_where_its_egress_allows_it() -> None:
    to_node = egress({"to": [{"ipBlock": {"cidr": "10.40.0.2/32"}}], "ports": [tcp(6443)]})
    ruleset = build(PODS, [policy("api", to_node)])
    assert passes(ruleset, WEB, "10.40.0.2", 6443, node_only=True)
    assert not passes(ruleset, WEB, "10.40.0.2", 10250, node_only=True)


def test_pods_that_have_the_same_policies_share_a_chain() -> None:
    first = build([*PODS, pod("more", "10.42.0.9")], [policy("in", ingress({"from": [WEB_PODS]}))])
    assert len(first.chains) == 1
    assert set(first.sets["ingress4"].elements) == {WEB, DB, "10.42.0.9"}


def test_a_pod_that_comes_changes_no_chain() -> None:
    policies = [policy("in", ingress({"from": [WEB_PODS]})), policy("out", egress({"to": [TEAM_B], "ports": [tcp("sql")]}))]
    assert build(PODS, policies).chains == build([*PODS, pod("web", "10.42.0.9")], policies).chains


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([], []),
        ([(80, 80), (80, 80)], [(80, 80)]),
        ([(100, 200), (80, 150)], [(80, 200)]),
        ([(80, 80), (81, 90), (92, 93)], [(80, 90), (92, 93)]),
        ([(1, 100), (20, 30)], [(1, 100)]),
    ],
)
def test_ports_do_not_overlap(ranges: list[tuple[int, int]], expected: list[tuple[int, int]]) -> None:
    assert merge(ranges) == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"cidr": "10.0.0.7/8"}, "ip saddr 10.0.0.0/8"),
        ({"cidr": "0.0.0.0/0"}, "meta nfproto ipv4"),
        ({"cidr": "::/0", "except": ["fd00::/8"]}, "meta nfproto ipv6 ip6 saddr != { fd00::/8 }"),
        (
            {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/9", "10.128.0.0/9", "10.1.0.0/16"]},
            "meta nfproto ipv4 ip saddr != { 10.0.0.0/8 }",
        ),
    ],
)
def test_blocks(block: Mapping[str, Any], expected: str) -> None:
    assert match_block("saddr", block) == expected
