"""The roles that the documentation gives to the other cluster's admins are no wider than what the provider asks for."""

import ipaddress

import pytest

from nestor.api.contracts import addresses
from tests.unit.overflow.remote.documents import read_documents

RIGHTS = {
    "pods": {"get", "list", "watch", "create", "patch", "delete"},
    "pods/log": {"get"},
    # get: WebSocket upgrades; create: SPDY, and WebSocket since Kubernetes 1.35.
    **{f"pods/{name}": {"get", "create"} for name in ("exec", "attach", "portforward")},
    **{f"pods/{name}": {"patch"} for name in ("ephemeralcontainers", "resize")},
    # Neither can be read.
    "configmaps": {"create", "patch"},
    "secrets": {"create", "patch"},
    "resourcequotas": {"list"},
}
"""What the provider asks for in the namespace of the pods. That it needs no more, `tests/integration/providers` shows."""


def read_role(kind: str) -> dict[str, set[str]]:
    (role,) = [item for item in read_documents() if item["kind"] == kind]
    assert all(rule["apiGroups"] == [""] for rule in role["rules"])
    return {resource: set(rule["verbs"]) for rule in role["rules"] for resource in rule["resources"]}


def test_the_documented_roles_are_what_the_code_needs() -> None:
    assert read_role("Role") == RIGHTS
    assert read_role("ClusterRole") == {"nodes": {"list"}}, "unless the admin has written the shapes"


@pytest.mark.parametrize("closed", [*addresses.LINK_LOCAL, *addresses.METADATA, *addresses.NAT64, "10.0.0.0/8", "fc00::/7"])
def test_the_documented_policy_keeps_pods_from_metadata_services_and_from_each_other(closed: str) -> None:
    (policy,) = [item for item in read_documents() if item["kind"] == "NetworkPolicy"]
    spec, network = policy["spec"], ipaddress.ip_network(closed)
    assert (spec["podSelector"], spec["policyTypes"], "ingress" in spec) == ({}, ["Ingress", "Egress"], False)
    blocks = [peer["ipBlock"] for rule in spec["egress"] for peer in rule["to"] if "ipBlock" in peer]
    (block,) = [item for item in blocks if (":" in item["cidr"]) == (network.version == 6)]
    networks = [ipaddress.ip_network(item) for item in block["except"]]
    assert any(network.subnet_of(item) for item in networks if item.version == network.version)  # type: ignore[arg-type]
