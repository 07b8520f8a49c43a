import asyncio

import pytest

from nestor.api.observed import RunStatus
from nestor.apps.runner.attempt import Attempt, Clock, StepError
from nestor.apps.runner.command import Outcome
from nestor.apps.runner.run import Runner
from nestor.apps.steps import Plan, Step, state


class FakeClock(Clock):
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
        self.numbers: list[int] = []
        self.saved: list[RunStatus] = []
        self.log: list[str] = []
        self.clock = FakeClock()
        self.hangs = asyncio.Event()

    async def save(self, run: RunStatus) -> None:
        self.saved.append(run)

    async def execute(self, attempt: Attempt) -> Outcome:
        self.executed.append(attempt.step.name)
        self.numbers.append(attempt.number)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is None:
            self.hangs.set()
            await asyncio.Event().wait()
        assert outcome is not None
        attempt.show(f"output of {attempt.step.name}")
        self.clock.time += 1.5
        return outcome

    async def run(self, earlier: RunStatus | None = None) -> RunStatus:
        return await Runner(self.plan, self.save, self.execute, self.clock, self.log.append).run(earlier)

    def transitions(self) -> list[str]:
        return [" ".join([*(f"{step.name}={step.state}/{step.attempt}" for step in run.steps), run.state]) for run in self.saved]


OK = Outcome(0, "fine")
REFUSED = Outcome(1, "error: no matches for kind")


def step(name: str, retry: int = 0, sleep: int = 5) -> Step:
    return Step(name=name, type="kubectl", path=f"{name}.yml", retry=retry, retry_sleep_seconds=sleep)


async def test_each_transition_is_recorded_before_the_next_thing_happens() -> None:
    stage = Stage(step("a"), step("b"), outcomes=[OK, OK])
    first = (await stage.run()).steps[0]
    assert (first.start_time, first.completion_time, first.exit_code) == ("t0", "t1.5", 0)
    assert stage.transitions() == [
        "a=Running/1 b=Pending/0 Running",
        "a=Succeeded/1 b=Pending/0 Running",
        "a=Succeeded/1 b=Running/1 Running",
        "a=Succeeded/1 b=Succeeded/1 Succeeded",
    ]


async def test_a_failing_step_is_retried_with_its_sleep_and_then_the_rest_runs() -> None:
    stage = Stage(step("a", retry=2, sleep=30), step("b"), outcomes=[REFUSED, REFUSED, OK, OK])
    run = await stage.run()
    assert (run.state, run.steps[0].message) == ("Succeeded", "")
    assert stage.transitions()[1] == "a=Retrying/1 b=Pending/0 Running"
    assert stage.clock.slept == [30, 30]
    assert (stage.executed, stage.numbers) == (["a", "a", "a", "b"], [1, 2, 3, 1])
    assert stage.log == [
        "2 steps to run",
        "[a] step 1 of 2: kubectl a.yml, attempt 1 of 3",
        "[a] output of a",
        "[a] failed after 1.5 s: kubectl exited with code 1",
        "[a] attempt 2 of 3 in 30 s",
        "[a] step 1 of 2: kubectl a.yml, attempt 2 of 3",
        "[a] output of a",
        "[a] failed after 1.5 s: kubectl exited with code 1",
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
    assert run.steps[0].message == "kubectl exited with code 1: error: no matches for kind"
    assert stage.transitions()[-1] == "a=Failed/2 b=Pending/0 Failed"


async def test_an_exit_code_that_is_final_is_not_retried_and_others_are() -> None:
    script = Step(name="a", type="custom", cmd="", retry=5, retry_sleep_seconds=0, final_exit_codes=(3, 139))
    stage = Stage(script, outcomes=[REFUSED, Outcome(3, "no license")])
    run = await stage.run()
    assert (run.state, run.steps[0].attempt, stage.executed) == ("Failed", 2, ["a", "a"])
    assert run.steps[0].message == "the script exited with code 3, which is final: no license"


async def test_a_timeout_is_a_failure_with_its_own_words() -> None:
    run = await Stage(step("a"), outcomes=[Outcome(None, "timed out after 3 s, stopped")]).run()
    assert (run.steps[0].exit_code, run.steps[0].message) == (None, "timed out after 3 s, stopped")


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
    assert back.transitions()[0] == "a=Succeeded/1 b=Running/1 Running"


class SlowStage(Stage):
    """Whose API server does not answer to the write of a step's result, the first time."""

    async def save(self, run: RunStatus) -> None:
        if run.steps[0].state == "Succeeded" and not self.hangs.is_set():
            self.hangs.set()
            await asyncio.Event().wait()
        await super().save(run)


async def test_a_result_is_recorded_though_the_runner_is_stopped_meanwhile() -> None:
    """A step that may have taken hours is not repeated."""
    stage = SlowStage(step("a"), step("b"), outcomes=[OK])
    task = asyncio.create_task(stage.run())
    await stage.hangs.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stage.transitions() == ["a=Running/1 b=Pending/0 Running", "a=Succeeded/1 b=Pending/0 Running"]
    assert stage.executed == ["a"]


@pytest.mark.parametrize("outcome", [OK, REFUSED])
async def test_a_finished_run_is_not_run_again(outcome: Outcome) -> None:
    first = await Stage(step("a"), outcomes=[outcome]).run()
    again = Stage(step("a"), outcomes=[])
    assert await again.run(first) == first
    assert (again.executed, again.saved) == ([], [])
    assert again.log == [f"this plan has already been run: {first.state}"]


async def test_another_plan_starts_over() -> None:
    first = await Stage(step("a"), outcomes=[OK]).run()
    other = Stage(step("a").model_copy(update={"hash": "other"}), outcomes=[OK], plan_hash="other")
    assert (await other.run(first)).hash == "other"
    assert (other.executed, other.log[0]) == (["a"], "the steps or templates changed, starting over")


async def test_what_no_retry_can_heal_is_told_line_by_line_with_the_steps_name() -> None:
    stage = Stage(step("a", retry=5), outcomes=[StepError("web.yml, line 3:\nno such name")])
    assert (await stage.run()).state == "Failed"
    assert stage.log[-2:] == ["[a] failed: web.yml, line 3:", "[a] no such name"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (127, "kubectl could not find a program (exit code 127)"),
        (137, "kubectl was killed (exit code 137): out of memory?"),
        (139, "kubectl was terminated by SIGSEGV (exit code 139)"),
        (255, "kubectl exited with code 255"),
    ],
)
async def test_codes_that_mean_something_are_told_in_words(code: int, words: str) -> None:
    run = await Stage(step("a"), outcomes=[Outcome(code, "working")]).run()
    assert (run.steps[0].exit_code, run.steps[0].message) == (code, f"{words}: working")


async def test_what_was_downloaded_is_recorded_by_its_checksum() -> None:
    run = await Stage(step("a"), step("b"), outcomes=[Outcome(0, "", "abc"), Outcome(1, "", "def")]).run()
    assert [status.sha256 for status in run.steps] == ["abc", "def"]


async def test_a_step_that_was_the_end_of_too_many_runners_is_not_run_again() -> None:
    stage = Stage(step("a", retry=5), step("b"), outcomes=[])
    run = state.begin(stage.plan)
    for _ in range(state.START_LIMIT):
        run = state.start_attempt(run, 0, "t")
    assert (await stage.run(run)).state == "Failed"
    assert (stage.executed, stage.saved[-1].state) == ([], "Failed")
    assert "[a] failed: the runner died 3 times during attempt 1" in stage.log[1]


async def test_unchanged_steps_are_not_run_again_by_a_changed_plan() -> None:
    first = Stage(hashed("a", "1"), hashed("b", "1"), outcomes=[OK, OK])
    done = await first.run()
    changed = Stage(hashed("a", "1"), hashed("b", "2"), outcomes=[OK], plan_hash="other")
    assert (await changed.run(done)).state == "Succeeded"
    assert changed.executed == ["b"]
    assert changed.log[0] == "the steps or templates changed, resuming after 1 of 2 unchanged steps"


def hashed(name: str, digest: str) -> Step:
    return step(name).model_copy(update={"hash": digest})
