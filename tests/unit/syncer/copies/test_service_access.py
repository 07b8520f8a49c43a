"""Who gets in from outside: at a Service's ports alone, and only as nested policies let them."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.syncer.copies.rows.service_access import build_rules, list_covering
from tests.unit.pods.translate.builders import build_service

WEB = {"app": "web", "tier": "front"}


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


def test_without_policies_all_get_in_at_the_service_s_ports() -> None:
    given = service({"port": 80, "targetPort": "web"}, {"port": 53, "protocol": "UDP"})
    assert build_rules(given, []) == [{"ports": [port("web"), port(53, "UDP")]}]


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
