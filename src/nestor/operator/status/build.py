"""A job's desired status, what holds its pods up, what its user can do, and the events about what changed. Pure."""

from collections.abc import Iterable, Mapping
from typing import Literal

from nestor.api import conditions, labels, pod_status
from nestor.api.conditions import Condition
from nestor.api.objects import Object, annotations_of, conditions_of, is_terminating, labels_of, spec_of, status_of
from nestor.apps.steps import Plan
from nestor.cluster.exposure.exposed import list_targets
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.app_source import digest_snapshot, dump_snapshot
from nestor.operator.admission.turn import write_assigned
from nestor.operator.lifecycle.lifecycle import Lifecycle, find_deadline
from nestor.operator.status.conditions import WARNING, Observed
from nestor.operator.world.trim import HELD, HELD_LIMIT

Event = tuple[Literal["Normal", "Warning"], str, str]
"""Type, reason and message of an event, posted after the status that it refers to is written."""

_TERMINAL = {"True": "Completed", "False": "Failed"}
"""What the status of `Succeeded` means to those who cannot read conditions."""


def build_status(job: Object, found: list[Condition], time: str, details: Object | None = None) -> Object:
    """The whole status. A refused job keeps the details it had before, because its cluster stays."""
    old: Object = status_of(job)
    generation = job["metadata"].get("generation", 0)
    merged = conditions.merge(old.get("conditions") or (), found, generation, time)
    merged = [item for item in merged if item["type"] != conditions.STALLED or item["status"] == "True"]
    status: Object = {**old, "conditions": merged, "observedGeneration": generation}
    timings = dict(old.get("timings") or {})
    reached = {item["type"] for item in merged if conditions.is_reached(item)}
    for stage in conditions.TIMED:
        if stage in reached:
            timings.setdefault(stage.timing, time)
    if timings:
        status["timings"] = timings
    status |= details or {}
    succeeded = conditions.find(merged, conditions.SUCCEEDED)
    is_refused = succeeded is None and conditions.is_true(merged, conditions.STALLED)
    status["terminalState"] = "Failed" if is_refused else _TERMINAL.get((succeeded or {}).get("status", ""))
    status["nextStep"] = None if is_terminating(job) else find_next_step(merged)
    return {key: value for key, value in status.items() if value is not None}


def describe(resolved: Resolved, observed: Observed, plan: Plan, life: Lifecycle, kubeconfig: str | None) -> Object:
    """Everything in an admitted job's status except its conditions; None for fields that do not (or no longer) apply."""
    cluster_status = status_of(observed.cluster)
    pods: Object | None = cluster_status.get("pods")
    # A finished job shows how far its steps got, whatever the AppDef says now.
    run = observed.recorded if life.phase == "Finished" else observed.run
    is_running = not life.is_stopped or life.phase == "Restarting"
    is_ending = life.suspend is not None and not life.suspend.is_reached
    return life.record.to_status() | {
        "className": resolved.class_name,
        "machine": resolved.spec.machine,
        "activeDeadlineSeconds": find_deadline(
            resolved.spec.active_deadline_seconds, resolved.policy.max_active_deadline_seconds, life.record.ran
        ),
        "namespace": resolved.home.namespace,
        "appDigest": digest_snapshot(dump_snapshot(resolved.app)) if resolved.app.origin else None,
        "command": resolved.command if resolved.spec.has_app else None,
        "url": observed.exposure.url,
        "targets": list_targets(observed.exposure),
        "kubernetesVersion": cluster_status.get("kubernetesVersion") or resolved.version,
        "kubeconfigSecretName": kubeconfig,
        "steps": list_steps(run, plan) or None,
        "pods": pods | {"why": observed.held} if pods and observed.held else pods,
        "queue": None,
        "reserved": resolved.reserved if is_running or is_ending else None,
        "assigned": write_assigned(resolved.turn) if is_running else None,
    }


def list_steps(run: Object | None, plan: Plan) -> list[Object]:
    """The progress of the steps; all Pending until the runner has written something."""
    if run is not None:
        return [{key: value for key, value in step.items() if value is not None} for step in run.get("steps") or ()]
    return [
        {"name": step.name, "type": step.type, "state": "Pending", "attempt": 0, "maxAttempts": step.max_attempts, "message": ""}
        for step in plan.steps
    ]


def _list_warnings(before: str, admitted: Object) -> list[Event]:
    """One event for all warnings about the AppDef, if any of them is new."""
    said = admitted["message"].partition(WARNING)[2] if admitted["status"] == "True" else ""
    return [("Warning", "AppDefWarning", said.replace(WARNING, ""))] if said and said not in before else []


def list_events(old: Object, new: Object) -> list[Event]:
    """One event per condition that became True or has a new reason that calls for action; and events of the job's lifecycle."""
    events: list[Event] = []
    for stage in conditions.TIMED:
        condition = conditions.find(new.get("conditions"), stage)
        if condition is None:
            continue
        before = conditions.find(old.get("conditions"), stage) or {}
        if stage == conditions.ADMITTED:
            events += _list_warnings(before.get("message", ""), condition)
        if conditions.is_reached(condition) and before.get("status") != "True":
            events.append(("Normal", stage.event, condition["message"]))
        is_urgent = conditions.reason_of(condition).needs != "nobody"
        if stage in conditions.STAGES and is_urgent and before.get("reason") != condition["reason"]:
            events.append(("Warning", condition["reason"], condition["message"]))
    return [*events, *_list_life(old, new)]


def _list_life(old: Object, new: Object) -> list[Event]:
    said = conditions.find(new.get("conditions"), conditions.SUCCEEDED)
    if said is None:
        return []
    before = conditions.find(old.get("conditions"), conditions.SUCCEEDED) or {}
    events: list[Event] = []
    if new.get("suspendTime") and not old.get("suspendTime"):
        events.append(("Normal", "Suspended", said["message"]))
    if old.get("suspendTime") and not new.get("suspendTime") and said["status"] == "Unknown":
        events.append(("Normal", "Resumed", f"resumed at {new.get('startTime')}"))
    if new.get("restarts", 0) > old.get("restarts", 0):
        events.append(("Warning", "Restarted", said["message"]))
    if before and new.get("rerun") != old.get("rerun"):
        events.append(("Normal", "Rerun", f"all steps run again: annotation {labels.RERUN} changed"))
    if said["reason"] != before.get("reason") and (end := conditions.reason_of(said).end_event):
        events.append(("Normal" if said["status"] == "True" else "Warning", end, said["message"]))
    return events


def explain_held(pods: Iterable[Object], nodes: Mapping[str, Object]) -> str | None:
    """Why one of the application's pods does not start, and how many more there are. `nodes`: the virtual ones, by name."""
    found = {_name(pod): text for pod in pods if (text := _find_held(pod, nodes))}
    if not found:
        return None
    name = min(found)
    more = f"; {len(found) - 1} more are held up" if len(found) > 1 else ""
    return f"{name}: {found[name]}{more}"


def _find_held(pod: Object, nodes: Mapping[str, Object]) -> str | None:
    if labels_of(pod).get(labels.COMPONENT) != labels.COMPONENT_APP or is_terminating(pod):
        return None
    node = nodes.get(spec_of(pod).get("nodeName") or "")
    ready = conditions.find(conditions_of(node), conditions.READY) or {}
    is_lost = node is not None and ready.get("status") != "True"
    if is_lost and not pod_status.is_terminal(pod):
        backend = labels_of(node).get(labels.BACKEND, "")
        said = ready.get("message") or ready.get("reason") or "its process has reported nothing"
        return f"node '{spec_of(pod)['nodeName']}' of backend '{backend}' is not ready: {said}"[:HELD_LIMIT]
    found: str | None = status_of(pod).get(HELD)
    return found


def _name(pod: Object) -> str:
    """As the nested cluster's users know it."""
    own = annotations_of(pod)
    name = own.get(labels.NESTED_NAME)
    if name is None:
        return f"pod '{pod['metadata']['name']}'"
    return f"pod '{name}' in namespace '{own.get(labels.NESTED_NAMESPACE, '')}'"


def find_next_step(found: Iterable[Object]) -> str | None:
    """What to do, by a job's conditions: about its end; otherwise about the first that waits for somebody; otherwise about the
    first that is not True, as what follows from that may pass with it.
    """
    found = list(found)
    ended = conditions.find(found, conditions.SUCCEEDED) or {}
    if ended.get("status") in ("True", "False"):
        return conditions.reason_of(ended).advice or None
    stages = [item for stage in conditions.STAGES if (item := conditions.find(found, stage))]
    reasons = [conditions.reason_of(item) for item in stages if item.get("status") != "True"]
    urgent = [reason for reason in reasons if reason.needs != "nobody"]
    at_least = [conditions.reason_of(item) for item in stages if item.get("status") == "True"]  # such as a host without walls
    chosen = [*urgent, *reasons[:1], *(reason for reason in at_least if reason.needs != "nobody")]
    return next((reason.advice for reason in chosen if reason.advice), None)
