"""What an answer about a pod makes of its status: only what is allowed, and nothing that a backend cannot know better."""

import datetime
from typing import Any

import pytest

from nestor.api import times
from nestor.api.objects import Object
from nestor.overflow.interlink.statuses import Endings, build_status
from nestor.overflow.interlink.wire import PodAnswer

NOW = times.read("2026-01-01T12:00:00Z")
WAITING: Object = {"waiting": {"reason": "Queued"}}
RUNNING: Object = {"running": {"startedAt": "2026-01-01T11:00:00Z"}}


def done(code: int) -> Object:
    return {"terminated": {"exitCode": code, "startedAt": "2026-01-01T11:00:00Z", "finishedAt": "2026-01-01T11:30:00Z"}}


def build_pod(policy: str = "Never", main: int = 1, init: int = 0, **status: Any) -> Object:
    spec: Object = {"restartPolicy": policy, "containers": [{"name": f"c{index}", "image": "x"} for index in range(main)]}
    if init:
        spec["initContainers"] = [{"name": f"i{index}", "image": "x"} for index in range(init)]
    meta = {"name": "web", "namespace": "shop", "uid": "u", "creationTimestamp": "2026-01-01T10:00:00Z"}
    return {"metadata": meta, "spec": spec, "status": status}


def answer(main: list[Any], init: list[Any] | None = None, **fields: Any) -> PodAnswer:
    """An answer with these states, of containers c0, c1, … and init containers i0, i1, …"""
    return PodAnswer(
        uid="u",
        containers=[{"name": f"c{index}", "state": state, "ready": True} | fields for index, state in enumerate(main)],
        init_containers=[{"name": f"i{index}", "state": state} for index, state in enumerate(init or [])],
    )


@pytest.mark.parametrize(
    ("policy", "init", "main", "restarts", "phase"),
    [
        ("Never", [], [RUNNING], False, "Running"),
        ("Never", [], [done(0), done(1)], False, "Failed"),
        ("Never", [done(0)], [WAITING], False, "Pending"),
        # A backend that runs containers once has run them, whatever the policy says.
        ("Always", [], [done(0)], False, "Succeeded"),
        ("OnFailure", [], [done(1)], False, "Failed"),
        # One that restarts them has not.
        ("Always", [], [done(0)], True, "Running"),
        ("OnFailure", [], [done(1)], True, "Running"),
        ("OnFailure", [], [done(0)], True, "Succeeded"),
        ("OnFailure", [done(1)], [WAITING], True, "Pending"),
        ("Never", [], [done(1)], True, "Failed"),
        ("Never", [], [{}], False, "Pending"),
    ],
)
def test_phase_follows_from_the_containers(
    policy: str, init: list[Object], main: list[Object], restarts: bool, phase: str
) -> None:
    pod = build_pod(policy, len(main), len(init))
    assert build_status(pod, answer(main, init), NOW, restarts=restarts)["phase"] == phase


@pytest.mark.parametrize(
    ("main", "phase"), [([WAITING], "Pending"), ([RUNNING], "Running"), ([done(0)], "Succeeded"), ([done(92)], "Failed")]
)
def test_init_containers_that_a_plugin_never_tells_have_ended_once_another_began(main: list[Object], phase: str) -> None:
    pod = build_pod(main=1, init=2)
    status = build_status(pod, answer(main), NOW)
    assert status["phase"] == phase
    codes = [item["state"].get("terminated", {}).get("exitCode") for item in status["initContainerStatuses"]]
    assert codes == ([None, None] if phase == "Pending" else [0, 0])
    assert build_status(pod | {"status": status}, answer(main), NOW) == status


@pytest.mark.parametrize(
    "status",
    [
        {"name": "c0", "state": {"terminated": {"exitCode": 2**40}}},
        {"name": "c0", "state": {"terminated": {"exitCode": "one"}}},
        {"name": "c0", "state": "Running"},
        {"name": "c0", "state": RUNNING, "restartCount": -1},
        {"name": "c0", "state": RUNNING, "ready": {"a": 1}},
        {"name": ["c0"], "state": RUNNING},
        {"state": RUNNING},
        {"name": "c0", "state": {}},
        {"name": "c0"},
    ],
)
def test_malformed_statuses_leave_the_last_known_one(status: Object) -> None:
    pod = build_pod()
    pod["status"] = build_status(pod, answer([RUNNING]), NOW)
    assert build_status(pod, PodAnswer(uid="u", containers=[status]), NOW) == pod["status"]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("2026-01-01T11:00:00Z", "2026-01-01T11:00:00Z"),
        ("2026-01-01T12:00:00+01:00", "2026-01-01T11:00:00Z"),
        ("2026-01-01T11:00:00.123456789Z", "2026-01-01T11:00:00Z"),
        ("2031-01-01T11:00:00Z", "2026-01-01T12:00:00Z"),  # the backend's clock is ahead
        ("2001-01-01T11:00:00Z", "2026-01-01T10:00:00Z"),  # or behind
        ("0001-01-01T00:00:00+14:00", "2026-01-01T12:00:00Z"),
        ("yesterday", "2026-01-01T12:00:00Z"),
        (None, "2026-01-01T12:00:00Z"),
    ],
)
def test_times_of_a_skewed_clock_are_moved_to_where_they_can_be(told: str | None, expected: str) -> None:
    pod, said = build_pod(), answer([{"running": {"startedAt": told}}])
    status = build_status(pod, said, NOW)
    assert status["containerStatuses"][0]["state"] == {"running": {"startedAt": expected}}
    # What does not change stays as it was.
    assert build_status(pod | {"status": status}, said, NOW + datetime.timedelta(minutes=5)) == status


def test_a_container_never_ends_before_it_has_started() -> None:
    state = {"terminated": {"exitCode": 0, "startedAt": "2026-01-01T11:00:00Z", "finishedAt": "2026-01-01T10:30:00Z"}}
    ended = build_status(build_pod(), answer([state]), NOW)["containerStatuses"][0]["state"]["terminated"]
    assert ended["startedAt"] == ended["finishedAt"] == "2026-01-01T11:00:00Z"


@pytest.mark.parametrize(
    ("policy", "old", "new", "restart", "kept"),
    [
        ("Never", done(0), RUNNING, {}, True),
        ("Never", done(1), RUNNING, {"restartCount": 1}, True),
        ("OnFailure", done(0), RUNNING, {"restartCount": 1}, True),
        ("OnFailure", done(1), RUNNING, {"restartCount": 1}, False),
        ("OnFailure", done(1), WAITING, {"restartCount": 1}, False),
        ("OnFailure", done(1), RUNNING, {"containerID": "docker://2"}, False),
        ("OnFailure", done(1), RUNNING, {}, True),
        ("Always", done(0), RUNNING, {"restartCount": 1}, False),
        ("Always", done(0), RUNNING, {}, True),
        ("Never", RUNNING, WAITING, {}, True),  # the backend has forgotten
        ("Never", RUNNING, {}, {}, True),
        ("Never", RUNNING, done(0), {}, False),
        ("Never", WAITING, RUNNING, {}, False),
    ],
)
def test_a_state_is_not_taken_back(policy: str, old: Object, new: Object, restart: Object, kept: bool) -> None:
    pod = build_pod(policy, main=2)
    pod["status"] = build_status(pod, answer([old, RUNNING], containerID="docker://1"), NOW, restarts=True)
    before = pod["status"]["containerStatuses"][0]
    fields: Object = {"containerID": "docker://1"} | restart
    told = answer([new, RUNNING], **fields)
    now = build_status(pod, told, NOW, restarts=True)["containerStatuses"][0]
    assert (now["state"] == before["state"]) is kept


@pytest.mark.parametrize(
    ("policy", "code", "phases"),
    [
        ("Never", 1, ["Failed"]),
        ("OnFailure", 0, ["Succeeded"]),
        ("OnFailure", 1, ["Running", "Running", "Failed"]),
        ("Always", 0, ["Running", "Running", "Succeeded"]),
        ("Always", 1, ["Running", "Running", "Failed"]),
    ],
)
def test_a_pod_ends_once_its_backend_had_time_to_restart_it(policy: str, code: int, phases: list[str]) -> None:
    pod, endings = build_pod(policy), Endings(30)
    found = [endings.build(pod, answer([done(code)]), NOW, at)["phase"] for at in (100.0, 129.0, 130.0)[: len(phases)]]
    assert found == phases


def test_each_run_of_a_container_may_be_followed_by_another_one() -> None:
    pod, endings = build_pod("OnFailure"), Endings(30)
    told = [(answer([done(1)], restartCount=count), 20.0 * count) for count in range(10)]
    assert {endings.build(pod, item, NOW, at)["phase"] for item, at in told} == {"Running"}
    assert endings.build(pod, answer([RUNNING], restartCount=10), NOW, 500)["phase"] == "Running"
    assert endings.build(pod, answer([done(1)], restartCount=10), NOW, 501)["phase"] == "Running"
    endings.forget("u")
    assert endings.build(pod, answer([done(1)], restartCount=10), NOW, 999)["phase"] == "Running"
    assert endings.build(pod, answer([done(1)], restartCount=10), NOW, 1029)["phase"] == "Failed"


def test_a_backend_that_counts_restarts_anew_does_not_lower_their_number() -> None:
    pod = build_pod("Always")
    pod["status"] = build_status(pod, answer([RUNNING], restartCount=3), NOW, restarts=True)
    status = build_status(pod, answer([RUNNING], restartCount=0), NOW, restarts=True)
    assert status["containerStatuses"][0]["restartCount"] == 3
