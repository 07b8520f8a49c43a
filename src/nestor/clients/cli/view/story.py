"""A job's states as lines for a person who is waiting for it, each told once. Pure."""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field

from nestor.api import conditions
from nestor.api.class_choice import FALLBACK, find_class_name
from nestor.api.conditions import Type
from nestor.api.objects import Object, status_of
from nestor.clients.cli.view import times
from nestor.clients.cli.view.facts import condition, pick_line

_APPLIED = conditions.TIMED.index(conditions.STEPS_APPLIED)
_BEFORE_STEPS, _AFTER_STEPS = conditions.TIMED[:_APPLIED], conditions.TIMED[_APPLIED:]
_STEP_REASONS = (conditions.STEP_RUNNING, conditions.STEP_RETRYING, conditions.STEP_FAILED)
"""The steps' own lines say more."""


@dataclass
class Story:
    """Remembers what was told, so that each thing is told once."""

    told: dict[str, str] = field(default_factory=dict)

    def tell(self, job: Object, now: datetime.datetime) -> list[str]:
        """What is new in this state of the job, in the order of its stages."""
        lines = self._tell_restart(job)
        lines += self._tell_stages(job, _BEFORE_STEPS)
        lines += self._tell_steps(status_of(job).get("steps") or [], now)
        lines += self._tell_stages(job, _AFTER_STEPS)
        return lines + self._tell_end(job) + self._tell_waiting(job)

    def _tell_restart(self, job: Object) -> list[str]:
        count = status_of(job).get("restarts") or 0
        if not count or not self._is_new("restarts", str(count)):
            return []
        self.told = {key: value for key, value in self.told.items() if not key.startswith("step ")}
        return [f"restart {count}: the application starts over in an empty cluster"]

    def _tell_stages(self, job: Object, kinds: Iterable[Type]) -> list[str]:
        lines = []
        for kind in kinds:
            found = condition(job, kind)
            if found and self._is_new(kind, found["status"]) and conditions.is_reached(found):
                lines.append(_describe_stage(kind, job))
        return lines

    def _tell_steps(self, steps: list[Object], now: datetime.datetime) -> list[str]:
        lines = []
        for number, step in enumerate(steps, 1):
            text = _describe_step(step, f"step {number} of {len(steps)} '{step['name']}'", now)
            key = f"{step.get('state')} {step.get('attempt')}"
            if text and self._is_new(f"step {step['name']}", key):
                lines.append(text)
        return lines

    def _tell_end(self, job: Object) -> list[str]:
        found = condition(job, conditions.SUCCEEDED)
        if not found or not self._is_new("end", f"{found['status']} {found.get('reason')}"):
            return []
        if found["status"] == "True":
            return [f"completed: {found.get('message') or found.get('reason')}"]
        return []

    def _tell_waiting(self, job: Object) -> list[str]:
        """What the job is waiting for, if that has changed and no other line says it."""
        ready = condition(job, conditions.READY)
        if ready is None or ready["status"] == "True" or ready.get("reason") in _STEP_REASONS:
            return []
        if not self._is_new("waiting", str(ready.get("reason"))):
            return []
        return [f"waiting: {pick_line(ready.get('message') or ready.get('reason') or '')}"]

    def _is_new(self, key: str, text: str) -> bool:
        is_new = self.told.get(key) != text
        self.told[key] = text
        return is_new


def _describe_stage(kind: Type, job: Object) -> str:
    """The stage's words, with what the status has to add to them."""
    status = status_of(job)
    if kind == conditions.ADMITTED:
        details = [f"class '{find_class_name(job, FALLBACK)}'"]
        details += [f"command '{status['command']}'"] if status.get("command") else []
        return f"{kind.words}: {', '.join(details)}"
    if kind == conditions.CLUSTER_READY:
        return f"{kind.words}: Kubernetes {status.get('kubernetesVersion', '')}".rstrip()
    if kind == conditions.STEPS_APPLIED and (count := len(status.get("steps") or ())) > 1:
        return kind.words.replace("all", f"all {count}")
    if kind == conditions.EXPOSED and status.get("url"):
        return f"{kind.words} at {status['url']}"
    return kind.words


def _describe_step(step: Object, title: str, now: datetime.datetime) -> str | None:
    """One line about a step's state; None for one whose turn has not come."""
    state, attempts = step.get("state", "Pending"), step.get("maxAttempts", 1)
    count = f", attempt {step.get('attempt', 1)} of {attempts}" if attempts > 1 else ""
    if state == "Pending":
        return None
    if state == "Running":
        return f"{title} is running{count}"
    seconds = times.seconds_between(step.get("startTime"), step.get("completionTime"), now)
    took = f" in {times.short(seconds)}" if seconds is not None else ""
    if state == "Succeeded":
        return f"{title} succeeded{took}" + (count if step.get("attempt", 1) > 1 else "")
    why = pick_line(step.get("message") or "")
    ending = "failed, will be retried" if state == "Retrying" else f"failed{took}"
    return f"{title} {ending}{count}" + (f": {why}" if why else "")
