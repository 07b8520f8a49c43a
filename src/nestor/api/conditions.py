"""Condition types and reasons, and how a condition is set; the only place with these words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["True", "False", "Unknown"]

ADMITTED = "Admitted"
CLUSTER_READY = "ClusterReady"
STEPS_APPLIED = "StepsApplied"
EXPOSED = "Exposed"
READY = "Ready"
SUCCEEDED = "Succeeded"
ACCEPTED = "Accepted"
"""Of a NestedApp."""

# Admitted
ADMITTED_REASON = "Accepted"
CLASS_NOT_FOUND = "ClassNotFound"
VERSION_UNSUPPORTED = "VersionUnsupported"
COMMAND_NOT_FOUND = "CommandNotFound"
APPDEF_INVALID = "AppDefInvalid"
APP_NOT_FOUND = "AppNotFound"
READING_APPDEF = "ReadingAppDef"
PARAMETERS_INVALID = "ParametersInvalid"
TEMPLATES_NOT_FOUND = "TemplatesNotFound"
PULL_SECRET_NOT_FOUND = "PullSecretNotFound"  # noqa: S105 - a reason
# ClusterReady
PROVISIONED = "Provisioned"
PROVISIONING = "Provisioning"
SERVER_NOT_READY = "ServerNotReady"
IMAGE_PULL_FAILED = "ImagePullFailed"
UNSCHEDULABLE = "Unschedulable"
PROVISIONING_FAILED = "ProvisioningFailed"
# StepsApplied
ALL_STEPS_APPLIED = "AllStepsApplied"
WAITING_FOR_CLUSTER = "WaitingForCluster"
RUNNER_STARTING = "RunnerStarting"
STEP_RUNNING = "StepRunning"
STEP_RETRYING = "StepRetrying"
STEP_FAILED = "StepFailed"
RUNNER_FAILED = "RunnerFailed"
# Exposed
INGRESS_READY = "IngressReady"
TARGET_NOT_FOUND = "TargetNotFound"
NO_READY_ENDPOINT = "NoReadyEndpoint"
HOSTNAME_CONFLICT = "HostnameConflict"
HOST_NOT_ALLOWED = "HostNotAllowed"
INGRESS_REFUSED = "IngressRefused"
TLS_SECRET_NOT_FOUND = "TlsSecretNotFound"  # noqa: S105 - a reason
NOT_REQUESTED = "NotRequested"
# Ready
APP_READY = "AppReady"
TERMINATING = "Terminating"
# Succeeded, and Ready of a job that rests or has ended
RUNNING = "Running"
SUSPENDED = "Suspended"
RESUMING = "Resuming"
RESTARTING = "Restarting"
FAILURE_IGNORED = "FailureIgnored"
COMPLETED = "Completed"
TARGET_FAILED = "TargetFailed"
DEADLINE_EXCEEDED = "DeadlineExceeded"
RESTARTS_EXHAUSTED = "RestartsExhausted"


@dataclass(frozen=True)
class Condition:
    """One condition as decided in this pass; times are added when it is merged into the old ones."""

    type: str
    status: Status
    reason: str
    message: str


def merge(old: Iterable[dict[str, Any]], new: Iterable[Condition], generation: int, time: str) -> list[dict[str, Any]]:
    """The conditions to write: `lastTransitionTime` moves only when the status flips; types not in `new` stay."""
    result = {item["type"]: dict(item) for item in old}
    for condition in new:
        before = result.get(condition.type)
        flipped = before is None or before.get("status") != condition.status
        result[condition.type] = {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message[:2000],
            "observedGeneration": generation,
            "lastTransitionTime": time if flipped or before is None else before.get("lastTransitionTime", time),
        }
    return list(result.values())


def find(conditions: Iterable[dict[str, Any]] | None, kind: str) -> dict[str, Any] | None:
    """The condition of that type, or None."""
    return next((item for item in conditions or () if item.get("type") == kind), None)


def is_true(conditions: Iterable[dict[str, Any]] | None, kind: str) -> bool:
    """True when that condition is there and True."""
    found = find(conditions, kind)
    return found is not None and found.get("status") == "True"
