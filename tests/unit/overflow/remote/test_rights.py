"""The roles that the documentation gives to the other cluster's admins are those that the code needs."""

from __future__ import annotations

import ipaddress

import pytest

from nestor.api.contracts import addresses
from nestor.kube.kinds import Right
from nestor.overflow.remote.provider import CLUSTER_RIGHTS, RIGHTS
from tests.unit.overflow.remote.documents import read_documents


def read_role(kind: str) -> dict[str, frozenset[str]]:
    (role,) = [item for item in read_documents() if item["kind"] == kind]
    assert all(rule["apiGroups"] == [""] for rule in role["rules"])
    return {resource: frozenset(rule["verbs"]) for rule in role["rules"] for resource in rule["resources"]}


def needed(rights: tuple[Right, ...]) -> dict[str, frozenset[str]]:
    return {item.resource: item.verbs for item in rights}


def test_the_documented_roles_are_what_the_code_needs() -> None:
    assert read_role("Role") == needed(RIGHTS)
    assert read_role("ClusterRole") == needed(CLUSTER_RIGHTS)


def test_no_configuration_can_be_read() -> None:
    for resource in ("configmaps", "secrets"):
        assert not needed(RIGHTS)[resource] & {"get", "list", "watch"}


@pytest.mark.parametrize("closed", [*addresses.LINK_LOCAL, *addresses.METADATA, *addresses.NAT64, "10.0.0.0/8", "fc00::/7"])
def test_the_documented_policy_keeps_pods_from_metadata_services_and_from_each_other(closed: str) -> None:
    (policy,) = [item for item in read_documents() if item["kind"] == "NetworkPolicy"]
    spec, network = policy["spec"], ipaddress.ip_network(closed)
    assert (spec["podSelector"], spec["policyTypes"], "ingress" in spec) == ({}, ["Ingress", "Egress"], False)
    blocks = [peer["ipBlock"] for rule in spec["egress"] for peer in rule["to"] if "ipBlock" in peer]
    (block,) = [item for item in blocks if (":" in item["cidr"]) == (network.version == 6)]
    networks = [ipaddress.ip_network(item) for item in block["except"]]
    assert any(network.subnet_of(item) for item in networks if item.version == network.version)  # type: ignore[arg-type]
