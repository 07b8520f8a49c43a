"""The state of a run, as `run.json` in the nested cluster holds it, and its transitions. Times are passed in.

A run is the runner's memory: what it says Succeeded is never run again, what it says Running is run (again) on resume.
"""

from __future__ import annotations

from typing import Literal

from nestor.steps.plan import Model, Plan

RunState = Literal["Running", "Succeeded", "Failed"]
StepState = Literal["Pending", "Running", "Retrying", "Succeeded", "Failed"]


class StepRun(Model):
    """How far one step is. `message` holds the last lines of what went wrong, or why it is repeated."""

    name: str
    type: str
    state: StepState = "Pending"
    attempt: int = 0
    max_attempts: int = 1
    start_time: str | None = None
    completion_time: str | None = None
    exit_code: int | None = None
    message: str = ""


class Run(Model):
    """How far the plan with this `hash` is."""

    version: Literal[1] = 1
    hash: str
    state: RunState = "Running"
    steps: tuple[StepRun, ...]

    def to_json(self) -> str:
        """`run.json`. What is not known yet is left out: the schema of the status that it is copied to knows no null."""
        return self.model_dump_json(by_alias=True, exclude_none=True)

    def current(self) -> int | None:
        """Index of the step to run next; None when the run is over."""
        if self.state != "Running":
            return None
        return next((index for index, step in enumerate(self.steps) if step.state != "Succeeded"), None)


def begin(plan: Plan) -> Run:
    """A run of `plan` that has not done anything yet."""
    steps = tuple(StepRun(name=step.name, type=step.type, max_attempts=step.max_attempts) for step in plan.steps)
    return Run(hash=plan.hash, steps=steps)


def resume(plan: Plan, earlier: Run | None) -> Run:
    """The run to go on with: the earlier one if it is of the same plan, else a new one."""
    if earlier is None or earlier.hash != plan.hash or len(earlier.steps) != len(plan.steps):
        return begin(plan)
    return earlier


def start_attempt(run: Run, index: int, time: str) -> Run:
    """The step's next attempt begins. One that was interrupted (still Running) is repeated and not counted twice."""
    step = run.steps[index]
    attempt = step.attempt if step.state == "Running" else step.attempt + 1
    return _change(run, index, state="Running", attempt=attempt, start_time=step.start_time or time, exit_code=None)


def succeed(run: Run, index: int, time: str) -> Run:
    """The step is done; after the last one the run is."""
    changed = _change(run, index, state="Succeeded", completion_time=time, exit_code=0, message="")
    is_over = all(step.state == "Succeeded" for step in changed.steps)
    return changed.model_copy(update={"state": "Succeeded"}) if is_over else changed


def fail_attempt(run: Run, index: int, time: str, *, exit_code: int | None, message: str, is_final: bool = False) -> Run:
    """The attempt failed: the step is Retrying while attempts are left, else Failed, and the run with it.

    `is_final` is for what repeating cannot help. Later steps stay Pending.
    """
    step = run.steps[index]
    if step.attempt < step.max_attempts and not is_final:
        return _change(run, index, state="Retrying", exit_code=exit_code, message=message)
    failed = _change(run, index, state="Failed", completion_time=time, exit_code=exit_code, message=message)
    return failed.model_copy(update={"state": "Failed"})


def interrupt(run: Run, index: int) -> Run:
    """The runner was asked to stop in the middle of an attempt; the state stays Running, so that it is repeated."""
    step = run.steps[index]
    if step.state != "Running":
        return run
    return _change(run, index, message=f"the runner was stopped during attempt {step.attempt}, it is repeated when it is back")


def _change(run: Run, index: int, **changes: object) -> Run:
    step = run.steps[index].model_copy(update=changes)
    return run.model_copy(update={"steps": (*run.steps[:index], step, *run.steps[index + 1 :])})
