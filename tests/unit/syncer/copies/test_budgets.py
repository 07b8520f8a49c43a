"""PodDisruptionBudgets between two clusters in memory."""

from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.kube import kinds
from nestor.syncer.copies.rows.budgets import NOT_ALLOWED, BudgetRow, build_budget, find_minimum
from tests.unit.pods.translate.builders import TARGET
from tests.unit.syncer.copies.pair import SPACE, Clusters, running

KIND = kinds.POD_DISRUPTION_BUDGET


def start(*, allowed: bool) -> Clusters:
    """Two clusters; the class says whether budgets hold in the host."""
    return Clusters.build(KIND, placement={"disruptionBudgets": allowed})


def put(clusters: Clusters, healthy: int | None = None, name: str = "web") -> Object:
    """A nested budget, and what the nested controller says of it."""
    status = {"observedGeneration": 1, "desiredHealthy": healthy} if healthy is not None else {}
    spec = {"maxUnavailable": "30%", "selector": {"matchLabels": {"app": "web"}}}
    meta = {"name": name, "namespace": SPACE}
    return clusters.nested.put(
        KIND, {"apiVersion": "policy/v1", "kind": KIND.name, "metadata": meta, "spec": spec, "status": status}
    )


def read(clusters: Clusters) -> Any:
    copy = clusters.copy(KIND, "web")
    return copy["spec"] if copy else None


async def test_what_the_class_does_not_allow_is_told_once_and_follows_its_changes() -> None:
    clusters = start(allowed=False)
    async with running(clusters, BudgetRow) as made:
        for healthy in (1, 2):
            put(clusters, healthy)
            await made.settle()
        assert read(clusters) is None
        assert clusters.events == [("NotCarried", NOT_ALLOWED)]
        clusters.allow(placement={"disruptionBudgets": True})
        await made.until(lambda: read(clusters) is not None)
        clusters.allow(placement={"disruptionBudgets": False})
        await made.until(lambda: read(clusters) is None)


FAILED = {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}


def nested(status: Object | None = None, **spec: Any) -> Object:
    meta = {"name": "web", "namespace": "shop", "uid": "u"}
    return {"metadata": meta, "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec}, "status": status or {}}


@pytest.mark.parametrize(
    ("budget", "minimum"),
    [
        (nested(minAvailable=2), 2),
        (nested(minAvailable=0), 0),
        (nested({"observedGeneration": 1, "desiredHealthy": 5}, minAvailable=2), 2),
        (nested(minAvailable="50%"), None),
        (nested(maxUnavailable=1), None),
        (nested({"observedGeneration": 1, "desiredHealthy": 3}, minAvailable="50%"), 3),
        (nested({"observedGeneration": 1, "desiredHealthy": 4}, maxUnavailable=1), 4),
        (nested({"observedGeneration": 1}, maxUnavailable="100%"), 0),
        (nested({"observedGeneration": 1, "desiredHealthy": 4, "conditions": [FAILED]}, maxUnavailable=1), 2**31 - 1),
        (nested({"conditions": [FAILED]}, maxUnavailable=1), 2**31 - 1),
    ],
)
def test_the_number_of_pods_that_must_stay(budget: Object, minimum: int | None) -> None:
    assert find_minimum(budget) == minimum


def test_the_host_s_budget_selects_the_cluster_s_pods_of_the_namespace_alone() -> None:
    built = build_budget(nested(minAvailable=1, unhealthyPodEvictionPolicy="AlwaysAllow"), TARGET)
    assert built["metadata"]["namespace"] == TARGET.namespace
    assert built["spec"]["minAvailable"] == 1
    assert built["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    own = built["spec"]["selector"]["matchLabels"]
    assert TARGET.scope("shop").items() <= own.items()
    assert len(own) == 3
    assert "app" not in own


def test_an_empty_selector_is_of_the_namespace_s_pods_too() -> None:
    built = build_budget(nested(minAvailable=1) | {"spec": {"minAvailable": 1, "selector": {}}}, TARGET)
    assert built["spec"]["selector"] == {"matchLabels": TARGET.scope("shop")}


async def test_a_field_that_no_version_has_yet_is_told() -> None:
    clusters = start(allowed=True)
    clusters.nested.put(KIND, nested(minAvailable=1, anythingNew=2))
    async with running(clusters, BudgetRow):
        told = "`spec.anythingNew` is set, but this version of Nestor does not know the field"
        assert clusters.events == [("FieldsIgnored", told)]
