"""A job that has ended or is suspended has its place until its pods are gone."""

from typing import Any

import pytest

from nestor.api import conditions
from tests.unit.operator.builders import Object
from tests.unit.operator.guests.queue.test_queues import ONE, SIZED, say
from tests.unit.operator.guests.queue.world import MIDDLE, YOUNG, Town, deleted, end, job

ENDING = "Queued: next in the queue of class 'default'; jobs running: 0 of 1, ending: 1"
OWN = (
    "Queued: its pods from before it was stopped are still ending; when they are gone, it waits for its turn in the queue of "
    "class 'default'"
)


def suspended(of: Object, **spec: Any) -> Object:
    """The job after it was suspended."""
    return of | {"spec": of["spec"] | {"suspend": True} | spec, "status": of["status"] | {"suspendTime": YOUNG}}


RUNS = job("a", is_placed=True)


@pytest.mark.parametrize(
    "stopped",
    [
        end(RUNS),
        end(RUNS, conditions.DEADLINE_EXCEEDED),
        suspended(end(RUNS, conditions.STEP_FAILED)),
        suspended(RUNS),
        deleted(end(RUNS)),
        deleted(suspended(RUNS)),
    ],
)
def test_a_stopped_job_has_its_place_until_its_pods_are_gone(stopped: Object) -> None:
    town = Town(RUNS, job("b", MIDDLE), job("c", YOUNG), queue=ONE)
    town.busy.add("a")
    town.run("b")
    town.run("c")
    town.queues.flush()
    town.woken.clear()
    town.put(stopped)
    town.queues.flush()
    assert town.woken == ["b"], "it is told what it waits for now"
    assert say(town.run("b")) == ENDING
    town.restart()
    for item in town:
        town.queues.note(item)
    assert say(town.run("b")) == ENDING, "another operator knows it, too"
    town.queues.flush()
    town.woken.clear()
    town.see("a", is_busy=False)
    assert set(town.woken) == {"b", "c"}
    assert town.run("b") is None
    assert say(town.run("c")).endswith("; jobs running: 1 of 1")


@pytest.mark.parametrize("stopped", [end(RUNS), suspended(RUNS)])
def test_a_job_that_is_to_stay_as_it_is_waits_for_nothing_while_its_pods_end(stopped: Object) -> None:
    town = Town(stopped, queue=ONE)
    town.busy.add("a")
    assert town.ask("a") is None


def test_a_job_that_is_deleted_while_it_runs_is_ending_until_it_is_gone() -> None:
    """It goes after its namespace."""
    town = Town(deleted(RUNS), job("b", MIDDLE), queue=ONE)
    assert say(town.run("b")) == ENDING
    town.see("a", is_busy=False)
    assert say(town.run("b")) == ENDING
    town.drop("a")
    town.queues.flush()
    assert town.run("b") is None


@pytest.mark.parametrize("of", [RUNS, end(RUNS), suspended(RUNS)])
def test_a_job_that_only_somebody_elses_finalizer_holds_has_no_place_once_its_pods_are_gone(of: Object) -> None:
    """Users may write finalizers of their jobs, and would keep a class full for ever by jobs that are gone."""
    town = Town(deleted(of, "example.com/stay"), job("b", MIDDLE), queue=ONE)
    town.busy.add("a")
    town.queues.note(town.jobs["team-a", "a"])
    assert say(town.run("b")) == ENDING
    town.see("a", is_busy=False)
    assert town.run("b") is None


def test_who_runs_and_who_is_ending_are_told_apart() -> None:
    town = Town(*(job(uid, is_placed=True) for uid in "ab"), end(job("c", is_placed=True)), job("m", YOUNG), queue={"maxJobs": 3})
    town.busy.update("abc")
    assert say(town.ask("m")).endswith("; jobs running: 2 of 3, ending: 1")
    town.put(end(town.jobs["team-a", "b"]))
    assert say(town.ask("m")).endswith("; jobs running: 1 of 3, ending: 2")


def test_a_job_that_is_ending_counts_with_what_it_started_with() -> None:
    shrunk = end(job("a", is_placed=True, machine="small"), reserved={"requests.cpu": "6"})
    town = Town(shrunk, job("m", MIDDLE, machine="big"), **SIZED)
    town.busy.add("a")
    said = "Queued: next in the queue of class 'default'; it needs 6 of `requests.cpu`, 2 available; 1 job is ending"
    assert say(town.ask("m")) == said
    town.see("a", is_busy=False)
    assert say(town.ask("m")) == "starts"


@pytest.mark.parametrize("seconds", [0, 1])
def test_a_job_that_is_resumed_meanwhile_waits_for_its_own_pods_and_then_for_its_turn(seconds: int) -> None:
    """It keeps no place by it, and is no second job either: what it started with counts once."""
    town = Town(suspended(RUNS), job("b", MIDDLE), queue={"maxJobs": 1 + seconds})
    town.busy.add("a")
    if seconds:
        town.put(job("r", is_placed=True))
    assert town.run("b") is not None
    town.put(town.jobs["team-a", "a"] | {"spec": RUNS["spec"]})
    refused = town.run("a")
    assert say(refused) == OWN
    assert refused is not None
    since = (refused.queue or {})["since"]
    assert refused.queue == {"since": since}
    town.see("a", is_busy=False)
    found = town.run("a")
    assert found is not None
    assert found.queue == {"since": since, "position": 1}, "it came when it was resumed; the other one has started"
    assert town.run("b") is None


def test_a_rerun_of_a_job_that_is_ending_waits_for_its_own_pods() -> None:
    again = end(job("a", is_placed=True))
    again["metadata"]["annotations"] = {"nestor.dev/rerun": "2"}
    town = Town(again, queue=ONE)
    town.busy.add("a")
    assert say(town.run("a")) == OWN
    town.see("a", is_busy=False)
    assert town.woken == ["a"]
    assert town.ask("a") is None


def test_without_limits_nobody_waits_for_his_own_pods() -> None:
    town = Town(suspended(RUNS, suspend=False))
    town.busy.add("a")
    assert town.ask("a") is None


def test_a_job_that_was_let_in_again_is_not_taken_for_one_that_ends() -> None:
    """Its pods may come back before its status shows that it was let in, for example if that could not be written."""
    town = Town(suspended(RUNS, suspend=False), queue=ONE)
    assert town.ask("a") is None
    town.put(job("b", MIDDLE))
    town.see("a", is_busy=True)
    assert town.ask("a") is None
    assert say(town.ask("b")).endswith("; jobs running: 1 of 1")


def test_a_job_that_ends_soon_after_it_was_let_in_has_nothing_left_of_that() -> None:
    town = Town(job("a"), job("b", MIDDLE), queue=ONE)
    assert town.run("a") is None
    town.queues.flush()
    again = end(town.jobs["team-a", "a"])
    again["metadata"]["annotations"] = {"nestor.dev/rerun": "2"}
    town.put(again)
    assert town.run("b") is None
    assert say(town.run("a")).startswith("Queued: next in the queue")
