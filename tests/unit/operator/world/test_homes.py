"""Where a nested cluster is: a job's in a namespace of its own, a user's beside it."""

from __future__ import annotations

from nestor import names
from nestor.api import labels
from nestor.operator.world.homes import find_home, find_home_of_cluster
from tests.unit.operator.builders import build_job

OWNED = {"controller": True, "blockOwnerDeletion": False}


def test_a_job_has_a_namespace_of_its_own_and_its_kubeconfig_beside_it() -> None:
    home = find_home(build_job("hello", "team-a"))
    assert home.namespace == names.job_namespace("hello", "team-a", "1234") == home.nodes_binding
    assert home.owner is None
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


def test_a_users_cluster_owns_what_is_made_beside_it() -> None:
    home = find_home_of_cluster({"metadata": {"name": "own", "namespace": "team-a", "uid": "u"}})
    assert home.namespace == "team-a"
    owner = {"apiVersion": "nestor.dev/v1alpha1", "kind": "NestedCluster", "name": "own", "uid": "u"} | OWNED
    assert home.owner == owner
    assert home.kubeconfig == home.metadata("own-kubeconfig")
    assert home.kubeconfig is not None
    assert home.kubeconfig["ownerReferences"] == [owner]
    assert home.kubeconfig["labels"][labels.CLUSTER] == "own"
    assert (
        home.nodes_binding != find_home_of_cluster({"metadata": {"name": "own", "namespace": "team-a", "uid": "v"}}).nodes_binding
    )
