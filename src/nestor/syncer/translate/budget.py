"""PodDisruptionBudgets: how many of the pods that a nested one selects must stay, as a number."""

from __future__ import annotations

from nestor.objects import Object, conditions_of, status_of
from nestor.translate import fields, labels
from nestor.translate.fields.services import BUDGET_SPEC
from nestor.translate.target import Target

NOT_ALLOWED = (
    "it does not hold when nodes of the host cluster are drained, because the class does not allow it "
    "(`placement.disruptionBudgets`)"
)
_ALL = 2**31 - 1
_FAILED = "SyncFailed"


def find_minimum(budget: Object) -> int | None:
    """How many pods must stay; None as long as that is not known.

    The nested controller works it out from percentages, `maxUnavailable` and the sizes of workloads. The host's cannot: all its
    pods belong to the NestedCluster, which has no size.
    """
    own, status = budget["spec"].get("minAvailable"), status_of(budget)
    if isinstance(own, int):
        return own
    if any(item["type"] == "DisruptionAllowed" and item.get("reason") == _FAILED for item in conditions_of(budget)):
        return _ALL  # as in any cluster: nothing may go while the number is not known
    return status.get("desiredHealthy", 0) if status.get("observedGeneration") else None


def find_ignored(budget: Object) -> str | None:
    """Fields that this version of Nestor does not know."""
    return "; ".join(fields.find_unknown("spec", budget["spec"], BUDGET_SPEC)) or None


def build_budget(budget: Object, target: Target) -> Object:
    """The host's PodDisruptionBudget. Call only if the number is known, and `spec.selector` is set."""
    meta, spec = budget["metadata"], budget["spec"]
    selector = labels.host_selector(spec["selector"], target.scope(meta["namespace"]), target.allowed_labels)
    wanted: Object = {"minAvailable": find_minimum(budget), "selector": selector}
    if policy := spec.get("unhealthyPodEvictionPolicy"):
        wanted["unhealthyPodEvictionPolicy"] = policy
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": target.metadata(budget), "spec": wanted}
