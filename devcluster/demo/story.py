"""A job's states → the lines that a person who waits for it wants to read. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nestor.api import conditions

Object = dict[str, Any]

FINAL_REASONS = {
    conditions.CLASS_NOT_FOUND, conditions.VERSION_UNSUPPORTED, conditions.COMMAND_NOT_FOUND, conditions.APPDEF_INVALID,
    conditions.STEP_FAILED, conditions.RUNNER_FAILED, conditions.HOSTNAME_CONFLICT,
}
"""Reasons that only a change of the job can end; all others are waited for."""

LINE_LIMIT = 160

_MILESTONES = {
    conditions.ADMITTED: "admitted",
    conditions.CLUSTER_READY: "cluster ready",
    conditions.STEPS_APPLIED: "all steps applied",
    conditions.EXPOSED: "exposed",
    conditions.READY: "ready",
}


@dataclass
class Story:
    """Remembers what was told, so that each thing is told once."""

    told: dict[str, str] = field(default_factory=dict)

    def tell(self, job: Object) -> list[str]:
        """The news in this state of the job, in the order in which a job lives."""
        status = job.get("status") or {}
        before = self._tell_milestones(status, conditions.ADMITTED, conditions.CLUSTER_READY)
        steps = self._tell_steps(status.get("steps") or [])
        after = self._tell_milestones(status, conditions.STEPS_APPLIED, conditions.EXPOSED, conditions.READY)
        return before + steps + after + self._tell_waiting(status)

    def _tell_milestones(self, status: Object, *kinds: str) -> list[str]:
        found = [(kind, conditions.find(status.get("conditions"), kind)) for kind in kinds]
        return [
            _describe_milestone(kind, status) for kind, condition in found
            if condition and self._is_new(kind, condition["status"]) and condition["status"] == "True"
        ]

    def _tell_steps(self, steps: list[Object]) -> list[str]:
        lines = []
        for step in steps:
            text = describe_step(step)
            if text and self._is_new(f"step {step['name']}", text):
                lines.append(text)
        return lines

    def _tell_waiting(self, status: Object) -> list[str]:
        """What the job waits for, when that is something else than before and no step says it better."""
        ready = conditions.find(status.get("conditions"), conditions.READY)
        if ready is None or ready["status"] == "True":
            return []
        if ready["reason"] in (conditions.STEP_RUNNING, conditions.STEP_RETRYING, conditions.STEP_FAILED):
            return []
        if not self._is_new("waiting", f"{ready['reason']}"):
            return []
        return [f"… {ready['message'] or ready['reason']}"]

    def _is_new(self, key: str, text: str) -> bool:
        is_new = self.told.get(key) != text
        self.told[key] = text
        return is_new


def _describe_milestone(kind: str, status: Object) -> str:
    text = _MILESTONES[kind]
    if kind == conditions.CLUSTER_READY and status.get("kubernetesVersion"):
        return f"{text} (Kubernetes {status['kubernetesVersion']})"
    if kind == conditions.EXPOSED and status.get("url"):
        return f"{text} at {status['url']}"
    return text


def describe_step(step: Object) -> str | None:
    """One line about a step's state; None for one whose turn has not come."""
    state, name = step.get("state", "Pending"), step["name"]
    attempts = step.get("maxAttempts", 1)
    count = f", attempt {step.get('attempt', 1)} of {attempts}" if attempts > 1 else ""
    if state == "Pending":
        return None
    if state in ("Failed", "Retrying"):
        why = pick_line(step.get("message") or "")
        ending = "will be tried again" if state == "Retrying" else "failed"
        return f"step '{name}' {ending}{count}{': ' + why if why else ''}"
    return f"step '{name}' {state.lower()}{count if state == 'Running' else ''}"


def pick_line(message: str) -> str:
    """The line of a step's last lines that says most: its last error, else simply the last."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    line = (errors or lines or [""])[-1]
    return line if len(line) <= LINE_LIMIT else line[: LINE_LIMIT - 1] + "…"


def is_ready(job: Object) -> bool:
    """The job's app can be reached."""
    return conditions.is_true((job.get("status") or {}).get("conditions"), conditions.READY)


def find_failure(job: Object) -> str | None:
    """Why the job will not get ready by itself; None while it may."""
    for condition in (job.get("status") or {}).get("conditions") or []:
        if condition["status"] == "False" and condition["reason"] in FINAL_REASONS:
            return f"{condition['type']} is False, {condition['reason']}: {condition['message']}"
    return None


def describe_delay(job: Object) -> str:
    """What a job that took too long waits for."""
    ready = conditions.find((job.get("status") or {}).get("conditions"), conditions.READY)
    if ready is None:
        return "nobody has reported on the job: is the operator running?"
    return f"{ready['reason']}: {ready['message']}"


def is_same(wanted: Object, found: Any) -> bool:
    """`found` has everything of `wanted`; what the API server added by itself does not count."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(key in found and is_same(value, found[key]) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and len(wanted) == len(found) and all(map(is_same, wanted, found))
    return bool(wanted == found)
