from __future__ import annotations

import pytest

from nestor.apps.steps import Plan, Run, Step, state


def plan(*retries: int, plan_hash: str = "h1", base: str = "b", hashes: str = "") -> Plan:
    """A plan of one step per number of retries; `hashes` has one letter per step."""
    letters = hashes or "abcdefgh"
    return Plan(
        hash=plan_hash,
        base=base,
        steps=tuple(
            Step(name=f"s{number}", type="kubectl", hash=letters[number], path="a.yml", retry=retry)
            for number, retry in enumerate(retries)
        ),
    )


def done(of: Plan, count: int) -> Run:
    """A run of which the first `count` steps Succeeded."""
    run = state.begin(of)
    for index in range(count):
        run = state.succeed(state.start_attempt(run, index, "t1"), index, "t2")
    return run


def states(run: Run) -> list[tuple[str, int]]:
    return [(step.state, step.attempt) for step in run.steps]


def reread(run: Run) -> Run:
    return Run.model_validate_json(run.to_json())


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


def test_an_interrupted_attempt_is_repeated_and_not_counted_twice() -> None:
    run = state.succeed(state.start_attempt(state.begin(plan(0, 1)), 0, "t1"), 0, "t2")
    run = state.interrupt(state.start_attempt(run, 1, "t3"), 1)
    assert "stopped during attempt 1" in run.steps[1].message
    again = state.resume(plan(0, 1), reread(run), "t8")
    assert again.current() == 1
    assert states(state.start_attempt(again, 1, "t9")) == [("Succeeded", 1), ("Running", 1)]


def test_a_step_whose_runner_stops_while_it_waits_goes_on_with_the_next_attempt() -> None:
    run = state.start_attempt(state.begin(plan(1)), 0, "t1")
    run = state.fail_attempt(run, 0, "t2", exit_code=1, message="not yet")
    assert states(state.start_attempt(state.resume(plan(1), run, "t3"), 0, "t3")) == [("Running", 2)]


@pytest.mark.parametrize(
    ("hashes", "retries", "kept"),
    [
        ("abc", (0, 0, 0), 3),
        ("abX", (0, 0, 0), 2),
        ("aXc", (0, 0, 0), 1),
        ("Xbc", (0, 0, 0), 0),
        ("abc", (7, 0, 0), 3),
        ("abcd", (0, 0, 0, 0), 3),
        ("ab", (0, 0), 2),
        ("bca", (0, 0, 0), 0),
        ("aabc", (0, 0, 0, 0), 1),
    ],
)
def test_another_plan_on_the_same_base_goes_on_at_the_first_changed_step(
    hashes: str, retries: tuple[int, ...], kept: int
) -> None:
    other = plan(*retries, plan_hash="h2", hashes=hashes)
    run = state.resume(other, reread(done(plan(0, 0, 0), 3)), "t9")
    count = len(retries)
    assert states(run) == [("Succeeded", 1)] * kept + [("Pending", 0)] * (count - kept)
    assert (run.hash, run.state) == ("h2", "Succeeded" if kept == count else "Running")
    assert run.current() == (None if kept == count else kept)
    assert [(step.name, step.max_attempts, step.hash) for step in run.steps] == [
        (step.name, step.max_attempts, step.hash) for step in other.steps
    ]


def test_a_kept_step_keeps_its_times_and_checksum() -> None:
    run = state.succeed(state.start_attempt(state.begin(plan(0, 0)), 0, "t1"), 0, "t2", sha256="f" * 64)
    again = state.resume(plan(0, 0, plan_hash="h2"), run, "t9")
    assert again.steps[0] == run.steps[0]


@pytest.mark.parametrize("attempts", [1, 2])
def test_other_retry_limits_give_an_unfinished_step_all_its_attempts_again(attempts: int) -> None:
    run = done(plan(0, 1), 1)
    for attempt in range(attempts):
        run = state.start_attempt(run, 1, f"t{attempt}")
        run = state.fail_attempt(run, 1, "t", exit_code=1, message="refused")
    again = state.resume(plan(0, 4, plan_hash="h2"), run, "t9")
    assert (states(again), again.state) == ([("Succeeded", 1), ("Pending", 0)], "Running")
    assert (again.steps[1].max_attempts, again.steps[1].message) == (5, "")


def test_another_base_starts_over() -> None:
    again = state.resume(plan(0, plan_hash="h2", base="b2"), done(plan(0), 1), "t9")
    assert (again.hash, again.base, again.state, states(again)) == ("h2", "b2", "Running", [("Pending", 0)])
    assert state.resume(plan(0), None, "t9") == state.begin(plan(0))


def test_a_record_of_a_newer_runner_is_not_trusted() -> None:
    newer = done(plan(0), 1).model_copy(update={"version": 3})
    assert states(state.resume(plan(0), newer, "t9")) == [("Pending", 0)]


def die(run: Run, index: int, of: Plan) -> Run:
    """A runner takes up the run, begins the attempt, and is gone without a word."""
    return reread(state.start_attempt(state.resume(of, run, "t"), index, "t"))


def test_an_attempt_that_kills_its_runner_three_times_fails_the_step_and_says_so() -> None:
    of = plan(0, 5)
    run = done(of, 1)
    for count in (1, 2, 3):
        run = die(run, 1, of)
        assert (states(run)[1], run.steps[1].starts) == (("Running", 1), count)
    run = state.resume(of, run, "t9")
    assert (run.state, states(run), run.steps[1].completion_time) == ("Failed", [("Succeeded", 1), ("Failed", 1)], "t9")
    assert "the runner died 3 times during attempt 1 of step 's1'" in run.steps[1].message


def test_runners_that_said_that_they_stop_do_not_count_as_dead() -> None:
    of = plan(0)
    run: Run | None = None
    for _ in range(10):
        run = reread(state.interrupt(state.start_attempt(state.resume(of, run, "t"), 0, "t"), 0))
    assert run is not None
    assert (state.resume(of, run, "t").state, run.steps[0].starts) == ("Running", 0)


def test_each_attempt_counts_its_own_dead_runners() -> None:
    of = plan(1)
    run = die(die(state.begin(of), 0, of), 0, of)
    run = state.fail_attempt(state.start_attempt(run, 0, "t"), 0, "t", exit_code=1, message="refused")
    run = die(die(run, 0, of), 0, of)
    assert (states(run), run.steps[0].starts) == ([("Running", 2)], 2)
    assert state.resume(of, run, "t").state == "Running"


def test_the_json_has_the_words_that_the_syncer_copies() -> None:
    text = state.succeed(state.start_attempt(state.begin(plan(1)), 0, "t"), 0, "t", sha256="f").to_json()
    words = "version hash base state steps name type attempt maxAttempts starts startTime completionTime exitCode sha256 message"
    assert all(f'"{word}":' in text for word in words.split())
    assert "null" not in state.start_attempt(state.begin(plan(1)), 0, "t").to_json()
