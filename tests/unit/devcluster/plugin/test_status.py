"""What is answered about pods."""

from __future__ import annotations

import pytest

from devcluster.plugin import status
from devcluster.plugin.record import Container, Pod, Run
from nestor.api.objects import Object
from tests.unit.devcluster.plugin.pods import IMAGE, ended, known, pod, running


def first(record: Pod) -> Object:
    """The answer about the first container."""
    answer = status.build(record)
    found: Object = [*answer["initContainers"], *answer["containers"]][0]
    return found


def test_a_pod_is_named_and_its_containers_are_apart() -> None:
    record = known(ended("before", is_init=True), running("main"), initContainers=[{"name": "before", "image": IMAGE}])
    answer = status.build(record)
    assert {key: answer[key] for key in ("name", "namespace", "UID", "JID")} == {
        "name": "one",
        "namespace": "team",
        "UID": "uid-1",
        "JID": "job-1",
    }
    assert [item["name"] for item in answer["initContainers"]] == ["before"]
    assert [item["name"] for item in answer["containers"]] == ["main"]


def test_a_running_container() -> None:
    found = first(known(running("main", image_id="busybox@sha256:1", restarts=2)))
    assert found["state"] == {"running": {"startedAt": "2026-01-01T10:00:00Z"}}
    assert (found["ready"], found["started"], found["restartCount"]) == (True, True, 2)
    assert (found["containerID"], found["imageID"], found["image"]) == ("containerd://id-1", "busybox@sha256:1", IMAGE)


def test_one_that_has_ended() -> None:
    found = first(known(ended("main", 3)))
    terminated = found["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"], terminated["finishedAt"]) == (3, "Error", "2026-01-01T10:00:01Z")
    assert (found["ready"], found["lastState"]) == (False, {})


def test_by_a_clock_that_is_wrong() -> None:
    (found,) = status.build(known(ended("main")), -3600)["containers"]
    terminated = found["state"]["terminated"]
    assert (terminated["startedAt"], terminated["finishedAt"]) == ("2026-01-01T09:00:00Z", "2026-01-01T09:00:01Z")


def test_one_that_is_started_again() -> None:
    container = ended("main", 1)
    container.waiting = "CrashLoopBackOff"
    found = first(known(container))
    assert found["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert found["lastState"]["terminated"]["exitCode"] == 1
    container.begin(Run("id-2", 8, started="2026-01-01T10:00:05Z"))
    found = first(known(container))
    assert found["state"] == {"running": {"startedAt": "2026-01-01T10:00:05Z"}}
    assert (found["lastState"]["terminated"]["exitCode"], found["restartCount"]) == (1, 1)


def test_a_pod_without_room_is_queued() -> None:
    record = known(Container("main"))
    record.is_admitted = False
    assert first(record)["state"]["waiting"]["reason"] == "Queued"


@pytest.mark.parametrize(("init", "reason"), [(running("init", is_init=True), "PodInitializing"), (None, "ContainerCreating")])
def test_what_a_container_waits_for(init: Container | None, reason: str) -> None:
    containers = [init, Container("main")] if init else [Container("main")]
    answer = status.build(known(*containers, initContainers=[{"name": "init", "image": IMAGE}]))
    assert answer["containers"][0]["state"]["waiting"]["reason"] == reason


def test_a_container_that_is_being_started_does_not_run_yet() -> None:
    found = first(known(Container("main", runs=[Run("id-1")])))
    assert found["state"]["waiting"]["reason"] == "ContainerCreating"
    assert not found["ready"]


def test_what_cannot_be_run_says_why() -> None:
    record = known(Container("main"))
    record.failure = "no network"
    assert first(record)["state"]["waiting"] == {"reason": "Failed", "message": "no network"}


def test_an_init_container_is_ready_once_it_has_succeeded() -> None:
    assert first(known(ended("main", is_init=True)))["ready"]
    assert not first(known(running("main", is_init=True)))["ready"]


FINAL = [
    ("Never", [1], True),
    ("Never", [0, None], False),
    ("OnFailure", [0, 0], True),
    ("OnFailure", [0, 1], False),
    ("Always", [0], False),
    ("Never", [], False),
]


@pytest.mark.parametrize(("policy", "codes", "is_final"), FINAL)
def test_which_answers_will_never_change(policy: str, codes: list[int | None], is_final: bool) -> None:
    states: list[Object] = [{"running": {}} if code is None else {"terminated": {"exitCode": code}} for code in codes]
    answer = {"containers": [{"state": state} for state in states]}
    assert status.is_final(answer, pod(restartPolicy=policy)) is is_final
