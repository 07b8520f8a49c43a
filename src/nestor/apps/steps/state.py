"""The state of a run, as `run.json` in the nested cluster holds it, and its transitions. Times are passed in.

A run is the runner's memory: what it says Succeeded is never run again while it is the same step, what it says Running is run
(again) on resume.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nestor.apps.steps.plan import Model, Plan, Step

RunState = Literal["Running", "Succeeded", "Failed"]
StepState = Literal["Pending", "Running", "Retrying", "Succeeded", "Failed"]

VERSION = 1
START_LIMIT = 3
"""How often one attempt is started. If the runner died in it that often, the step is to blame."""


class StepRun(Model):
    """Progress of one step. `message` holds the last lines of a failure, or why the attempt is repeated."""

    name: str
    type: str
    hash: str = ""
    """Of the plan's step when this was recorded."""
    state: StepState = "Pending"
    attempt: int = 0
    max_attempts: int = 1
    starts: int = 0
    """How often the current attempt was begun by a runner that did not say that it stopped."""
    start_time: str | None = None
    completion_time: str | None = None
    exit_code: int | None = None
    sha256: str | None = None
    """Of what the step downloaded."""
    message: str = ""


class Run(Model):
    """Progress of the plan with this `hash`."""

    version: int = Field(default=VERSION, ge=1)
    hash: str
    base: str = ""
    state: RunState = "Running"
    steps: tuple[StepRun, ...]

    def to_json(self) -> str:
        """`run.json`. Unknown values are left out: the schema of the status that it is copied to allows no null."""
        return self.model_dump_json(by_alias=True, exclude_none=True)

    def current(self) -> int | None:
        """Index of the step to run next; None when the run is over."""
        if self.state != "Running":
            return None
        return next((index for index, step in enumerate(self.steps) if step.state != "Succeeded"), None)


def begin(plan: Plan) -> Run:
    return _conclude(Run(hash=plan.hash, base=plan.base, steps=tuple(_await(step) for step in plan.steps)))


def resume(plan: Plan, earlier: Run | None, time: str) -> Run:
    """The run to continue with, after a runner that stopped, died, or had another plan.

    The same plan continues where it was. Another plan on the same base keeps what Succeeded up to the first step that changed or
    Failed; that step and all later ones start over, with all their attempts. Another base starts over.
    """
    if earlier is None or earlier.version > VERSION:
        return begin(plan)
    if earlier.hash == plan.hash and len(earlier.steps) == len(plan.steps):
        return _fail_deadly_attempt(earlier, time)
    if earlier.base != plan.base:
        return begin(plan)
    kept = count_unchanged(plan, earlier)
    steps = [
        earlier.steps[index].model_copy(update={"name": step.name, "max_attempts": step.max_attempts})
        if index < kept
        else _await(step)
        for index, step in enumerate(plan.steps)
    ]
    return _conclude(Run(hash=plan.hash, base=plan.base, steps=tuple(steps)))


def count_unchanged(plan: Plan, earlier: Run) -> int:
    """How many steps at the beginning Succeeded and are the same in `plan`."""
    for index, (step, done) in enumerate(zip(plan.steps, earlier.steps, strict=False)):
        if done.state != "Succeeded" or done.hash != step.hash:
            return index
    return min(len(plan.steps), len(earlier.steps))


def start_attempt(run: Run, index: int, time: str) -> Run:
    """The step's next attempt begins. One that was interrupted (still Running) is repeated and not counted twice."""
    step = run.steps[index]
    is_repeated = step.state == "Running"
    return _change(
        run,
        index,
        state="Running",
        attempt=step.attempt if is_repeated else step.attempt + 1,
        starts=step.starts + 1 if is_repeated else 1,
        start_time=step.start_time or time,
        exit_code=None,
    )


def succeed(run: Run, index: int, time: str, *, sha256: str | None = None) -> Run:
    """The step is done; after the last one the run is."""
    return _conclude(
        _change(run, index, state="Succeeded", starts=0, completion_time=time, exit_code=0, sha256=sha256, message="")
    )


def fail_attempt(
    run: Run, index: int, time: str, *, exit_code: int | None, message: str, is_final: bool = False, sha256: str | None = None
) -> Run:
    """The attempt failed: the step is Retrying while attempts are left, otherwise it and the run are Failed.

    `is_final` is for what repeating cannot help. Later steps stay Pending.
    """
    step = run.steps[index]
    if step.attempt < step.max_attempts and not is_final:
        return _change(run, index, state="Retrying", starts=0, exit_code=exit_code, sha256=sha256, message=message)
    failed = _change(
        run, index, state="Failed", starts=0, completion_time=time, exit_code=exit_code, sha256=sha256, message=message
    )
    return failed.model_copy(update={"state": "Failed"})


def interrupt(run: Run, index: int) -> Run:
    """The runner was asked to stop during an attempt; the state stays Running, so that the attempt is repeated.

    That start does not count: it is nobody's fault.
    """
    step = run.steps[index]
    message = f"the runner was stopped during attempt {step.attempt}; the attempt is repeated when it is back"
    return _change(run, index, starts=max(0, step.starts - 1), message=message)


def _await(step: Step) -> StepRun:
    return StepRun(name=step.name, type=step.type, hash=step.hash, max_attempts=step.max_attempts)


def _fail_deadly_attempt(run: Run, time: str) -> Run:
    """An attempt in which the runner died again and again is the step's last: a retry would not help."""
    index = run.current()
    if index is None or run.steps[index].state != "Running" or run.steps[index].starts < START_LIMIT:
        return run
    step = run.steps[index]
    message = (
        f"the runner died {step.starts} times during attempt {step.attempt} of step '{step.name}'; the step seems to end it, "
        "for example by using more memory than the runner's pod has"
    )
    return fail_attempt(run, index, time, exit_code=None, message=message, is_final=True)


def _conclude(run: Run) -> Run:
    is_over = all(step.state == "Succeeded" for step in run.steps)
    return run.model_copy(update={"state": "Succeeded"}) if is_over else run


def _change(run: Run, index: int, **changes: object) -> Run:
    step = run.steps[index].model_copy(update=changes)
    return run.model_copy(update={"steps": (*run.steps[:index], step, *run.steps[index + 1 :])})
