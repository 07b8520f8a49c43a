"""The state of a run, as `run.json` in the nested cluster holds it, and its transitions. Times are passed in.

A run is the runner's memory: what it says Succeeded is never run again while it is the same step, what it says Running is run
(again) on resume.
"""

import json
from dataclasses import replace
from typing import Any

from nestor.api import data
from nestor.api.observed import RunStatus, StepStatus
from nestor.apps.steps.plan import Plan, Step

VERSION = 1
START_LIMIT = 3
"""How often one attempt is started. If the runner died in it that often, the step is to blame."""


def write(run: RunStatus) -> str:
    return json.dumps(data.write(run), ensure_ascii=False)


def read(text: str) -> RunStatus:
    """Raises `ValueError`, `RecursionError`."""
    return data.read(RunStatus, json.loads(text))


def find_current(run: RunStatus) -> int | None:
    """Index of the step to run next; None when the run is over."""
    if run.state != "Running":
        return None
    return next((index for index, step in enumerate(run.steps) if step.state != "Succeeded"), None)


def begin(plan: Plan) -> RunStatus:
    return _conclude(RunStatus(version=VERSION, hash=plan.hash, base=plan.base, steps=[_await(step) for step in plan.steps]))


def resume(plan: Plan, earlier: RunStatus | None, time: str) -> RunStatus:
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
        replace(earlier.steps[index], name=step.name, max_attempts=step.max_attempts) if index < kept else _await(step)
        for index, step in enumerate(plan.steps)
    ]
    return _conclude(RunStatus(version=VERSION, hash=plan.hash, base=plan.base, steps=steps))


def count_unchanged(plan: Plan, earlier: RunStatus) -> int:
    """How many steps at the beginning Succeeded and are the same in `plan`."""
    for index, (step, done) in enumerate(zip(plan.steps, earlier.steps, strict=False)):
        if done.state != "Succeeded" or done.hash != step.hash:
            return index
    return min(len(plan.steps), len(earlier.steps))


def start_attempt(run: RunStatus, index: int, time: str) -> RunStatus:
    """The step's next attempt begins. One that was interrupted (still Running) is repeated and not counted twice."""
    step = run.steps[index]
    is_repeated = step.state == "Running"
    return _change(
        run,
        index,
        state="Running",
        attempt=step.attempt if is_repeated else step.attempt + 1,
        starts=(step.starts or 0) + 1 if is_repeated else 1,
        start_time=step.start_time or time,
        exit_code=None,
    )


def succeed(run: RunStatus, index: int, time: str, *, sha256: str | None = None) -> RunStatus:
    """The step is done; after the last one the run is."""
    return _conclude(
        _change(run, index, state="Succeeded", starts=0, completion_time=time, exit_code=0, sha256=sha256, message="")
    )


def fail_attempt(
    run: RunStatus,
    index: int,
    time: str,
    *,
    exit_code: int | None,
    message: str,
    is_final: bool = False,
    sha256: str | None = None,
) -> RunStatus:
    """The attempt failed: the step is Retrying while attempts are left, otherwise it and the run are Failed.

    `is_final` is for what repeating cannot help. Later steps stay Pending.
    """
    step = run.steps[index]
    if step.attempt < step.max_attempts and not is_final:
        return _change(run, index, state="Retrying", starts=0, exit_code=exit_code, sha256=sha256, message=message)
    failed = _change(
        run, index, state="Failed", starts=0, completion_time=time, exit_code=exit_code, sha256=sha256, message=message
    )
    return replace(failed, state="Failed")


def interrupt(run: RunStatus, index: int) -> RunStatus:
    """The runner was asked to stop during an attempt; the state stays Running, so that the attempt is repeated.

    That start does not count: it is nobody's fault.
    """
    step = run.steps[index]
    message = f"the runner was stopped during attempt {step.attempt}; the attempt is repeated when it is back"
    return _change(run, index, starts=max(0, (step.starts or 0) - 1), message=message)


def _await(step: Step) -> StepStatus:
    return StepStatus(name=step.name, type=step.type, hash=step.hash, max_attempts=step.max_attempts)


def _fail_deadly_attempt(run: RunStatus, time: str) -> RunStatus:
    """An attempt in which the runner died again and again is the step's last: a retry would not help."""
    index = find_current(run)
    if index is None or run.steps[index].state != "Running" or (run.steps[index].starts or 0) < START_LIMIT:
        return run
    step = run.steps[index]
    message = (
        f"the runner died {step.starts} times during attempt {step.attempt} of step '{step.name}'; the step seems to end it, "
        "for example by using more memory than the runner's pod has"
    )
    return fail_attempt(run, index, time, exit_code=None, message=message, is_final=True)


def _conclude(run: RunStatus) -> RunStatus:
    is_over = all(step.state == "Succeeded" for step in run.steps)
    return replace(run, state="Succeeded") if is_over else run


def _change(run: RunStatus, index: int, **changes: Any) -> RunStatus:
    step = replace(run.steps[index], **changes)
    return replace(run, steps=[*run.steps[:index], step, *run.steps[index + 1 :]])
