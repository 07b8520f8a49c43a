"""The roles that the documentation gives to the other cluster's admins are those that the code needs."""

from __future__ import annotations

from nestor.kube.rights import Right
from nestor.providers.remote.provider import CLUSTER_RIGHTS, RIGHTS
from tests.unit.providers.remote.documents import read_documents


def read_role(kind: str) -> dict[str, frozenset[str]]:
    """The verbs of a documented role, by resource."""
    (role,) = [item for item in read_documents() if item["kind"] == kind]
    assert all(rule["apiGroups"] == [""] for rule in role["rules"])
    return {resource: frozenset(rule["verbs"]) for rule in role["rules"] for resource in rule["resources"]}


def needed(rights: tuple[Right, ...]) -> dict[str, frozenset[str]]:
    """What the code says."""
    return {item.resource: item.verbs for item in rights}


def test_the_documented_roles_are_what_the_code_needs() -> None:
    assert read_role("Role") == needed(RIGHTS)
    assert read_role("ClusterRole") == needed(CLUSTER_RIGHTS)


def test_no_configuration_can_be_read() -> None:
    for resource in ("configmaps", "secrets"):
        assert not needed(RIGHTS)[resource] & {"get", "list", "watch"}
