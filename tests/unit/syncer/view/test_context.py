"""Where a nested cluster's objects go, as its NestedCluster says."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from nestor.api import labels, names
from nestor.api.names import Part
from nestor.kube import Api, kinds
from nestor.syncer.settings import Settings
from nestor.syncer.view.context import find_target, read_minor
from tests.fakes.api import MemoryApi

JOB = labels.of_job("hello", "team-a", "1234")


@pytest.mark.parametrize(
    ("version", "minor"),
    [("v1.36.3", 36), ("v1.35.0-eks-1234", 35), ("v1.34.2+k3s1", 34), ("v1.9.1", 9), ("master", 0), (None, 0)],
)
def test_the_minor_version_of_a_host(version: str | None, minor: int) -> None:
    assert read_minor({"gitVersion": version}) == minor


async def test_the_target_is_what_the_cluster_and_its_host_say() -> None:
    api, meta = MemoryApi(), {"name": "hello", "namespace": "n", "labels": JOB | {"app": "x"}}
    api.put(kinds.NESTED_CLUSTER, {"metadata": meta, "spec": {"className": "small"}})
    for part in (Part.SERVER, Part.DNS):
        meta = {"name": names.child("hello", part), "namespace": "n"}
        api.put(kinds.SERVICE, {"metadata": meta, "spec": {"clusterIP": "10.0.0.1"}})
    target, _ = await find_target(cast(Api, api), Settings("n", "hello", Path()))
    assert target.quota_class == "small"
    assert target.labels.items() <= JOB.items()
    assert target.has_hostname_override
