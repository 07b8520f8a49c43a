"""How many pods must stay, as a number that the host's controller understands."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.syncer.copies.rows.budgets import build_budget, find_minimum
from tests.unit.pods.translate.builders import TARGET

Object = dict[str, Any]

FAILED = {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}


def build(status: Object | None = None, **spec: Any) -> Object:
    """A nested budget."""
    meta = {"name": "web", "namespace": "shop", "uid": "u"}
    return {"metadata": meta, "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec}, "status": status or {}}


@pytest.mark.parametrize(
    ("budget", "minimum"),
    [
        (build(minAvailable=2), 2),
        (build(minAvailable=0), 0),
        (build({"observedGeneration": 1, "desiredHealthy": 5}, minAvailable=2), 2),
        (build(minAvailable="50%"), None),
        (build(maxUnavailable=1), None),
        (build({"observedGeneration": 1, "desiredHealthy": 3}, minAvailable="50%"), 3),
        (build({"observedGeneration": 1, "desiredHealthy": 4}, maxUnavailable=1), 4),
        (build({"observedGeneration": 1}, maxUnavailable="100%"), 0),
        (build({"observedGeneration": 1, "desiredHealthy": 4, "conditions": [FAILED]}, maxUnavailable=1), 2**31 - 1),
        (build({"conditions": [FAILED]}, maxUnavailable=1), 2**31 - 1),
    ],
)
def test_the_number_of_pods_that_must_stay(budget: Object, minimum: int | None) -> None:
    assert find_minimum(budget) == minimum


def test_the_host_s_budget_selects_the_cluster_s_pods_of_the_namespace_alone() -> None:
    built = build_budget(build(minAvailable=1, unhealthyPodEvictionPolicy="AlwaysAllow"), TARGET)
    assert built["metadata"]["namespace"] == TARGET.namespace
    assert built["spec"]["minAvailable"] == 1
    assert built["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    own = built["spec"]["selector"]["matchLabels"]
    assert TARGET.scope("shop").items() <= own.items()
    assert len(own) == 3
    assert "app" not in own


def test_an_empty_selector_is_of_the_namespace_s_pods_too() -> None:
    built = build_budget(build(minAvailable=1) | {"spec": {"minAvailable": 1, "selector": {}}}, TARGET)
    assert built["spec"]["selector"] == {"matchLabels": TARGET.scope("shop")}
