"""First come, first served; who runs is never sent away."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api import conditions
from nestor.operator.admission.identity import JobIdentity, Refused, identify
from nestor.operator.admission.room import Places, check_room
from tests.unit.operator.builders import build_job, build_policy

Object = dict[str, Any]
OLD, MIDDLE, YOUNG = (f"2026-01-0{day}T00:00:00Z" for day in (1, 2, 3))
WAITS = conditions.TOO_MANY_JOBS


def job(uid: str, created: str, *, is_placed: bool = False, refused: str = "", **spec: Any) -> Object:
    """A job of the namespace, as another pass has left it."""
    made = build_job(uid, spec.pop("namespace", "team-a"), **spec)
    made["metadata"] |= {"uid": uid, "creationTimestamp": created}
    status: Object = {"timings": {"admitted": created}} if is_placed else {}
    if refused:
        status["conditions"] = [{"type": conditions.ADMITTED, "status": "False", "reason": refused}]
    return made | {"status": status}


def find_refusal(limit: int | None, mine: Object, *others: Object) -> str | None:
    """Why there is no room."""
    known = identify(mine, {"default": build_policy(maxJobsPerNamespace=limit)})
    try:
        check_room(known, [mine, *others])
    except Refused as refused:
        return f"{refused.reason} {refused.retry_seconds}: {refused.message}"
    return None


@pytest.mark.parametrize(
    ("limit", "others", "is_refused"),
    [
        (None, [job("a", OLD, is_placed=True)], False),
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
        (2, [job("a", OLD, is_placed=True)], False),
        (1, [job("a", OLD, is_placed=True, namespace="team-b")], False),
        (1, [job("a", OLD, is_placed=True, className="gold")], False),
    ],
)
def test_a_job_waits_for_those_that_came_first(limit: int | None, others: list[Object], is_refused: bool) -> None:
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
    assert found == f"TooManyJobs 10.0: {where}{said}"


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


def known(of: Object, limit: int | None = 1) -> JobIdentity:
    """A job with its class."""
    return identify(of, {"default": build_policy(maxJobsPerNamespace=limit)})


def test_a_place_that_was_just_given_is_taken_before_the_status_says_so() -> None:
    """The older one was seen later: it was refused for another reason, or both are of the same second."""
    places, young, old = Places(), job("y", YOUNG), job("o", OLD)
    places.take(known(young), [young, old | {"status": job("o", OLD, refused=conditions.APPDEF_INVALID)["status"]}])
    for _ in range(2):
        with pytest.raises(Refused, match="has 1 job of class"):
            places.take(known(old), [young, old])
    places.take(known(young), [young, old])


def test_a_job_that_is_refused_after_all_gives_its_place_back() -> None:
    places, young, old = Places(), job("y", YOUNG), job("o", OLD)
    places.take(known(young), [young])
    places.give_back("y")
    places.take(known(old), [young, old])
    with pytest.raises(Refused):
        places.take(known(young), [young, old])
    places.give_back("never given")


def test_a_place_goes_with_its_job_and_only_counts_in_its_own_namespace() -> None:
    places, first = Places(), job("a", OLD)
    other = job("b", OLD, namespace="team-b")
    places.take(known(first), [first, other])
    places.take(known(other), [first, other])
    later = job("c", MIDDLE)
    places.take(known(later), [other, later])
