"""The run: each step's attempts, in order, each transition recorded before the next thing happens."""

import asyncio
from collections.abc import Awaitable, Callable

from nestor.api.contracts.runner import MESSAGE_LIMIT
from nestor.api.observed import RunStatus
from nestor.apps.runner import command
from nestor.apps.runner.attempt import Attempt, Clock, Execute, Show, StepError
from nestor.apps.runner.command import Outcome
from nestor.apps.runner.types import TYPES
from nestor.apps.steps import Plan, Step, state

INTERRUPT_LIMIT_SECONDS = 5.0


class Runner:
    """Runs a plan from wherever its record says it is; `save` writes the record."""

    def __init__(
        self, plan: Plan, save: Callable[[RunStatus], Awaitable[None]], execute: Execute, clock: Clock, show: Show
    ) -> None:
        self._plan = plan
        self._save = save
        self._execute = execute
        self._clock = clock
        self._show = show

    async def run(self, earlier: RunStatus | None) -> RunStatus:
        """Run all that is left; returns the finished run. Cancelled, it records where it was stopped."""
        run = state.resume(self._plan, earlier, self._clock.now())
        self._show(self._describe(run, earlier))
        if run.state != "Running" and run != earlier:
            await self._save(run)
            for step, status in zip(self._plan.steps, run.steps, strict=True):
                if status.state == "Failed":  # An earlier runner died in it once too often.
                    self._say(step, f"failed: {status.message}")
        while (index := state.find_current(run)) is not None:
            step, status = self._plan.steps[index], run.steps[index]
            if status.state == "Retrying" and step.retry_sleep_seconds:
                self._say(step, f"attempt {status.attempt + 1} of {status.max_attempts} in {step.retry_sleep_seconds} s")
                await self._clock.sleep(step.retry_sleep_seconds)
            run = state.start_attempt(run, index, self._clock.now())
            try:
                await self._save(run)
                run = await self._attempt(run, index)
            except asyncio.CancelledError:
                # Without a record of it, what is there still says Running, which means the same on resume.
                self._say(step, "stopped; it will be repeated when the runner is back")
                await self._save_at_last(state.interrupt(run, index), "the interruption")
                raise
            await self._save_result(run)
        return run

    def _describe(self, run: RunStatus, earlier: RunStatus | None) -> str:
        done = sum(step.state == "Succeeded" for step in run.steps)
        if run.state != "Running":
            return f"this plan has already been run: {run.state}"
        if earlier is not None and earlier.hash != run.hash:
            kept = f"resuming after {done} of {len(run.steps)} unchanged steps" if done else "starting over"
            return f"the steps or templates changed, {kept}"
        if earlier is not None:
            return f"resuming after {done} of {len(run.steps)} steps"
        return f"{len(run.steps)} {'step' if len(run.steps) == 1 else 'steps'} to run"

    async def _attempt(self, run: RunStatus, index: int) -> RunStatus:
        step, status = self._plan.steps[index], run.steps[index]
        count = f", attempt {status.attempt} of {status.max_attempts}" if status.max_attempts > 1 else ""
        self._say(step, f"step {index + 1} of {len(run.steps)}: {TYPES[step.type].describe(step)}{count}")
        start = self._clock.seconds()
        try:
            outcome = await self._execute(Attempt(step, status.attempt, lambda line: self._say(step, line)))
        except StepError as error:
            # Whatever fails is retried, but an image does not change: a file that is not in it will not come.
            message = str(error)[:MESSAGE_LIMIT]
            self._say(step, f"failed: {message}")
            return state.fail_attempt(run, index, self._clock.now(), exit_code=None, message=message, is_final=True)
        elapsed = f"after {self._clock.seconds() - start:.1f} s"
        if outcome.is_success:
            self._say(step, f"succeeded {elapsed}")
            return state.succeed(run, index, self._clock.now(), sha256=outcome.sha256)
        self._say(step, f"failed {elapsed}: {_describe_end(step, outcome)}")
        return state.fail_attempt(
            run,
            index,
            self._clock.now(),
            exit_code=outcome.exit_code,
            message=_describe_failure(step, outcome),
            sha256=outcome.sha256,
            is_final=outcome.exit_code in step.final_exit_codes,
        )

    async def _save_result(self, run: RunStatus) -> None:
        """Stopped meanwhile, the runner tries once more: without it, the step would be repeated."""
        try:
            await self._save(run)
        except asyncio.CancelledError:
            await self._save_at_last(run, "the step's result")
            raise

    async def _save_at_last(self, run: RunStatus, what: str) -> None:
        try:
            async with asyncio.timeout(INTERRUPT_LIMIT_SECONDS):
                await self._save(run)
        except Exception as error:
            self._show(f"{what} could not be recorded: {str(error) or type(error).__name__}")

    def _say(self, step: Step, text: str) -> None:
        for line in text.splitlines() or [""]:
            self._show(f"[{step.name}] {line}")


def _describe_end(step: Step, outcome: Outcome) -> str:
    """One line; what the command said is in the log already."""
    if outcome.exit_code is None:
        return outcome.message.partition("\n")[0]
    is_final = ", which is final" if outcome.exit_code in step.final_exit_codes else ""
    return f"{TYPES[step.type].program} {command.describe_exit(outcome.exit_code)}{is_final}"


def _describe_failure(step: Step, outcome: Outcome) -> str:
    if outcome.exit_code is None:
        return outcome.message[:MESSAGE_LIMIT]
    return _describe_end(step, outcome) + (f": {outcome.message}" if outcome.message else "")
