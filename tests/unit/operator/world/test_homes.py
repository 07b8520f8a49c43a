"""Where a nested cluster lives: in its own namespace."""

from __future__ import annotations

from nestor.api import labels, names
from nestor.operator.world.ownership import find_home
from tests.unit.operator.builders import build_job

OWNED = {"controller": True, "blockOwnerDeletion": False}


def test_a_job_has_a_namespace_of_its_own_and_its_kubeconfig_beside_it() -> None:
    home = find_home(build_job("hello", "team-a"))
    assert home.namespace == names.job_namespace("hello", "team-a", "1234")
    assert home.labels == labels.of_job("hello", "team-a", "1234")
    owner = {"apiVersion": "nestor.dev/v1alpha1", "kind": "NestedAppJob", "name": "hello", "uid": "1234"} | OWNED
    assert home.kubeconfig == {
        "name": "hello-kubeconfig",
        "namespace": "team-a",
        "labels": home.labels,
        "ownerReferences": [owner],
    }


def test_a_job_made_again_moves() -> None:
    again = build_job("hello", "team-a")
    again["metadata"]["uid"] = "5678"
    assert find_home(again).namespace != find_home(build_job("hello", "team-a")).namespace
