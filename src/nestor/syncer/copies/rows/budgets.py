"""PodDisruptionBudgets, with the number of pods that must stay. It follows the nested controller's as that changes."""

from __future__ import annotations

import json
from collections.abc import Callable

from nestor.kube import kinds
from nestor.kube.informer import Key, key_of
from nestor.objects import Object
from nestor.syncer import limits
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, mapping, value
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import budget


class BudgetRow(Row):
    """They hold in the host cluster if the class says so."""

    kind = kinds.POD_DISRUPTION_BUDGET
    refused = "NotCarried"
    workers = 2
    fields = (
        LABELS,
        ANNOTATIONS,
        value("spec.minAvailable"),
        mapping("spec.selector.matchLabels"),
        value("spec.selector.matchExpressions"),
        value("spec.unhealthyPodEvictionPolicy"),
    )

    def is_wanted(self, key: Key, source: Object) -> bool:
        """Once its number is known. One without a selector selects no pod."""
        return source["spec"].get("selector") is not None and budget.find_minimum(source) is not None

    def find_refusal(self, source: Object) -> str | None:
        """Unless the class lets them hold in the host cluster."""
        return None if self.context.caches.policy.places.disruption_budgets else budget.NOT_ALLOWED

    def find_ignored(self, source: Object) -> str | None:
        """Fields that are newer than this version of Nestor."""
        return budget.find_ignored(source)

    def find_excess(self, copy: Object | None, desired: Object) -> str | None:
        """On their size, and on their number: the host's controller looks at all of them whenever a pod changes."""
        surplus = limits.find_surplus_of_budgets(len(self.copies.store)) if copy is None else None
        surplus = surplus or limits.find_excess_of_object(self.kind.name, len(json.dumps(desired)))
        return surplus or super().find_excess(copy, desired)

    def build(self, source: Object) -> Object:
        """The host's one."""
        return budget.build_budget(source, self.context.target)

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again at all when the class changes."""

        def on_policy() -> None:
            for found in self.context.caches.nested(self.kind):
                look_at(key_of(found))

        self.context.caches.on_policy(on_policy)


ROWS = (BudgetRow,)
