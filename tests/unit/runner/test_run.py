from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from nestor.runner.command import Outcome
from nestor.runner.run import Runner
from nestor.runner.templates import TemplateError
from nestor.steps import Plan, Run, Step, state


class FakeClock:
    """Time passes only by sleeping."""

    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []

    def now(self) -> str:
        return f"t{self.time:g}"

    def seconds(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


class Stage:
    """A runner with its record, its log and scripted outcomes."""

    def __init__(self, *steps: Step, outcomes: list[Outcome | Exception | None], plan_hash: str = "h") -> None:
        self.plan = Plan(hash=plan_hash, steps=steps)
        self.outcomes = outcomes
        self.executed: list[str] = []
        self.saved: list[Run] = []
        self.log: list[str] = []
        self.clock = FakeClock()
        self.hangs = asyncio.Event()

    async def save(self, run: Run) -> None:
        self.saved.append(run)

    async def execute(self, step: Step, show: Callable[[str], None]) -> Outcome:
        self.executed.append(step.name)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is None:
            self.hangs.set()
            await asyncio.Event().wait()
        assert outcome is not None
        show(f"output of {step.name}")
        self.clock.time += 1.5
        return outcome

    async def run(self, earlier: Run | None = None) -> Run:
        return await Runner(self.plan, self, self.execute, self.clock, self.log.append).run(earlier)

    def transitions(self) -> list[str]:
        return [" ".join([*(f"{step.name}={step.state}/{step.attempt}" for step in run.steps), run.state]) for run in self.saved]


OK = Outcome(0, "fine")
REFUSED = Outcome(1, "error: no matches for kind")


def step(name: str, retry: int = 0, sleep: int = 5) -> Step:
    return Step(name=name, type="kubectl", path=f"{name}.yml", retry=retry, retry_sleep_seconds=sleep)


async def test_each_transition_is_recorded_before_the_next_thing_happens() -> None:
    stage = Stage(step("a"), step("b"), outcomes=[OK, OK])
    assert (await stage.run()).state == "Succeeded"
    assert stage.transitions() == [
        "a=Running/1 b=Pending/0 Running",
        "a=Succeeded/1 b=Pending/0 Running",
        "a=Succeeded/1 b=Running/1 Running",
        "a=Succeeded/1 b=Succeeded/1 Succeeded",
    ]


async def test_a_failing_step_is_retried_with_its_sleep_and_then_the_rest_runs() -> None:
    stage = Stage(step("a", retry=2, sleep=30), step("b"), outcomes=[REFUSED, REFUSED, OK, OK])
    assert (await stage.run()).state == "Succeeded"
    assert stage.clock.slept == [30, 30]
    assert stage.executed == ["a", "a", "a", "b"]
    assert stage.log == [
        "2 steps to run",
        "[a] step 1 of 2: kubectl a.yml, attempt 1 of 3",
        "[a] output of a",
        "[a] failed after 1.5 s with exit code 1",
        "[a] attempt 2 of 3 in 30 s",
        "[a] step 1 of 2: kubectl a.yml, attempt 2 of 3",
        "[a] output of a",
        "[a] failed after 1.5 s with exit code 1",
        "[a] attempt 3 of 3 in 30 s",
        "[a] step 1 of 2: kubectl a.yml, attempt 3 of 3",
        "[a] output of a",
        "[a] succeeded after 1.5 s",
        "[b] step 2 of 2: kubectl b.yml",
        "[b] output of b",
        "[b] succeeded after 1.5 s",
    ]


async def test_spent_attempts_fail_the_run_and_later_steps_are_not_run() -> None:
    stage = Stage(step("a", retry=1, sleep=0), step("b"), outcomes=[REFUSED, REFUSED])
    run = await stage.run()
    assert (run.state, stage.executed, stage.clock.slept) == ("Failed", ["a", "a"], [])
    assert run.steps[0].message == "kubectl exited 1: error: no matches for kind"
    assert stage.transitions()[-1] == "a=Failed/2 b=Pending/0 Failed"


async def test_a_missing_template_is_not_retried() -> None:
    stage = Stage(step("a", retry=5), outcomes=[TemplateError("template 'a.yml' does not exist")])
    run = await stage.run()
    assert (run.state, run.steps[0].message, stage.executed) == ("Failed", "template 'a.yml' does not exist", ["a"])


async def test_a_timeout_is_a_failure_with_its_own_words() -> None:
    run = await Stage(step("a"), outcomes=[Outcome(None, "no end within 3 s, stopped")]).run()
    assert (run.steps[0].exit_code, run.steps[0].message) == (None, "no end within 3 s, stopped")


async def test_a_stopped_runner_records_where_and_the_next_one_repeats_only_that_step() -> None:
    stage = Stage(step("a"), step("b"), outcomes=[OK, None])
    task = asyncio.create_task(stage.run())
    await stage.hangs.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stage.transitions()[-1] == "a=Succeeded/1 b=Running/1 Running"

    back = Stage(step("a"), step("b"), outcomes=[OK])
    assert (await back.run(stage.saved[-1])).state == "Succeeded"
    assert (back.executed, back.log[0]) == (["b"], "resuming after 1 of 2 steps")


@pytest.mark.parametrize("outcome", [OK, REFUSED])
async def test_a_finished_run_is_not_run_again(outcome: Outcome) -> None:
    first = await Stage(step("a"), outcomes=[outcome]).run()
    again = Stage(step("a"), outcomes=[])
    assert await again.run(first) == first
    assert (again.executed, again.saved) == ([], [])
    assert again.log == [f"this plan's run is over already: {first.state}"]


async def test_another_plan_starts_over() -> None:
    first = await Stage(step("a"), outcomes=[OK]).run()
    other = Stage(step("a"), outcomes=[OK], plan_hash="other")
    assert (await other.run(first)).hash == "other"
    assert (other.executed, other.log[0]) == (["a"], "the steps or templates changed, starting over")


async def test_a_runner_stopped_while_it_slept_goes_on_with_the_next_attempt() -> None:
    run = state.start_attempt(state.begin(Plan(hash="h", steps=(step("a", retry=1),))), 0, "t")
    run = state.fail_attempt(run, 0, "t", exit_code=1, message="x")
    stage = Stage(step("a", retry=1), outcomes=[OK])
    assert (await stage.run(run)).steps[0].attempt == 2
    assert stage.clock.slept == [5]
