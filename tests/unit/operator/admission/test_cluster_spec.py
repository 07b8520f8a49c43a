"""What a cluster is made of: what it already has wins over its class."""

from __future__ import annotations

import pytest

from nestor.api import labels
from nestor.api.data import write
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.policies import Persistence
from nestor.operator.admission.admit import Running, complete_spec, find_running
from nestor.operator.admission.identity import Refused
from nestor.operator.world.trim import trim_cluster
from tests.unit.operator.builders import IMAGES, Object, build_policy

BIG, SMALL = Persistence(size="8Gi"), Persistence(size="1Gi", storage_class_name="fast")


def complete(spec: Object, running: Running | None = None, persistence: Persistence | None = None) -> tuple[object, ...]:
    """Version, image and volume, by a class with `persistence`."""
    cluster = {"persistence": write(persistence)} if persistence else {}
    policy = build_policy(cluster=cluster).cluster
    found = complete_spec(NestedClusterSpec.model_validate(spec), policy, running, IMAGES)
    return found.kubernetes_version, found.image, found.persistence


@pytest.mark.parametrize(
    ("running", "persistence", "spec", "expected"),
    [
        (None, None, {}, ("v1.36", "k3s:36", None)),
        (None, BIG, {}, ("v1.36", "k3s:36", BIG)),
        (None, None, {"kubernetesVersion": "v1.9"}, ("v1.9", "k3s:9", None)),
        (Running("v1.35", "k3s:35", None), BIG, {}, ("v1.35", "k3s:35", None)),
        (Running("v1.35", "k3s:35", SMALL), BIG, {}, ("v1.35", "k3s:35", SMALL)),
    ],
)
def test_what_runs_stays_and_what_is_left_out_comes_from_the_class(
    running: Running | None, persistence: Persistence | None, spec: Object, expected: tuple[object, ...]
) -> None:
    assert complete(spec, running, persistence) == expected


def test_an_unknown_version_is_refused_unless_it_runs() -> None:
    with pytest.raises(Refused, match=r"available: v1\.9, v1\.36"):
        complete({"kubernetesVersion": "v1.35"})
    assert complete({"kubernetesVersion": "v1.35"}, Running("v1.35", "k3s:35", None))[1] == "k3s:35"


def test_a_jobs_cluster_says_all_of_it_in_its_spec() -> None:
    spec = {"kubernetesVersion": "v1.36", "image": "k3s:36", "persistence": {"size": "8Gi"}}
    cluster = {"metadata": {"labels": {labels.JOB_UID: "1"}}, "spec": spec}
    assert find_running(cluster, "1") == Running("v1.36", "k3s:36", BIG)
    assert find_running(cluster, "2") is None
    assert find_running(None, "1") is None


def test_a_jobs_cluster_that_cannot_be_read_is_not_taken_for_none() -> None:
    meta = {"name": "hello", "namespace": "n", "uid": "u", "labels": {labels.JOB_UID: "1"}}
    cluster = trim_cluster({"metadata": meta, "spec": {"image": "x" * 300_000}})
    with pytest.raises(Refused, match="NestedCluster 'hello': `spec` has 300012 bytes as JSON; at most 262144 are accepted"):
        find_running(cluster, "1")
    assert find_running(cluster, "2") is None
