"""First come, first served; who runs is never sent away."""

from __future__ import annotations

import pytest

from nestor.api import conditions
from tests.unit.operator.queueing.world import MIDDLE, OLD, YOUNG, Object, Town, job

WAITS = conditions.TOO_MANY_JOBS


def find_refusal(limit: int, mine: Object, *others: Object) -> str | None:
    """Why there is no room."""
    refused = Town(*others, mine, maxJobsPerNamespace=limit).ask(mine["metadata"]["uid"], mine["metadata"]["namespace"])
    return f"{refused.reason} {refused.retry_seconds}: {refused.message}" if refused else None


@pytest.mark.parametrize(
    ("limit", "others", "is_refused"),
    [
        (0, [], True),
        (1, [], False),
        (1, [job("a", OLD, is_placed=True)], True),
        (1, [job("a", YOUNG, is_placed=True)], True),
        (1, [job("a", OLD)], True),
        (1, [job("a", YOUNG)], False),
        (1, [job("a", OLD, refused=WAITS)], True),
        (1, [job("a", YOUNG, refused=WAITS)], False),
        (1, [job("a", OLD, refused=conditions.APPDEF_INVALID)], False),
        (1, [job("a", OLD, is_placed=True, refused=conditions.APPDEF_INVALID)], True),
        (1, [job("a", OLD, is_placed=True, namespace="team-b")], False),
        (1, [job("a", OLD, is_placed=True, className="gold")], False),
    ],
)
def test_a_job_waits_for_those_that_came_first(limit: int, others: list[Object], is_refused: bool) -> None:
    found = find_refusal(limit, job("m", MIDDLE), *others)
    assert bool(found) is is_refused


@pytest.mark.parametrize(
    ("limit", "others", "said"),
    [
        (0, 0, "class 'default' allows no jobs: its `maxJobsPerNamespace` is 0. Create the job with another class"),
        (0, 1, "class 'default' allows no jobs: its `maxJobsPerNamespace` is 0. Create the job with another class"),
        (1, 1, "has 1 job of class 'default', which allows 1 in a namespace; this one waits until it is deleted"),
        (2, 2, "has 2 jobs of class 'default', which allows 2 in a namespace; this one waits until one of them is deleted"),
        (1, 3, "has 3 jobs of class 'default', which allows 1 in a namespace; this one waits until 3 of them are deleted"),
    ],
)
def test_a_job_that_waits_is_told_for_what(limit: int, others: int, said: str) -> None:
    found = find_refusal(limit, job("m", MIDDLE), *(job(f"o{number}", OLD) for number in range(others)))
    where = "namespace 'team-a' " if limit else ""
    assert found == f"TooManyJobs None: {where}{said}"


@pytest.mark.parametrize("refused", ["", WAITS])
def test_of_jobs_of_the_same_second_as_many_as_the_limit_get_in(refused: str) -> None:
    jobs = [job(uid, OLD, refused=refused) for uid in "cab"]
    admitted = [
        mine["metadata"]["uid"] for mine in jobs if find_refusal(2, *sorted(jobs, key=lambda item: item is not mine)) is None
    ]
    assert sorted(admitted) == ["a", "b"]


def test_a_lowered_limit_sends_nobody_away() -> None:
    placed = [job(uid, OLD, is_placed=True) for uid in "abc"]
    assert find_refusal(1, placed[0], *placed[1:]) is None


def test_a_place_that_was_just_given_is_taken_before_the_status_says_so() -> None:
    """The older one was seen later: it was refused for another reason, or both are of the same second."""
    town = Town(job("y", YOUNG), job("o", OLD, refused=conditions.APPDEF_INVALID), maxJobsPerNamespace=1)
    assert town.ask("y") is None
    town.put(job("o", OLD))
    for _ in range(2):
        refused = town.ask("o")
        assert refused is not None
        assert "has 1 job of class" in refused.message
    assert town.ask("y") is None


def test_a_job_that_is_refused_after_all_gives_its_place_back() -> None:
    town = Town(job("y", YOUNG), maxJobsPerNamespace=1)
    assert town.ask("y") is None
    town.put(job("o", OLD))
    town.queues.give_back("y")
    assert town.ask("o") is None
    assert town.ask("y") is not None
    town.queues.give_back("never given")


def test_a_place_goes_with_its_job_and_only_counts_in_its_own_namespace() -> None:
    town = Town(job("a", OLD), job("b", OLD, namespace="team-b"), maxJobsPerNamespace=1)
    assert town.ask("a") is None
    assert town.ask("b", "team-b") is None
    town.drop("a")
    town.put(job("c", MIDDLE))
    assert town.ask("c") is None


def test_the_next_ones_are_woken_as_soon_as_a_job_is_deleted_or_the_limit_is_raised() -> None:
    town = Town(job("a", OLD, is_placed=True), job("b", MIDDLE), job("c", YOUNG), maxJobsPerNamespace=1)
    for uid in "bc":
        assert town.run(uid) is not None
    town.queues.flush()
    town.woken.clear()
    town.drop("a")
    town.queues.flush()
    assert {"b", "c"} == set(town.woken), "one may start, the other is told that fewer are before it"
    town.pass_all()
    assert town.running() == ["b"]
    town.set_class(maxJobsPerNamespace=2)
    town.queues.flush()
    town.pass_all()
    assert town.running() == ["b", "c"]


def test_a_lowered_limit_tells_those_that_were_let_in_but_do_not_run_yet() -> None:
    town = Town(job("a"), job("b", MIDDLE), maxJobsPerNamespace=2, queue={"maxRunningJobs": 0})
    for uid in "ab":
        refused = town.run(uid)
        assert refused is not None
        assert refused.reason == conditions.QUEUED
    town.set_class(maxJobsPerNamespace=1, queue={"maxRunningJobs": 0})
    town.woken.clear()
    town.queues.flush()
    assert "b" in town.woken
    refused = town.run("b")
    assert refused is not None
    assert refused.reason == conditions.TOO_MANY_JOBS


def test_a_job_far_behind_is_told_no_number_that_would_change_all_the_time() -> None:
    others = [job(f"j{number:02}", OLD, is_placed=True) for number in range(13)]
    found = find_refusal(3, job("m", MIDDLE), *others)
    assert found is not None
    assert found.endswith(
        "has more than 12 jobs of class 'default', which allows 3 in a namespace; this one waits until more than 10 of them are "
        "deleted"
    )
