"""What a user's cluster would take over in a namespace that is not ours."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nestor import names
from nestor.api import labels
from nestor.api.data import read
from nestor.api.policies import Persistence
from nestor.cluster import shared
from nestor.cluster.shape import Shape
from nestor.kube import Api, Kind, kinds
from nestor.operator.clusters.ownership import find_foreign, find_senior
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import build_shape

Object = dict[str, Any]

OWNER = {"kind": "NestedCluster", "name": "hello", "uid": "own"}
FIRST, SECOND, THIRD = (f"2026-01-0{day}T00:00:00Z" for day in (1, 2, 3))


def cluster(name: str, made: str, namespace: str = "team-a") -> Object:
    """A user's NestedCluster."""
    return {"metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}", "creationTimestamp": made}}


@pytest.mark.parametrize(
    ("others", "senior"),
    [
        ([], None),
        ([cluster("a", THIRD)], None),
        ([cluster("z", FIRST)], "z"),
        # Of the same second, the name decides; of several, the oldest is named.
        ([cluster("a", SECOND)], "a"),
        ([cluster("z", SECOND)], None),
        ([cluster("a", SECOND), cluster("z", FIRST)], "z"),
        ([cluster("a", FIRST, "team-b")], None),
    ],
)
def test_the_oldest_of_a_namespace_has_it(others: list[Object], senior: str | None) -> None:
    own = cluster("hello", SECOND)
    assert find_senior(own, [own, *others]) == senior


async def find(shape: Shape, kind: Kind, name: str, **meta: Any) -> str | None:
    """What is foreign where there is one object."""
    api = MemoryApi()
    api.put(kind, {"metadata": {"name": name, "namespace": shape.namespace, **meta}})
    return await find_foreign(cast(Api, api), shape)


@pytest.mark.parametrize(("owners", "is_foreign"), [([], True), (["other"], True), (["own"], False), (["other", "own"], False)])
async def test_whatever_has_a_name_of_ours_must_be_ours(owners: list[str], is_foreign: bool) -> None:
    shape = build_shape(owner=OWNER)
    for kind, name in shared.list_names(shape):
        found = await find(shape, kind, name, ownerReferences=[{"uid": uid} for uid in owners])
        assert found == (f"{kind.name} '{name}'" if is_foreign else None)


@pytest.mark.parametrize(
    ("marks", "is_kept", "is_foreign"),
    [({}, True, True), ({labels.CLUSTER: "other"}, True, True), ({labels.CLUSTER: "hello"}, True, False), ({}, False, False)],
)
async def test_a_claim_of_a_users_is_not_taken_for_our_data(marks: Object, is_kept: bool, is_foreign: bool) -> None:
    name = names.data_claim("hello")
    shape = build_shape(owner=OWNER, persistence=read(Persistence, {"size": "1Gi"}) if is_kept else None)
    found = await find(shape, kinds.PERSISTENT_VOLUME_CLAIM, name, labels=marks)
    assert found == (f"PersistentVolumeClaim '{name}'" if is_foreign else None)
