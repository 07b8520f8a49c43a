"""Who starts, who waits and what he is told of it; whatever happens, no limit is exceeded and nobody is passed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestor.api import conditions
from tests.unit.operator.builders import Object
from tests.unit.operator.guests.queue.world import MIDDLE, OLD, YOUNG, Town, deleted, end, job

ELSEWHERE = "kueue.x-k8s.io/multikueue"


@pytest.mark.parametrize(
    ("others", "is_crowded"),
    [
        ([job("a"), job("b")], True),
        ([job("a"), job("b", namespace="team-b")], False),
        ([job("a"), job("b", YOUNG)], False),
        ([job("a"), job("b", YOUNG, is_placed=True)], True),
        ([end(job("a", is_placed=True)), job("b", suspend=True)], True),
        ([job("a", managedBy=ELSEWHERE), job("b", managedBy=ELSEWHERE)], False),
    ],
)
def test_a_namespace_has_room_for_who_was_admitted_and_then_for_who_came_first(others: list[Object], is_crowded: bool) -> None:
    town = Town(*others, job("m", MIDDLE), maxJobsPerNamespace=2)
    assert say(town.ask("m")).partition(":")[0] == ("TooManyJobs" if is_crowded else "starts")


ONE: Object = {"maxJobs": 1}
MACHINES = [{"name": "small", "quota": {"requests.cpu": "2"}}, {"name": "big", "quota": {"requests.cpu": 6}}, {"name": "free"}]
SIZED: Object = {"placement": {"machines": MACHINES}, "queue": {"quota": {"requests.cpu": "8"}}}


def say(refused: Any) -> str:
    return f"{refused.reason}: {refused.message}" if refused else "starts"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (job("a", is_placed=True), "Queued: next in the queue of class 'default'; jobs running: 1 of 1"),
        (job("a"), "Queued: next in the queue of class 'default'; jobs running: 1 of 1"),
        (job("a", YOUNG), "starts"),
        (job("a", YOUNG, is_placed=True), "Queued: next in the queue of class 'default'; jobs running: 1 of 1"),
        (job("a", is_placed=True, refused=conditions.APPDEF_INVALID),
         "Queued: next in the queue of class 'default'; jobs running: 1 of 1"),
        (job("a", refused=conditions.APPDEF_INVALID), "starts"),
        (job("a", suspend=True), "starts"),
        (deleted(job("a")), "starts"),
        (job("a", className="gold"), "starts"),
        (job("a", managedBy=ELSEWHERE), "starts"),
        (job("a", managedBy="nestor.dev/operator"), "Queued: next in the queue of class 'default'; jobs running: 1 of 1"),
        (end(job("a", is_placed=True)), "starts"),
        (end(job("a", is_placed=True), conditions.DEADLINE_EXCEEDED), "starts"),
        (end(job("a", is_placed=True), conditions.STEP_FAILED),
         "Queued: next in the queue of class 'default'; jobs running: 1 of 1"),
        (end(job("a", is_placed=True), conditions.STEP_FAILED, suspendTime=YOUNG), "starts"),
    ],
)  # fmt: skip
def test_whoever_runs_or_came_first_has_the_place(other: Object, said: str) -> None:
    town = Town(other, job("m", MIDDLE), queue=ONE)
    town.classes["gold"] = town.classes["default"]
    assert say(town.ask("m")) == said


@pytest.mark.parametrize(
    "change",
    [
        lambda town: town.drop("a"),
        lambda town: town.put(end(town.jobs["team-a", "a"])),
        lambda town: town.put(job("a", suspend=True) | {"status": {"timings": {"admitted": OLD}, "suspendTime": YOUNG}}),
        lambda town: town.set_class(queue={"maxJobs": 2}),
        lambda town: town.set_class(),
    ],
)
def test_whatever_makes_room_wakes_the_next(change: Any) -> None:
    town = Town(job("a", is_placed=True), job("b", MIDDLE), queue=ONE)
    assert town.run("b") is not None
    town.queues.flush()
    town.woken.clear()
    change(town)
    town.queues.flush()
    assert town.woken == ["b"]
    assert town.run("b") is None


@pytest.mark.parametrize("queue", [{}, ONE])
def test_a_job_that_takes_its_place_and_is_refused_for_another_reason_does_not_wake_itself(queue: Object) -> None:
    town = Town(job("a", refused=conditions.APPDEF_INVALID), queue=queue)
    for _ in range(3):
        assert town.ask("a") is None
        town.queues.give_back("a")
        town.queues.flush()
    assert town.woken == []


def test_a_job_that_is_resumed_or_runs_again_comes_anew() -> None:
    """Nobody keeps a place in the line by jobs that he creates suspended."""
    rested = job("a", OLD, is_placed=True)
    rested["status"]["suspendTime"] = OLD
    again = end(job("b", OLD, is_placed=True))
    again["metadata"]["annotations"] = {"nestor.dev/rerun": "2"}
    town = Town(rested, again, job("r", OLD, is_placed=True), job("c", YOUNG), queue=ONE)
    refusals = {uid: town.run(uid) for uid in "cab"}
    assert [(refused.queue or {})["position"] for refused in refusals.values() if refused] == [1, 2, 3]
    town.drop("r")
    town.queues.flush()
    town.woken.clear()
    assert town.ask("c") is None


def test_a_resumed_job_keeps_its_place_in_the_line_across_operators() -> None:
    rested = job("a", OLD, is_placed=True)
    rested["status"] |= {"suspendTime": OLD, "queue": {"since": MIDDLE, "position": 1}}
    town = Town(rested, job("r", OLD, is_placed=True), job("c", YOUNG), queue=ONE)
    refused = town.ask("a")
    assert refused is not None
    assert refused.queue == {"since": MIDDLE, "position": 1}


UNBOUNDED = (
    "QueueUnbounded: class 'default' limits `requests.cpu` of all its jobs, but a job on machine 'free' has no quota for it, so "
    "it is not known how much it would use"
)
TOO_BIG = "Queued: next in the queue of class 'default'; it needs 6 of `requests.cpu`, 2 available"


@pytest.mark.parametrize(
    ("machine", "status", "wanted", "said"),
    [
        ("big", {}, "small", "starts"),
        ("big", {}, "big", TOO_BIG),
        ("big", {}, "free", UNBOUNDED),
        # Another machine counts only from the next start on; and one that it was given counts.
        ("big", {"reserved": {"requests.cpu": "2"}}, "big", "starts"),
        (None, {"machine": "big"}, "big", TOO_BIG),
    ],
)
def test_a_job_counts_with_the_quota_of_its_machine(machine: str | None, status: Object, wanted: str, said: str) -> None:
    runs = job("a", is_placed=True, machine=machine)
    town = Town(runs | {"status": runs["status"] | status}, job("m", MIDDLE, machine=wanted), **SIZED)
    assert say(town.ask("m")) == said


def test_a_job_that_could_never_start_holds_nobody_up() -> None:
    town = Town(job("a", machine="big"), job("m", MIDDLE, machine="small"), **SIZED | {"queue": {"quota": {"requests.cpu": 5}}})
    assert town.ask("m") is None
    assert say(town.ask("a")) == (
        "TooLarge: a job on machine 'big' may use 6 of `requests.cpu`; all jobs of class 'default' together, 5"
    )


def test_a_default_quota_counts() -> None:
    town = Town(job("a", is_placed=True), job("b", MIDDLE), queue={"quota": {"pods": 150}})
    assert say(town.ask("b")).endswith("it needs 100 of `pods`, 50 available")


def test_a_job_that_is_refused_after_all_lets_the_next_one_in() -> None:
    town = Town(job("a"), job("b", MIDDLE), queue=ONE)
    assert town.run("b") is not None
    assert town.ask("a") is None
    town.woken.clear()
    town.put(job("a", refused=conditions.APPDEF_INVALID))
    town.queues.give_back("a")
    assert town.woken == ["b"]
    assert town.run("b") is None
    assert town.ask("a") is not None, "it is looked at again"


def test_an_operator_that_starts_lets_nobody_in_before_it_knows_who_runs() -> None:
    town = Town(job("w", OLD), job("r", YOUNG, is_placed=True), queue=ONE)
    town.restart()
    assert town.ask("w") is not None


def test_a_lowered_limit_stops_nobody() -> None:
    town = Town(job("a", is_placed=True), job("b", is_placed=True), queue={"maxJobs": 0})
    assert town.ask("a") is None
    town.put(job("m"))
    assert say(town.ask("m")) == "Queued: next in the queue of class 'default'; jobs running: 2 of 0"


steps = st.lists(
    st.tuples(
        st.sampled_from(["come", "go", "end", "suspend", "resume", "restart", "ask", "rest"]),
        st.integers(0, 5),
        st.integers(0, 2),
    ),
    max_size=40,
)


@given(steps, st.integers(0, 2))
def test_whatever_happens_no_limit_is_exceeded_and_no_room_is_left_empty(found: list[tuple[str, int, int]], most: int) -> None:
    """Jobs come, go, end, are suspended and resumed, their pods go later, and the operator is replaced, in any order."""
    town = Town(placement={"machines": MACHINES}, queue={"maxJobs": 1 + most, "quota": {"requests.cpu": 8}})
    for what, number, size in found:
        uid = f"j{number}"
        known = town.jobs.get(("team-a", uid))
        if what == "come" and known is None:
            town.put(job(uid, f"2026-01-01T00:00:0{number}Z", machine=["small", "big", "small"][size]))
        elif what == "go" and known is not None:
            town.busy.discard(uid)
            town.drop(uid)
        elif what == "rest" and known is not None and uid not in running_now(town):
            town.see(uid, is_busy=False)
        elif what == "end" and known is not None and uid in running_now(town):
            town.put(end(known))
        elif what in ("suspend", "resume") and known is not None:
            status = known["status"] | ({"suspendTime": YOUNG} if what == "suspend" and uid in running_now(town) else {})
            town.put(known | {"spec": known["spec"] | {"suspend": what == "suspend"}, "status": status})
        elif what == "restart":
            town.restart()
        check(town, 1 + most)


def running_now(town: Town) -> list[str]:
    """Those that were admitted, and have neither ended nor been suspended."""
    over = ("completionTime", "suspendTime")
    return [uid for uid in town.running() if not any(town.jobs["team-a", uid]["status"].get(key) for key in over)]


def check(town: Town, most: int) -> None:
    """Passes over all jobs, as after any change; then what holds."""
    for _, name in list(town.jobs):
        item = town.jobs["team-a", name]
        if not item["spec"].get("suspend") and not item["status"].get("completionTime"):
            town.run(name)
    town.pass_all()
    sizes = {"small": 2, "big": 6}
    town.busy.update(running_now(town))
    running = sorted(town.busy)
    used = sum(sizes[town.jobs["team-a", uid]["spec"]["machine"]] for uid in running)
    assert len(running) <= most
    assert used <= 8
    asking = [item for item in town.jobs.values() if not item["spec"].get("suspend")]
    waiting = {(item["status"].get("queue") or {}).get("position"): item for item in asking}
    assert sorted(filter(None, waiting)) == list(range(1, len([place for place in waiting if place]) + 1)), "nobody is passed"
    for item in [waiting[1]] if 1 in waiting else []:
        assert len(running) == most or used + sizes[item["spec"]["machine"]] > 8


def test_jobs_that_name_no_class_wait_in_the_default_ones_line_and_follow_it_until_they_have_one() -> None:
    town = Town(job("a", is_placed=True), job("m", MIDDLE, className=None), queue=ONE)
    town.classes["gold"] = town.classes["default"]
    assert say(town.run("m")).startswith("Queued: next in the queue of class 'default'")
    town.woken.clear()
    town.default = "gold"
    town.queues.note_class("gold")
    town.queues.flush()
    assert town.woken == ["m"]
    assert say(town.run("m")) == "starts"
    town.put(town.jobs["team-a", "m"] | {"status": town.jobs["team-a", "m"]["status"] | {"className": "gold"}})
    town.default = "default"
    town.queues.note_class("default")
    town.put(job("n", YOUNG, className="gold"))
    assert say(town.ask("n")).startswith("Queued: next in the queue of class 'gold'")


def test_a_class_that_is_made_anew_lets_no_more_into_a_namespace() -> None:
    town = Town(job("a", is_placed=True), job("b", MIDDLE), maxJobsPerNamespace=1)
    spec = town.classes.pop("default")
    town.queues.note_class("default")
    town.queues.flush()
    town.classes["default"] = spec
    town.queues.note_class("default")
    assert say(town.run("b")).startswith("TooManyJobs: ")


def test_a_job_takes_no_place_along_to_another_class() -> None:
    town = Town(job("a", className="free"), job("r", is_placed=True), queue=ONE)
    town.classes["free"] = Town().classes["default"]
    assert town.ask("a") is None
    town.put(job("a"))
    assert say(town.ask("a")).startswith("Queued: ")


def read(of: Object, reason: str, **status: Any) -> Object:
    """The job while its AppDef is being read."""
    return of | {"status": {"conditions": [{"type": conditions.ADMITTED, "status": "Unknown", "reason": reason}]} | status}


def test_a_job_that_cannot_be_read_holds_nobody_up_and_comes_anew() -> None:
    town = Town(job("a", OLD), job("b", MIDDLE), job("c", YOUNG), queue=ONE)
    assert town.ask("a") is None
    assert town.queues._has_place("a")
    town.put(read(job("a", OLD), conditions.IMAGE_PULL_FAILED))
    assert town.run("b") is not None, "for a while, it keeps its place"
    town.queues.give_back("a", is_reading=True)
    assert not town.queues._has_place("a")
    assert town.run("b") is None
    assert town.run("c") is not None
    found = town.run("a")
    assert found is not None
    assert found.queue is not None
    assert found.queue["position"] == 2, "it could have been read at last, and comes after all that wait"
    town.drop("b")
    assert town.run("c") is None


def test_a_job_that_cannot_be_read_stays_one_of_its_namespaces() -> None:
    town = Town(job("a", OLD), job("b", MIDDLE), queue=ONE, maxJobsPerNamespace=1)
    assert town.ask("a") is None
    town.queues.give_back("a", is_reading=True)
    assert say(town.ask("b")).startswith("TooManyJobs: ")


@pytest.mark.parametrize(
    ("waits", "is_first"),
    [
        (read(job("a", OLD), conditions.READING_APPDEF, queue={"since": OLD}), True),
        (read(job("a", OLD), conditions.READING_APPDEF), False),
        (read(job("a", OLD), conditions.IMAGE_PULL_FAILED), False),
    ],
)
def test_another_operator_knows_who_is_being_read(waits: Object, is_first: bool) -> None:
    """Who had a place has it again, and who had given it back has none."""
    town = Town(waits, job("b", MIDDLE), queue=ONE)
    assert (town.ask("b") is not None) == is_first


@pytest.mark.parametrize(
    "stale",
    [
        job("a", OLD, refused=conditions.MACHINE_NOT_FOUND),
        read(job("a", OLD), conditions.SUSPENDED),
        read(job("a", OLD), conditions.IMAGE_PULL_FAILED),
    ],
)
def test_a_job_that_could_not_start_comes_when_it_can(stale: Object) -> None:
    """Nobody keeps a place by jobs with a fault that he mends when he needs them."""
    town = Town(job("r", is_placed=True), job("b", MIDDLE), stale, queue=ONE)
    assert town.run("b") is not None
    found = town.run("a")
    assert found is not None
    assert found.queue is not None
    assert found.queue["position"] == 2
    town.restart()
    for item in town:
        town.queues.note(item)
    assert [(refused.queue or {})["position"] for uid in "ba" if (refused := town.run(uid))] == [1, 2]


def test_who_is_not_next_is_told_what_he_needs_and_far_behind_no_place() -> None:
    jobs = [job(f"j{number:03}", f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z", machine="big") for number in range(101)]
    town = Town(job("r", is_placed=True, machine="big"), *jobs, **SIZED, maxJobsPerNamespace=200)
    said = [say(town.run(f"j{number:03}")) for number in range(101)]
    where = "in the queue of class 'default'; it needs 6 of `requests.cpu`"
    assert said[0] == f"Queued: next {where}, 2 available"
    assert said[1] == f"Queued: number 2 {where}"
    assert said[99] == f"Queued: number 100 {where}"
    assert said[100] == f"Queued: behind more than 99 jobs {where}"
