"""A job's status as it is to be written, and the events that tell of what changed. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nestor.api import conditions, labels
from nestor.api.conditions import Condition
from nestor.exposure.decide import list_targets
from nestor.objects import Object, status_of
from nestor.operator.decide import WARNING, Observed
from nestor.operator.life import Life
from nestor.operator.resolve import Resolved
from nestor.steps import Plan


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
    reached = {condition.type for condition in found if condition.status == "True"}
    for stage in conditions.TIMED:
        if stage in reached:
            timings.setdefault(stage.timing, time)
    if timings:
        status["timings"] = timings
    status |= details or {}
    return {key: value for key, value in status.items() if value is not None}


def describe(resolved: Resolved, observed: Observed, plan: Plan, life: Life, kubeconfig: str | None) -> Object:
    """Everything in an admitted job's status but its conditions; None for what is not (or no longer) there."""
    cluster_status = status_of(observed.cluster)
    # What has ended shows the steps that it came to, whatever the AppDef says by now.
    run = observed.recorded if life.phase == "Finished" else observed.run
    return life.record.to_status() | {
        "namespace": resolved.host_namespace,
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
    for stage in conditions.TIMED:
        condition = conditions.find(new.get("conditions"), stage)
        if condition is None:
            continue
        before = conditions.find(old.get("conditions"), stage) or {}
        if stage == conditions.ADMITTED:
            events += _list_warnings(before.get("message", ""), condition)
        if condition["status"] == "True" and before.get("status") != "True":
            events.append(Event("Normal", stage.event, condition["message"]))
        elif stage in conditions.STAGES and _is_news(condition, before):
            events.append(Event("Warning", condition["reason"], condition["message"]))
    return events + _list_life(old, new)


def _is_news(condition: Object, before: Object) -> bool:
    """Whether somebody must act on a condition and has not been told yet."""
    return conditions.reason_of(condition).needs != "nobody" and before.get("reason") != condition["reason"]


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
    if said["reason"] != before.get("reason") and (end := conditions.reason_of(said).end_event):
        events.append(Event("Normal" if said["status"] == "True" else "Warning", end, said["message"]))
    return events
