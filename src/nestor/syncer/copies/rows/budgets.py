"""PodDisruptionBudgets, with the number of pods that must stay: it follows the nested controller's as that changes."""

from collections.abc import Iterable

from nestor.api.objects import Object, conditions_of, status_of
from nestor.kube import kinds
from nestor.kube.informer import Key
from nestor.pods.translate import fields, labels
from nestor.pods.translate.fields.services import BUDGET_SPEC
from nestor.pods.translate.target import Target
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, exact, value
from nestor.syncer.copies.row import Row


class BudgetRow(Row):
    """They hold in the host cluster if the class says so."""

    kind = kinds.POD_DISRUPTION_BUDGET
    refused = "NotCarried"
    follows_policy = True
    is_small = True
    fields = (
        LABELS,
        ANNOTATIONS,
        value("spec.minAvailable"),
        exact("spec.selector.matchLabels"),
        value("spec.selector.matchExpressions"),
        value("spec.unhealthyPodEvictionPolicy"),
    )

    def is_wanted(self, key: Key, source: Object) -> bool:
        """Once its number is known. One without a selector selects no pod."""
        return source["spec"].get("selector") is not None and find_minimum(source) is not None

    def find_refusal(self, source: Object) -> str | None:
        return None if self.policy.places.disruption_budgets else NOT_ALLOWED

    def find_ignored(self, source: Object) -> Iterable[str]:
        return fields.find_unknown("spec", source["spec"], BUDGET_SPEC)

    def build(self, source: Object) -> Object:
        return build_budget(source, self.context.target)


ROWS = (BudgetRow,)


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


def build_budget(budget: Object, target: Target) -> Object:
    """The host's PodDisruptionBudget. Call only if the number is known, and `spec.selector` is set."""
    meta, spec = budget["metadata"], budget["spec"]
    selector = labels.host_selector(spec["selector"], target.scope(meta["namespace"]), target.allowed_labels)
    wanted: Object = {"minAvailable": find_minimum(budget), "selector": selector}
    if policy := spec.get("unhealthyPodEvictionPolicy"):
        wanted["unhealthyPodEvictionPolicy"] = policy
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": target.metadata(budget), "spec": wanted}
