"""Policies as criteria: which objects are looked at, and what of them counts. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from nestor import names
from nestor.api import conditions
from nestor.api.policies import FailurePolicy, OutcomeTarget, SuccessPolicy
from nestor.objects import Object, is_terminating, status_of
from nestor.syncer.view.watches import Selection

_API_VERSIONS = {"Job": "batch/v1", "JobSet": "jobset.x-k8s.io/v1alpha2", "Pod": "v1"}
_DONE = {"Job": "Complete", "JobSet": "Completed"}
_FAILED = {"Job": "Failed", "JobSet": "Failed"}


@dataclass(frozen=True)
class Criterion:
    """What is said about some objects: a condition of theirs is True, or they are Pods in a phase."""

    selection: Selection
    condition: str = ""
    phase: str = ""

    @property
    def key(self) -> str:
        """The same for the same criterion, whatever else a policy says."""
        chosen = self.selection
        labels = ",".join(f"{key}={value}" for key, value in chosen.labels)
        return names.digest(
            chosen.api_version, chosen.kind, chosen.namespace, chosen.name, labels, self.condition, self.phase, length=16
        )

    @property
    def word(self) -> str:
        """What is awaited, as a word for messages."""
        return self.condition or self.phase

    def is_met(self, obj: Object) -> bool:
        """True when it holds for this object.

        A pod that is being deleted meets nothing: how it ends then is not the application's doing, say on a suspend.
        """
        if is_terminating(obj) and self.selection.kind == "Pod":
            return False
        status = status_of(obj)
        if self.condition:
            return conditions.is_true(status.get("conditions"), self.condition)
        return status.get("phase") == self.phase


def build_success(policy: SuccessPolicy | None) -> list[Criterion]:
    """When each target of the policy is done."""
    return [_criterion(target, _DONE, "Succeeded") for target in policy.targets] if policy else []


def build_failure(success: SuccessPolicy | None, failure: FailurePolicy | None) -> list[Criterion]:
    """When a target has failed. A condition that means success says nothing about failure: known kinds have one of their own."""
    if failure is not None and failure.targets is not None:
        return [_criterion(target, _FAILED, "Failed") for target in failure.targets]
    known = [target for target in (success.targets if success else []) if target.kind in _API_VERSIONS]
    return [_criterion(target.model_copy(update={"condition": None}), _FAILED, "Failed") for target in known]


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
