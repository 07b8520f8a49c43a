"""A job's status as it is to be written, and the events that tell of what changed. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nestor.api import conditions, labels
from nestor.api.conditions import Condition
from nestor.exposure.exposed import list_targets
from nestor.objects import Object, status_of
from nestor.operator.admission.admit import Resolved
from nestor.operator.lifecycle.lifecycle import Lifecycle
from nestor.operator.status.conditions import WARNING, Observed
from nestor.steps import Plan

TIMINGS = {
    conditions.ADMITTED: "admitted",
    conditions.CLUSTER_READY: "clusterReady",
    conditions.STEPS_APPLIED: "stepsApplied",
    conditions.EXPOSED: "exposed",
    conditions.READY: "ready",
}

GOOD_EVENTS = {
    conditions.ADMITTED: "JobAdmitted",
    conditions.CLUSTER_READY: "ClusterProvisioned",
    conditions.STEPS_APPLIED: "StepsApplied",
    conditions.EXPOSED: "JobExposed",
    conditions.READY: "JobReady",
}
BAD_REASONS = frozenset(
    {
        conditions.CLASS_NOT_FOUND,
        conditions.VERSION_UNSUPPORTED,
        conditions.COMMAND_NOT_FOUND,
        conditions.APPDEF_INVALID,
        conditions.APP_NOT_FOUND,
        conditions.PARAMETERS_INVALID,
        conditions.TEMPLATES_NOT_FOUND,
        conditions.PULL_SECRET_NOT_FOUND,
        conditions.IMAGE_PULL_FAILED,
        conditions.UNSCHEDULABLE,
        conditions.PROVISIONING_FAILED,
        conditions.STEP_FAILED,
        conditions.RUNNER_FAILED,
        conditions.HOSTNAME_CONFLICT,
        conditions.TLS_SECRET_NOT_FOUND,
        conditions.INGRESS_REFUSED,
    }
)
"""Reasons that somebody should act upon; the others are stages of an ordinary start."""
ENDS = {
    conditions.COMPLETED: "Completed",
    conditions.STEP_FAILED: "JobFailed",
    conditions.TARGET_FAILED: "JobFailed",
    conditions.RESTARTS_EXHAUSTED: "JobFailed",
    conditions.DEADLINE_EXCEEDED: "DeadlineExceeded",
    conditions.FAILURE_IGNORED: "FailureIgnored",
}
"""Events by the reason of `Succeeded`."""


@dataclass(frozen=True)
class Event:
    """An event to be posted once the status that it tells of is written."""

    kind: Literal["Normal", "Warning"]
    reason: str
    message: str


def build_status(job: Object, found: list[Condition], time: str, details: Object | None = None) -> Object:
    """The whole status. What a refused job had before it was refused stays, because its cluster does."""
    old: Object = status_of(job)
    generation = job["metadata"].get("generation", 0)
    merged = conditions.merge(old.get("conditions") or (), found, generation, time)
    status: Object = {**old, "conditions": merged, "observedGeneration": generation}
    timings = dict(old.get("timings") or {})
    for condition in found:
        if condition.status == "True" and condition.type in TIMINGS:
            timings.setdefault(TIMINGS[condition.type], time)
    if timings:
        status["timings"] = timings
    status |= details or {}
    return {key: value for key, value in status.items() if value is not None}


def describe(resolved: Resolved, observed: Observed, plan: Plan, life: Lifecycle, kubeconfig: str | None) -> Object:
    """Everything in an admitted job's status but its conditions; None for what is not (or no longer) there."""
    cluster_status = status_of(observed.cluster)
    # What has ended shows the steps that it came to, whatever the AppDef says by now.
    run = observed.recorded if life.phase == "Finished" else observed.run
    return life.record.to_status() | {
        "namespace": resolved.home.namespace,
        "command": resolved.command,
        "url": observed.exposure.url,
        "targets": list_targets(observed.exposure),
        "kubernetesVersion": cluster_status.get("kubernetesVersion") or resolved.version,
        "kubeconfigSecretName": kubeconfig,
        "steps": list_steps(run, plan),
        "pods": cluster_status.get("pods"),
    }


def list_steps(run: Object | None, plan: Plan) -> list[Object]:
    """The steps as far as they are; all Pending while the runner has not written anything."""
    if run is not None:
        return [{key: value for key, value in step.items() if value is not None} for step in run.get("steps") or ()]
    return [
        {"name": step.name, "type": step.type, "state": "Pending", "attempt": 0, "maxAttempts": step.max_attempts, "message": ""}
        for step in plan.steps
    ]


def _list_warnings(before: str, admitted: Object) -> list[Event]:
    """One event for all warnings about the AppDef, when there are new ones."""
    said = admitted["message"].partition(WARNING)[2] if admitted["status"] == "True" else ""
    return [Event("Warning", "AppDefWarning", said.replace(WARNING, ""))] if said and said not in before else []


def list_events(old: Object, new: Object) -> list[Event]:
    """One event per condition that became True, or that has a new reason which somebody should act upon; and the job's life."""
    events = []
    for condition in new.get("conditions") or ():
        before = conditions.find(old.get("conditions"), condition["type"]) or {}
        if condition["type"] == conditions.ADMITTED:
            events += _list_warnings(before.get("message", ""), condition)
        if condition["status"] == "True" and before.get("status") != "True" and condition["type"] in GOOD_EVENTS:
            events.append(Event("Normal", GOOD_EVENTS[condition["type"]], condition["message"]))
        elif condition["type"] in TIMINGS and condition["type"] != conditions.READY and _is_news(condition, before):
            events.append(Event("Warning", condition["reason"], condition["message"]))
    return events + _list_life(old, new)


def _is_news(condition: Object, before: Object) -> bool:
    """Whether somebody should act upon a condition, and was not told."""
    return condition["reason"] in BAD_REASONS and before.get("reason") != condition["reason"]


def _list_life(old: Object, new: Object) -> list[Event]:
    """How the job came to rest, went on, began anew or ended."""
    said = conditions.find(new.get("conditions"), conditions.SUCCEEDED)
    if said is None:
        return []
    before = conditions.find(old.get("conditions"), conditions.SUCCEEDED) or {}
    events = []
    if new.get("suspendTime") and not old.get("suspendTime"):
        events.append(Event("Normal", "Suspended", said["message"]))
    if old.get("suspendTime") and not new.get("suspendTime") and said["status"] == "Unknown":
        events.append(Event("Normal", "Resumed", f"resumed at {new.get('startTime')}"))
    if new.get("restarts", 0) > old.get("restarts", 0):
        events.append(Event("Warning", "Restarted", said["message"]))
    if before and new.get("rerun") != old.get("rerun"):
        events.append(Event("Normal", "Rerun", f"all steps run again, by annotation {labels.RERUN}"))
    if said["reason"] != before.get("reason") and said["reason"] in ENDS:
        events.append(Event("Normal" if said["status"] == "True" else "Warning", ENDS[said["reason"]], said["message"]))
    return events
