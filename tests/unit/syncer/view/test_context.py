"""Where a nested cluster's objects go, as its NestedCluster says."""

import pytest

from nestor.api import labels
from nestor.syncer.view.context import read_minor
from tests.fakes.api import MemoryApi
from tests.unit.syncer.at_work import build_context


@pytest.mark.parametrize(
    ("version", "minor"),
    [("v1.36.3", 36), ("v1.35.0-eks-1234", 35), ("v1.34.2+k3s1", 34), ("v1.9.1", 9), ("master", 0), (None, 0)],
)
def test_the_minor_version_of_a_host(version: str | None, minor: int) -> None:
    assert read_minor({"gitVersion": version}) == minor


def test_a_cluster_that_waited_becomes_a_jobs() -> None:
    context = build_context(MemoryApi(), MemoryApi())
    before = dict(context.target.labels)
    own, key = labels.of_job("hello", "team-a", "1"), (context.home.namespace, context.home.cluster)
    context.caches.host_cluster._set(key, {"metadata": {"uid": "c", "resourceVersion": "1", "labels": own}})
    assert dict(context.target.labels) == {key: value for key, value in own.items() if key != labels.MANAGED_BY} != before
