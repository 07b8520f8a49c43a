"""Nested NetworkPolicies in the host: they close what they say, and open nothing beyond the walls."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from nestor.api.data import read, write
from nestor.api.objects import Object
from nestor.api.policies import IpBlock
from nestor.pods.translate.labels import host_key
from nestor.syncer.translate.network_policy import ADDRESSES, Surroundings, build_policy, find_ignored, find_isolation, list_types
from tests.unit.pods.translate.builders import TARGET, build_pod

INTERNET = [
    read(IpBlock, {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8", "169.254.0.0/16", "203.0.113.7/32"]}),
    read(IpBlock, {"cidr": "::/0", "except": ["fc00::/7"]}),
]
AROUND = Surroundings(
    target=TARGET,
    namespaces={"shop": {"team": "a"}, "db": {"team": "a"}, "other": {"team": "b"}},
    pods={"10.42.0.7": "uid-a", "10.42.1.9": "uid-b"},
    internet=INTERNET,
)
APP = host_key("app", ())
CLUSTER = {"nestor.dev/cluster": "hello", "nestor.dev/component": "app"}
SHOP = CLUSTER | {"nestor.dev/nested-namespace": "shop"}
ANYBODY = {"podSelector": {"matchLabels": CLUSTER}}
TO_INTERNET = [{"ipBlock": write(block)} for block in INTERNET]


def policy(**spec: Any) -> Object:
    """A nested policy about all pods of `shop`, unless it says otherwise."""
    meta = {"name": "one", "namespace": "shop", "uid": "policy-uid"}
    return {"metadata": meta, "spec": {"podSelector": {}, **spec}}


def ingress(*peers: Object, ports: list[Object] | None = None) -> Object:
    return policy(policyTypes=["Ingress"], ingress=[{"from": list(peers)} | ({"ports": ports} if ports else {})])


def egress(*peers: Object) -> Object:
    return policy(policyTypes=["Egress"], egress=[{"to": list(peers)}])


def block(cidr: str, *closed: str) -> Object:
    return {"ipBlock": {"cidr": cidr} | ({"except": list(closed)} if closed else {})}


def pods_of(*uids: str) -> Object:
    """A peer of a copy that is some of the cluster's pods."""
    chosen = {"key": "nestor.dev/nested-uid", "operator": "In", "values": list(uids)}
    return {"podSelector": {"matchLabels": CLUSTER, "matchExpressions": [chosen]}}


def peers_of(policy: Object, around: Surroundings = AROUND) -> list[Object] | None:
    """The peers of the copy's only rule; None if it has no rule."""
    spec = build_policy(policy, around)["spec"]
    rules = spec.get("ingress") or spec.get("egress")
    if not rules:
        return None
    (rule,) = rules
    found: list[Object] = rule.get("from") or rule["to"]
    return found


def test_a_copy_is_about_pods_of_its_own_cluster_and_namespace_only() -> None:
    copy = build_policy(policy(podSelector={"matchLabels": {"app": "web"}}, policyTypes=["Ingress"]), AROUND)
    assert copy["spec"] == {"podSelector": {"matchLabels": {APP: "web", **SHOP}}, "policyTypes": ["Ingress"]}
    assert copy["metadata"]["namespace"] == TARGET.namespace
    assert copy["metadata"]["labels"]["nestor.dev/nested-uid"] == "policy-uid"


def test_no_selector_can_leave_its_cluster() -> None:
    selector = {"matchLabels": {"nestor.dev/cluster": "victim", "nestor.dev/component": "server"}}
    copy = build_policy(policy(podSelector=selector, ingress=[{"from": [{"podSelector": selector}]}]), AROUND)
    for found in (copy["spec"]["podSelector"], copy["spec"]["ingress"][0]["from"][0]["podSelector"]):
        assert SHOP.items() <= found["matchLabels"].items()
        assert all(key.startswith("tenant.nestor.dev/") for key in found["matchLabels"].keys() - SHOP.keys())


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        ({"podSelector": {}}, [{"podSelector": {"matchLabels": SHOP}}]),
        ({"podSelector": {"matchLabels": {"app": "x"}}}, [{"podSelector": {"matchLabels": {APP: "x", **SHOP}}}]),
        ({"namespaceSelector": {}}, [ANYBODY]),
        (
            {"namespaceSelector": {"matchLabels": {"team": "a"}}, "podSelector": {"matchLabels": {"app": "x"}}},
            [
                {
                    "podSelector": {
                        "matchLabels": {APP: "x", **CLUSTER},
                        "matchExpressions": [{"key": "nestor.dev/nested-namespace", "operator": "In", "values": ["db", "shop"]}],
                    }
                }
            ],
        ),
        ({"namespaceSelector": {"matchLabels": {"team": "nobody"}}}, None),
    ],
)
@pytest.mark.parametrize("build", [ingress, egress])
def test_peers_are_pods_of_the_nested_cluster(build: Any, peer: Object, expected: list[Object] | None) -> None:
    assert peers_of(build(peer)) == expected


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        (block("0.0.0.0/0"), [ANYBODY]),
        (block("::/0"), [ANYBODY]),
        (block("0.0.0.0/0", "10.42.1.0/24"), [pods_of("uid-a")]),
        (block("10.42.1.9/32"), [pods_of("uid-b")]),
        (block("10.0.0.0/8"), [pods_of("uid-a", "uid-b")]),
        (block("10.40.0.0/16"), None),
        (block("198.51.100.0/24"), None),
    ],
)
def test_ingress_from_addresses_is_ingress_from_pods_of_the_cluster(peer: Object, expected: list[Object] | None) -> None:
    assert peers_of(ingress(peer)) == expected


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        (block("0.0.0.0/0"), [ANYBODY, TO_INTERNET[0]]),
        (block("::/0"), [ANYBODY, TO_INTERNET[1]]),
        (
            block("0.0.0.0/0", "8.8.8.0/24"),
            [pods_of("uid-a", "uid-b"), block("0.0.0.0/0", "8.8.8.0/24", "10.0.0.0/8", "169.254.0.0/16", "203.0.113.7/32")],
        ),
        (block("8.8.8.8/32"), [block("8.8.8.8/32")]),
        (block("203.0.113.0/24"), [block("203.0.113.0/24", "203.0.113.7/32")]),
        (block("203.0.113.7/32"), None),
        (block("169.254.169.254/32"), None),
        (block("169.254.0.0/16"), None),
        (block("168.0.0.0/7"), [block("168.0.0.0/7", "169.254.0.0/16")]),
        (block("10.0.0.0/8", "10.42.1.0/24"), [pods_of("uid-a")]),
        (block("10.43.0.1/32"), None),
        (block("fd00::/8"), None),
    ],
)
def test_egress_to_addresses_never_opens_what_the_class_does_not(peer: Object, expected: list[Object] | None) -> None:
    assert peers_of(egress(peer)) == expected


@pytest.mark.parametrize("rule", [{}, {"from": [block("192.0.2.0/24")]}, {"from": [block("0.0.0.0/0")]}])
def test_also_where_node_ports_are_allowed_no_copy_lets_anybody_in_from_outside(rule: Object) -> None:
    around = replace(AROUND, lets_in=True)
    given = policy(policyTypes=["Ingress"], ingress=[rule])
    assert build_policy(given, around) == build_policy(given, AROUND)
    assert find_ignored(given, around) == []


def test_a_block_of_nothing_but_own_pods_is_not_told() -> None:
    assert find_ignored(ingress(block("10.42.0.7/32")), AROUND) == []
    assert find_ignored(ingress(block("10.42.0.6/31", "10.42.0.6/32")), AROUND) == []
    (message,) = find_ignored(ingress(block("10.42.0.6/31")), AROUND)
    assert "`services.nodePorts`, `services.loadBalancers`" in message


def test_without_internet_nothing_outside_is_opened() -> None:
    around = replace(AROUND, internet=[])
    assert peers_of(egress(block("0.0.0.0/0")), around) == [ANYBODY]
    assert peers_of(egress(block("8.8.8.8/32")), around) is None
    assert peers_of(policy(policyTypes=["Egress"], egress=[{}]), around) == [ANYBODY]


def test_anybody_is_anybody_behind_the_walls() -> None:
    assert peers_of(policy(policyTypes=["Ingress"], ingress=[{}])) == [ANYBODY]
    assert peers_of(policy(policyTypes=["Egress"], egress=[{}])) == [ANYBODY, *TO_INTERNET]


def test_ports_are_carried_with_the_default_that_the_host_would_write() -> None:
    ports: list[Object] = [{"port": "web"}, {"protocol": "UDP", "port": 53, "endPort": 60}]
    copy = build_policy(ingress({"podSelector": {}}, ports=ports), AROUND)
    assert copy["spec"]["ingress"][0]["ports"] == [{"protocol": "TCP", "port": "web"}, ports[1]]


def test_the_pods_of_one_block_are_bounded() -> None:
    many = {f"10.42.{number // 250}.{number % 250}": f"uid-{number:03}" for number in range(ADDRESSES + 1)}
    around = replace(AROUND, pods=many)
    assert peers_of(ingress(block("10.0.0.0/8")), around) == [pods_of(*sorted(many.values())[:ADDRESSES])]
    assert f"only {ADDRESSES} pods" in find_ignored(ingress(block("10.0.0.0/8")), around)[0]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, ["Ingress"]),
        ({"egress": [{}]}, ["Ingress", "Egress"]),
        ({"policyTypes": ["Egress"]}, ["Egress"]),
        ({"policyTypes": ["Egress", "Ingress"]}, ["Ingress", "Egress"]),
    ],
)
def test_which_directions_a_policy_is_about(spec: Object, expected: list[str]) -> None:
    assert list_types(policy(**spec)) == expected
    assert build_policy(policy(**spec), AROUND)["spec"]["policyTypes"] == expected


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        ([], {}),
        ([policy(policyTypes=["Ingress"])], {"nestor.dev/isolated-ingress": "true"}),
        ([policy(policyTypes=["Egress"])], {"nestor.dev/isolated-egress": "true"}),
        (
            [policy(policyTypes=["Ingress"]), policy(policyTypes=["Egress"])],
            {"nestor.dev/isolated-ingress": "true", "nestor.dev/isolated-egress": "true"},
        ),
        ([policy(podSelector={"matchLabels": {"app": "db"}})], {}),
        ([policy(podSelector={"matchLabels": {"app": "web"}})], {"nestor.dev/isolated-ingress": "true"}),
    ],
)
def test_which_pods_are_isolated(policies: list[Object], expected: Mapping[str, str]) -> None:
    assert find_isolation(build_pod(labels={"app": "web"}), policies) == expected


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (ingress({"podSelector": {}}), []),
        (egress(block("0.0.0.0/0")), []),
        (egress(block("10.42.0.7/32")), []),
        (
            ingress(block("0.0.0.0/0")),
            ["`spec.ingress[0].from[0].ipBlock.cidr` is 0.0.0.0/0, but only pods of the nested cluster"],
        ),
        (egress(block("10.43.0.1/32")), ["`spec.egress[0].to[0].ipBlock.cidr` is 10.43.0.1/32, but the class opens none of it"]),
    ],
)
def test_what_is_left_out_is_said(found: Object, said: list[str]) -> None:
    messages = find_ignored(found, AROUND)
    assert len(messages) == len(said)
    assert all(message.startswith(start) for message, start in zip(messages, said, strict=True))


def test_what_no_version_has_yet_opens_nothing_and_is_said() -> None:
    new = {"podSelector": {}, "newSelector": {"a": "b"}}
    assert peers_of(ingress(new)) is None
    assert peers_of(ingress(new, {"podSelector": {"matchLabels": {"app": "a"}}})) is not None
    assert build_policy(ingress({"podSelector": {}}, ports=[{"newPort": 1}]), AROUND)["spec"].get("ingress") is None
    found = policy(newField=1, ingress=[{"from": [new], "ports": [{"newPort": 1}], "newRule": 1}])
    assert [text.split("`")[1] for text in find_ignored(found, AROUND)] == [
        "spec.newField",
        "spec.ingress[0].newRule",
        "spec.ingress[0].from[0].newSelector",
        "spec.ingress[0].ports[0].newPort",
    ]


@pytest.mark.parametrize("cidr", ["010.42.0.0/16", "::ffff:10.0.0.0/104", "::ffff:0:0/96", "nonsense"])
def test_a_block_that_may_mean_other_addresses_elsewhere_is_left_out_and_said(cidr: str) -> None:
    for build, path in ((ingress, "ingress[0].from"), (egress, "egress[0].to")):
        assert peers_of(build(block(cidr))) is None
        assert peers_of(build(block("0.0.0.0/0", cidr))) is None
        (message,) = find_ignored(build(block(cidr)), AROUND)
        assert message.startswith(f"`spec.{path}[0].ipBlock`")
