"""What a user's cluster would take over in a namespace that is not ours."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nestor import names
from nestor.api import labels
from nestor.api.data import read
from nestor.api.policies import Persistence
from nestor.cluster import shared
from nestor.kube import Api, Kind, kinds
from nestor.operator.clusters.ownership import find_foreign, find_senior
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


class FakeApi:
    """Has one object."""

    def __init__(self, kind: Kind, name: str, **meta: Any) -> None:
        self._there = (kind, name)
        self._meta = meta

    async def find(self, kind: Kind, name: str, namespace: str) -> Object | None:
        """That object."""
        return {"metadata": {"name": name, **self._meta}} if (kind, name) == self._there else None


NAMES = shared.list_names(build_shape(owner=OWNER))


@pytest.mark.parametrize(("owners", "is_foreign"), [([], True), (["other"], True), (["own"], False), (["other", "own"], False)])
@pytest.mark.parametrize(("kind", "name"), NAMES, ids=lambda item: item if isinstance(item, str) else item.plural)
async def test_whatever_has_a_name_of_ours_must_be_ours(kind: Kind, name: str, owners: list[str], is_foreign: bool) -> None:
    api = FakeApi(kind, name, ownerReferences=[{"uid": uid} for uid in owners])
    found = await find_foreign(cast(Api, api), build_shape(owner=OWNER))
    assert found == (f"{kind.name} '{name}'" if is_foreign else None)


@pytest.mark.parametrize(
    ("marks", "is_kept", "is_foreign"),
    [({}, True, True), ({labels.CLUSTER: "other"}, True, True), ({labels.CLUSTER: "hello"}, True, False), ({}, False, False)],
)
async def test_a_claim_of_a_users_is_not_taken_for_our_data(marks: Object, is_kept: bool, is_foreign: bool) -> None:
    name = names.data_claim("hello")
    shape = build_shape(owner=OWNER, persistence=read(Persistence, {"size": "1Gi"}) if is_kept else None)
    found = await find_foreign(cast(Api, FakeApi(kinds.PERSISTENT_VOLUME_CLAIM, name, labels=marks)), shape)
    assert found == (f"PersistentVolumeClaim '{name}'" if is_foreign else None)
