from __future__ import annotations

from typing import Any

import pytest

from devcluster.demo import story

Object = dict[str, Any]


def condition(kind: str, status: str, reason: str, message: str = "") -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def job(*conditions: Object, steps: list[Object] | None = None, **status: Any) -> Object:
    return {"metadata": {"name": "hello"}, "status": {"conditions": list(conditions), "steps": steps or [], **status}}


ADMITTED = condition("Admitted", "True", "Accepted")
CLUSTER = condition("ClusterReady", "True", "Provisioned")
APPLIED = condition("StepsApplied", "True", "AllStepsApplied")
EXPOSED = condition("Exposed", "True", "IngressReady")
READY = condition("Ready", "True", "AppReady")


def step(state: str, attempt: int = 1, most: int = 1, message: str = "") -> Object:
    return {"name": "web", "type": "kubectl", "state": state, "attempt": attempt, "maxAttempts": most, "message": message}


def test_a_jobs_way_to_its_page_is_told_once() -> None:
    told = story.Story()
    waiting = condition("Ready", "False", "Provisioning", "the nested cluster's pod is being created")
    assert told.tell({"metadata": {"name": "hello"}}) == []
    assert told.tell(job(ADMITTED, waiting)) == ["admitted", "… the nested cluster's pod is being created"]
    assert told.tell(job(ADMITTED, waiting)) == []
    running = condition("Ready", "False", "StepRunning", "step 1 of 1 'web' is running")
    now = job(ADMITTED, CLUSTER, running, steps=[step("Running")], kubernetesVersion="v1.36.3")
    assert told.tell(now) == ["cluster ready (Kubernetes v1.36.3)", "step 'web' running"]
    end = job(ADMITTED, CLUSTER, APPLIED, EXPOSED, READY, steps=[step("Succeeded")], url="http://hello/")
    assert told.tell(end) == ["step 'web' succeeded", "all steps applied", "exposed at http://hello/", "ready"]
    assert told.tell(end) == []


def test_a_job_that_is_ready_already_is_told_in_its_order() -> None:
    done = job(READY, EXPOSED, APPLIED, CLUSTER, ADMITTED, steps=[step("Succeeded")], url="http://hello/")
    assert story.Story().tell(done) == [
        "admitted", "cluster ready", "step 'web' succeeded", "all steps applied", "exposed at http://hello/", "ready",
    ]


def test_what_is_lost_and_comes_back_is_told_again() -> None:
    told = story.Story()
    told.tell(job(EXPOSED))
    told.tell(job(condition("Exposed", "False", "NoReadyEndpoint")))
    assert told.tell(job(EXPOSED)) == ["exposed"]


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (step("Pending"), None),
        (step("Running"), "step 'web' running"),
        (step("Running", 2, 3), "step 'web' running, attempt 2 of 3"),
        (step("Retrying", 1, 3, "exited 1: a\nthe last line"), "step 'web' will be tried again, attempt 1 of 3: the last line"),
        (step("Failed", 3, 3, "no"), "step 'web' failed, attempt 3 of 3: no"),
        (step("Succeeded", 2, 3), "step 'web' succeeded"),
    ],
)
def test_a_step_is_described_by_its_state(state: Object, line: str | None) -> None:
    assert story.describe_step(state) == line


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("", ""),
        ("one\ntwo\n", "two"),
        ("kubectl exited 1: error: no matches\nensure CRDs are installed first", "kubectl exited 1: error: no matches"),
        ("x" * 200, "x" * 159 + "…"),
    ],
)
def test_the_line_that_says_most_is_picked(message: str, line: str) -> None:
    assert story.pick_line(message) == line


def test_waiting_for_an_image_is_told_and_is_no_failure() -> None:
    waiting = condition("Ready", "False", "ImagePullFailed", "pod 'hello-run': cannot pull")
    pulling = condition("StepsApplied", "False", "ImagePullFailed", "pod 'hello-run': cannot pull")
    assert story.Story().tell(job(pulling, waiting)) == ["… pod 'hello-run': cannot pull"]
    assert story.find_failure(job(pulling, waiting)) is None


@pytest.mark.parametrize("reason", ["VersionUnsupported", "StepFailed", "HostnameConflict", "AppDefInvalid"])
def test_what_only_a_change_can_end_is_a_failure(reason: str) -> None:
    assert story.find_failure(job(condition("Admitted", "False", reason, "because"))) == f"Admitted is False, {reason}: because"


def test_a_delay_says_what_is_waited_for() -> None:
    assert story.describe_delay(job(condition("Ready", "False", "ServerNotReady", "not yet"))) == "ServerNotReady: not yet"
    assert "operator" in story.describe_delay({"metadata": {}})


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ({"a": 1}, {"a": 1, "className": "default"}, True),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 2, "d": 3}]}}, True),
        ({"a": [1]}, {"a": [1, 2]}, False),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {}, False),
        ({"a": {}}, {"a": []}, False),
    ],
)
def test_defaults_of_the_server_make_no_difference(wanted: Object, found: Object, same: bool) -> None:
    assert story.is_same(wanted, found) is same
