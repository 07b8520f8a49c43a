"""PodDisruptionBudgets between two clusters in memory."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.kube import kinds
from nestor.syncer.copies.rows.budgets import NOT_ALLOWED, BudgetRow
from tests.unit.pods.translate.builders import TARGET
from tests.unit.syncer.copies.pair import HOST, SPACE, Clusters, allow_most, running

Object = dict[str, Any]

KIND = kinds.POD_DISRUPTION_BUDGET


def start(*, allowed: bool) -> Clusters:
    """Two clusters; the class says whether budgets hold in the host."""
    clusters = Clusters.build(KIND)
    allow(clusters, allowed)
    return clusters


def allow(clusters: Clusters, allowed: bool) -> None:
    """What the class says."""
    policy = {"placement": {"disruptionBudgets": allowed}}
    body = {"metadata": {"name": TARGET.cluster, "namespace": HOST}, "spec": {}, "status": {"policy": policy}}
    clusters.host.put(kinds.NESTED_CLUSTER, body)


def put(clusters: Clusters, healthy: int | None = None, name: str = "web") -> Object:
    """A nested budget, and what the nested controller says of it."""
    status = {"observedGeneration": 1, "desiredHealthy": healthy} if healthy is not None else {}
    spec = {"maxUnavailable": "30%", "selector": {"matchLabels": {"app": "web"}}}
    meta = {"name": name, "namespace": SPACE}
    return clusters.nested.put(
        KIND, {"apiVersion": "policy/v1", "kind": KIND.name, "metadata": meta, "spec": spec, "status": status}
    )


def read(clusters: Clusters) -> Object | None:
    copy = clusters.copy(KIND, "web")
    return copy["spec"] if copy else None


async def test_the_number_follows_the_nested_controller() -> None:
    clusters = start(allowed=True)
    async with running(clusters, BudgetRow) as made:
        put(clusters)
        await made.settle()
        assert read(clusters) is None
        for healthy in (3, 7, 2, 0):
            put(clusters, healthy)
            await made.settle()
            spec = read(clusters)
            assert spec is not None
            assert spec["minAvailable"] == healthy
            assert "maxUnavailable" not in spec
        clusters.nested.drop(KIND, "web", SPACE)
        await made.settle()
        assert read(clusters) is None
    assert clusters.events == []


async def test_what_the_class_does_not_allow_is_told_once_and_follows_its_changes() -> None:
    clusters = start(allowed=False)
    async with running(clusters, BudgetRow) as made:
        for healthy in (1, 2):
            put(clusters, healthy)
            await made.settle()
        assert read(clusters) is None
        assert clusters.events == [("NotCarried", NOT_ALLOWED)]
        allow(clusters, True)
        await made.until(lambda: read(clusters) is not None)
        allow(clusters, False)
        await made.until(lambda: read(clusters) is None)


async def test_their_number_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_most(monkeypatch, kinds.POD_DISRUPTION_BUDGET, 2)
    clusters = start(allowed=True)
    async with running(clusters, BudgetRow) as made:
        for number in range(3):
            put(clusters, 1, f"web-{number}")
            await made.settle()
        assert len([key for key in clusters.host.objects if key[0] == KIND.plural]) == 2
    ((reason, message),) = clusters.events
    assert reason == "NotCarried"
    assert "2 PodDisruptionBudgets" in message
