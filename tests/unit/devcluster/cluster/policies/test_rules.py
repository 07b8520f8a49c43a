"""NetworkPolicies as rules: how few there are, and what a new pod changes.

Who may talk to whom, `tests/unit/cluster/test_walls.py` shows, and Kubernetes' own tests of NetworkPolicies.
"""

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
        (ingress({"ports": [tcp(80), tcp(8000, endPort=8010)]}), WEB, DB, 8005, True),
        (ingress({"ports": [tcp(80), tcp(8000, endPort=8010)]}), WEB, DB, 8011, False),
        (ingress({"ports": [{"protocol": "TCP"}]}), WEB, DB, 12345, True),
        (egress({"to": [TEAM_B], "ports": [tcp("sql")]}), WEB, FAR, 5433, True),
        (egress({"to": [TEAM_B], "ports": [tcp("sql")]}), WEB, FAR, 5432, False),
        (egress({"to": [TEAM_B], "ports": [tcp("sql")]}), WEB, DB, 5432, False),
    ],
)
def test_ports_by_range_by_protocol_and_by_name(
    spec: Mapping[str, Any], source: str, destination: str, port: int, expected: bool
) -> None:
    assert passes(build(PODS, [policy("one", spec)]), source, destination, port) is expected


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
