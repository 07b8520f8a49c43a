"""Where a nested cluster's objects go, as its NestedCluster says."""

from __future__ import annotations

import pytest

from nestor.syncer.view.context import read_minor


@pytest.mark.parametrize(
    ("version", "minor"),
    [("v1.36.3", 36), ("v1.35.0-eks-1234", 35), ("v1.34.2+k3s1", 34), ("v1.9.1", 9), ("master", 0), (None, 0)],
)
def test_the_minor_version_of_a_host(version: str | None, minor: int) -> None:
    assert read_minor({"gitVersion": version}) == minor
