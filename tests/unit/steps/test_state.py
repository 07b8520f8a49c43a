from __future__ import annotations

import pytest

from nestor.steps import Plan, Run, Step, state


def plan(*retries: int, plan_hash: str = "h1") -> Plan:
    return Plan(hash=plan_hash, steps=tuple(
        Step(name=f"s{number}", type="kubectl", path="a.yml", retry=retry) for number, retry in enumerate(retries)
    ))


def states(run: Run) -> list[tuple[str, int]]:
    return [(step.state, step.attempt) for step in run.steps]


def test_steps_succeed_in_order_and_the_last_one_ends_the_run() -> None:
    run = state.begin(plan(0, 0))
    assert (run.state, run.current(), states(run)) == ("Running", 0, [("Pending", 0), ("Pending", 0)])
    run = state.start_attempt(run, 0, "t1")
    assert states(run) == [("Running", 1), ("Pending", 0)]
    run = state.succeed(run, 0, "t2")
    assert (run.state, run.current()) == ("Running", 1)
    assert (run.steps[0].start_time, run.steps[0].completion_time, run.steps[0].exit_code) == ("t1", "t2", 0)
    run = state.succeed(state.start_attempt(run, 1, "t3"), 1, "t4")
    assert (run.state, run.current()) == ("Succeeded", None)


def test_a_step_is_retried_until_its_attempts_are_spent_and_later_steps_stay_pending() -> None:
    run = state.begin(plan(2, 0))
    for attempt, expected in ((1, "Retrying"), (2, "Retrying"), (3, "Failed")):
        run = state.start_attempt(run, 0, f"t{attempt}")
        run = state.fail_attempt(run, 0, "end", exit_code=1, message="refused")
        assert states(run) == [(expected, attempt), ("Pending", 0)]
        assert (run.steps[0].message, run.steps[0].exit_code, run.steps[0].start_time) == ("refused", 1, "t1")
    assert (run.state, run.current(), run.steps[0].completion_time) == ("Failed", None, "end")


def test_a_retried_step_that_succeeds_keeps_its_attempts_and_drops_the_old_error() -> None:
    run = state.start_attempt(state.begin(plan(1)), 0, "t1")
    run = state.fail_attempt(run, 0, "t2", exit_code=1, message="not yet")
    run = state.succeed(state.start_attempt(run, 0, "t3"), 0, "t4")
    assert (states(run), run.steps[0].message, run.state) == ([("Succeeded", 2)], "", "Succeeded")


def test_a_final_failure_is_not_retried() -> None:
    run = state.start_attempt(state.begin(plan(5)), 0, "t1")
    run = state.fail_attempt(run, 0, "t2", exit_code=None, message="no such file", is_final=True)
    assert (run.state, states(run)) == ("Failed", [("Failed", 1)])


def test_an_interrupted_attempt_is_repeated_and_not_counted_twice() -> None:
    run = state.succeed(state.start_attempt(state.begin(plan(0, 1)), 0, "t1"), 0, "t2")
    run = state.interrupt(state.start_attempt(run, 1, "t3"), 1)
    assert "stopped during attempt 1" in run.steps[1].message
    again = state.resume(plan(0, 1), Run.model_validate_json(run.to_json()))
    assert again.current() == 1
    assert states(state.start_attempt(again, 1, "t9")) == [("Succeeded", 1), ("Running", 1)]


def test_a_step_interrupted_while_it_waits_goes_on_with_the_next_attempt() -> None:
    run = state.start_attempt(state.begin(plan(1)), 0, "t1")
    run = state.fail_attempt(run, 0, "t2", exit_code=1, message="not yet")
    assert state.interrupt(run, 0) == run
    assert states(state.start_attempt(state.resume(plan(1), run), 0, "t3")) == [("Running", 2)]


@pytest.mark.parametrize("finished", ["Succeeded", "Failed"])
def test_a_finished_run_of_the_same_plan_stays_finished(finished: str) -> None:
    run = state.start_attempt(state.begin(plan(0)), 0, "t1")
    run = state.succeed(run, 0, "t") if finished == "Succeeded" else state.fail_attempt(run, 0, "t", exit_code=1, message="")
    again = state.resume(plan(0), run)
    assert (again.state, again.current()) == (finished, None)


def test_another_plan_starts_over() -> None:
    done = state.succeed(state.start_attempt(state.begin(plan(0)), 0, "t1"), 0, "t2")
    again = state.resume(plan(0, plan_hash="h2"), done)
    assert (again.hash, again.state, states(again)) == ("h2", "Running", [("Pending", 0)])
    assert state.resume(plan(0), None) == state.begin(plan(0))


def test_the_json_has_the_words_that_the_syncer_copies() -> None:
    text = state.succeed(state.start_attempt(state.begin(plan(1)), 0, "t"), 0, "t").to_json()
    words = "version hash state steps name type attempt maxAttempts startTime completionTime exitCode message"
    assert all(f'"{word}":' in text for word in words.split())


def test_the_json_has_no_null() -> None:
    assert "null" not in state.start_attempt(state.begin(plan(1)), 0, "t").to_json()
