from dataclasses import replace

import pytest

from nestor.api.observed import RunStatus
from nestor.apps.steps import Plan, Step, state


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


def done(of: Plan, count: int) -> RunStatus:
    """A run of which the first `count` steps Succeeded."""
    run = state.begin(of)
    for index in range(count):
        run = state.succeed(state.start_attempt(run, index, "t1"), index, "t2")
    return run


def states(run: RunStatus) -> list[tuple[str, int]]:
    return [(step.state, step.attempt) for step in run.steps]


def reread(run: RunStatus) -> RunStatus:
    return state.read(state.write(run))


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
    assert state.find_current(run) == (None if kept == count else kept)
    assert [(step.name, step.max_attempts, step.hash) for step in run.steps] == [
        (step.name, step.max_attempts, step.hash) for step in other.steps
    ]


def test_another_base_starts_over() -> None:
    assert states(state.resume(plan(0, 0, plan_hash="h2", base="other"), done(plan(0, 0), 2), "t9")) == [("Pending", 0)] * 2


def test_what_failed_has_all_its_attempts_again_in_another_plan() -> None:
    run = state.start_attempt(done(plan(0, 0), 1), 1, "t1")
    run = state.fail_attempt(run, 1, "t2", exit_code=1, message="no")
    assert states(state.resume(plan(0, 3, plan_hash="h2"), reread(run), "t9")) == [("Succeeded", 1), ("Pending", 0)]


def test_a_kept_step_keeps_its_times_and_checksum() -> None:
    run = state.succeed(state.start_attempt(state.begin(plan(0, 0)), 0, "t1"), 0, "t2", sha256="f" * 64)
    again = state.resume(plan(0, 0, plan_hash="h2"), run, "t9")
    assert again.steps[0] == run.steps[0]


def test_a_record_of_a_newer_runner_is_not_trusted() -> None:
    newer = replace(done(plan(0), 1), version=3)
    assert states(state.resume(plan(0), newer, "t9")) == [("Pending", 0)]


def die(run: RunStatus, index: int, of: Plan) -> RunStatus:
    """A runner takes up the run, begins the attempt, and is gone without a word."""
    return reread(state.start_attempt(state.resume(of, run, "t"), index, "t"))


def test_runners_that_said_that_they_stop_do_not_count_as_dead() -> None:
    of = plan(0)
    run: RunStatus | None = None
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
