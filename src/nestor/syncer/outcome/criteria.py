"""Turns policies into criteria: which objects to look at, and what must hold for them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nestor.api import conditions, names
from nestor.api.objects import Object, is_terminating, status_of
from nestor.api.policies import FailurePolicy, OutcomeTarget, SuccessPolicy
from nestor.syncer.view.watches import Selection

_API_VERSIONS = {"Job": "batch/v1", "JobSet": "jobset.x-k8s.io/v1alpha2", "Pod": "v1"}
_DONE = {"Job": "Complete", "JobSet": "Completed"}
_FAILED = {"Job": "Failed", "JobSet": "Failed"}


@dataclass(frozen=True)
class Criterion:
    """What must hold for some objects: a condition is True, or (for Pods) a phase is reached."""

    selection: Selection
    condition: str = ""
    phase: str = ""

    @property
    def key(self) -> str:
        """A stable identifier of this criterion, independent of the rest of its policy."""
        chosen = self.selection
        labels = ",".join(f"{key}={value}" for key, value in chosen.labels)
        return names.digest(
            chosen.api_version, chosen.kind, chosen.namespace, chosen.name, labels, self.condition, self.phase, length=16
        )

    @property
    def word(self) -> str:
        """The awaited condition or phase, for messages."""
        return self.condition or self.phase

    def is_met(self, obj: Object) -> bool:
        """True if the criterion holds for this object.

        Never for a pod that is being deleted (on a suspend, for example): how it ends then is not the application's doing.
        """
        if is_terminating(obj) and self.selection.kind == "Pod":
            return False
        status = status_of(obj)
        if self.condition:
            return conditions.is_true(status.get("conditions"), self.condition)
        return status.get("phase") == self.phase


def build_success(policy: SuccessPolicy | None) -> list[Criterion]:
    """The criteria for each target of the policy to be done."""
    return [_criterion(target, _DONE, "Succeeded") for target in policy.targets] if policy else []


def build_failure(success: SuccessPolicy | None, failure: FailurePolicy | None) -> list[Criterion]:
    """The criteria for failure. By default, the success targets of known kinds, with their kind's own failure condition."""
    if failure is not None and failure.targets is not None:
        return [_criterion(target, _FAILED, "Failed") for target in failure.targets]
    known = [target for target in (success.targets if success else []) if target.kind in _API_VERSIONS]
    return [_criterion(replace(target, condition=None), _FAILED, "Failed") for target in known]


def _criterion(target: OutcomeTarget, by_kind: dict[str, str], phase: str) -> Criterion:
    selection = Selection(
        target.api_version or _API_VERSIONS.get(target.kind, ""),
        target.kind,
        target.namespace,
        target.name or "",
        tuple(sorted((target.match_labels or {}).items())),
    )
    condition = target.condition or by_kind.get(target.kind, "")
    return Criterion(selection, condition, "" if condition else phase)
