"""The whole status, what it says of pods that do not start and of what to do next, and the events."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.api.conditions import Condition
from nestor.cluster.exposure.exposed import Exposure, TargetView
from nestor.kube import kinds
from nestor.operator.lifecycle.lifecycle import Lifecycle
from nestor.operator.lifecycle.record import Record
from nestor.operator.lifecycle.suspend import SuspendState
from nestor.operator.status.build import build_status, describe, explain_held, find_next_step, list_events, list_steps
from nestor.operator.status.conditions import Observed, summarize
from nestor.operator.world.trim import HELD_LIMIT, TRIMS
from tests.unit.operator.builders import Object, build_cluster, build_job, build_life, build_resolved, build_run, step

TIME, LATER = "2026-01-01T00:00:01Z", "2026-01-01T00:00:09Z"
ADMITTED = Condition(conditions.ADMITTED, "True", "Accepted", "good")
WAITING = Condition(conditions.READY, "False", conditions.PROVISIONING, "starting")


def test_times_of_stages_are_the_first_ones() -> None:
    job = build_job()
    job["status"] = build_status(job, [ADMITTED, WAITING], TIME)
    again = build_status(job, [ADMITTED, WAITING], LATER)
    assert again["timings"] == {"admitted": TIME}
    assert again == job["status"], "nothing changed, so nothing is written"


def test_everything_that_is_known_is_told() -> None:
    resolved = build_resolved()
    plan = resolved.build_plan("image:x", 0)
    exposure = Exposure(tuple(TargetView(route) for route in resolved.routes))
    observed = Observed(cluster=build_cluster(), plan_hash=plan.hash, exposure=exposure)
    observed.cluster["status"]["pods"] = {"running": 2, "waiting": 1}  # type: ignore[index]
    record = Record(start_time=TIME, restarts=1)
    status = build_status(build_job(), [ADMITTED], TIME, describe(resolved, observed, plan, build_life(record=record), "k"))
    assert status["namespace"] == resolved.home.namespace
    assert status["url"] == "http://hello-team-a.jobs.test:8080/"
    assert [(item["serviceName"], item["url"], item["ready"]) for item in status["targets"]] == [("web", status["url"], False)]
    assert status["kubernetesVersion"] == "v1.36.2+k3s1"
    assert status["kubeconfigSecretName"] == "k"
    assert status["observedGeneration"] == 3
    assert (status["command"], status["startTime"], status["restarts"]) == ("Hello", TIME, 1)
    assert status["pods"] == {"running": 2, "waiting": 1}
    assert "completionTime" not in status
    assert [(item["name"], item["state"], item["maxAttempts"]) for item in status["steps"]] == [
        ("database", "Pending", 3),
        ("web", "Pending", 1),
    ]


def test_steps_are_the_runners_without_its_nulls() -> None:
    plan = build_resolved().build_plan("image:x", 0)
    run = build_run("Running", step("database", "Running") | {"exitCode": None, "startTime": TIME, "sha256": "ab" * 32})
    assert list_steps(run, plan) == [step("database", "Running") | {"startTime": TIME, "sha256": "ab" * 32}]


def test_what_has_ended_shows_the_steps_that_it_came_to_and_what_goes_on_those_that_are_to_come() -> None:
    resolved = build_resolved()
    plan = resolved.build_plan("image:x", 0)
    observed = Observed(cluster=build_cluster(run=build_run("Succeeded", step("old", "Succeeded"))), plan_hash=plan.hash)
    ended = describe(resolved, observed, plan, build_life("Finished", conditions.COMPLETED), None)
    assert [item["name"] for item in ended["steps"]] == ["old"]
    running = describe(resolved, observed, plan, build_life(), None)
    assert [item["name"] for item in running["steps"]] == ["database", "web"]


@pytest.mark.parametrize(
    ("life", "is_told"),
    [
        (build_life(), True),
        (build_life("Restarting", is_stopped=True), True),
        (build_life("Suspending", is_stopped=True, suspend=SuspendState("1 left")), True),
        (build_life("Suspended", is_stopped=True, suspend=SuspendState("done", is_reached=True)), False),
        (build_life("Finished", conditions.COMPLETED, is_stopped=True, suspend=SuspendState("1 left")), True),
        (build_life("Finished", conditions.COMPLETED, is_stopped=True, suspend=SuspendState("done", is_reached=True)), False),
    ],
)
def test_a_job_says_what_it_counts_for_until_its_pods_are_gone(life: Lifecycle, is_told: bool) -> None:
    resolved = replace(build_resolved(), reserved={"requests.cpu": "2"})
    found = describe(resolved, Observed(), resolved.build_plan("image:x", 0), life, None)
    assert found["reserved"] == ({"requests.cpu": "2"} if is_told else None)


def test_what_a_job_has_no_longer_goes_out_of_its_status() -> None:
    job = build_job()
    job["status"] = {"startTime": TIME, "suspendTime": TIME, "restart": {"epoch": 1, "time": TIME}, "namespace": "x"}
    status = build_status(job, [ADMITTED], LATER, Record(start_time=LATER).to_status())
    assert {key: status[key] for key in status if key.endswith("Time") or key == "restart"} == {"startTime": LATER}
    assert status["namespace"] == "x"


def test_events_tell_of_what_became_true_and_of_what_needs_somebody() -> None:
    job = build_job()
    before = build_status(job, [ADMITTED, WAITING], TIME)
    job["status"] = before
    failed = Condition(conditions.STEPS_APPLIED, "False", conditions.STEP_FAILED, "step 1 failed")
    ready = Condition(conditions.CLUSTER_READY, "True", conditions.PROVISIONED, "answers")
    summary = Condition(conditions.READY, "False", conditions.STEP_FAILED, "step 1 failed")
    after = build_status(job, [ADMITTED, ready, failed, summary], LATER)
    found = {*list_events(before, after)}
    assert found == {("Normal", "ClusterProvisioned", "answers"), ("Warning", "StepFailed", "step 1 failed")}
    assert list_events(after, after) == []


def test_a_warning_tells_of_every_reason_that_somebody_must_act_on() -> None:
    for kind, reason in itertools.product(conditions.STAGES, conditions.REASONS):
        status = build_status(build_job(), [Condition(kind, "False", reason, "why")], TIME)
        told = list_events({}, status)
        assert told == ([] if reason.needs == "nobody" else [("Warning", reason, "why")])


def test_a_host_without_walls_is_told_once_though_the_job_is_admitted() -> None:
    open_host = Condition(conditions.ADMITTED, "True", conditions.NETWORK_NOT_ENFORCED, "accepted; no walls")
    first = build_status(build_job(), [open_host], TIME)
    told = [("Normal", "JobAdmitted", "accepted; no walls"), ("Warning", "NetworkNotEnforced", "accepted; no walls")]
    assert list_events({}, first) == told
    assert list_events(first, first) == []
    job = build_job() | {"status": build_status(build_job(), [ADMITTED], TIME)}
    later = build_status(job, [open_host], LATER)
    assert [reason for _, reason, _ in list_events(job["status"], later)] == ["NetworkNotEnforced"]
    assert later["conditions"][0]["lastTransitionTime"] == TIME


def told(old: dict[str, object], new: dict[str, object], *found: Condition) -> list[tuple[str, str, str]]:
    """The events between two statuses, of which the second has these conditions too."""
    before = {"conditions": old.pop("conditions", [])} | old
    merged = conditions.merge(before["conditions"], found, 1, TIME)  # type: ignore[arg-type]
    return [*list_events(before, {"conditions": merged} | new)]


def says(status: conditions.Status, reason: str) -> Condition:
    """The condition `Succeeded`."""
    return Condition(conditions.SUCCEEDED, status, reason, "why")


RUNS = conditions.merge([], [says("Unknown", conditions.RUNNING)], 1, TIME)


@pytest.mark.parametrize(
    ("old", "new", "found", "events"),
    [
        ({}, {}, says("Unknown", conditions.RUNNING), []),
        ({}, {"suspendTime": TIME}, says("Unknown", conditions.SUSPENDED), [("Normal", "Suspended", "why")]),
        ({"suspendTime": TIME}, {"suspendTime": TIME}, says("Unknown", conditions.SUSPENDED), []),
        ({"suspendTime": TIME}, {"startTime": LATER}, says("Unknown", conditions.RUNNING),
         [("Normal", "Resumed", f"resumed at {LATER}")]),
        ({"suspendTime": TIME}, {}, says("False", conditions.STEP_FAILED), [("Warning", "JobFailed", "why")]),
        ({"restarts": 1}, {"restarts": 2}, says("Unknown", conditions.RESTARTING), [("Warning", "Restarted", "why")]),
        ({"restarts": 2}, {}, says("Unknown", conditions.RUNNING), []),
        ({"conditions": RUNS}, {"rerun": "2"}, says("Unknown", conditions.RUNNING),
         [("Normal", "Rerun", "all steps run again: annotation nestor.dev/rerun changed")]),
        ({}, {"rerun": "2"}, says("Unknown", conditions.RUNNING), []),
        ({"conditions": RUNS}, {}, says("True", conditions.COMPLETED), [("Normal", "Completed", "why")]),
        ({"conditions": RUNS}, {}, says("False", conditions.STEP_FAILED), [("Warning", "JobFailed", "why")]),
        ({"conditions": RUNS}, {}, says("False", conditions.TARGET_FAILED), [("Warning", "JobFailed", "why")]),
        ({"conditions": RUNS}, {}, says("False", conditions.RESTARTS_EXHAUSTED), [("Warning", "JobFailed", "why")]),
        ({"conditions": RUNS}, {}, says("False", conditions.DEADLINE_EXCEEDED), [("Warning", "DeadlineExceeded", "why")]),
        ({"conditions": RUNS}, {}, says("Unknown", conditions.FAILURE_IGNORED), [("Warning", "FailureIgnored", "why")]),
        ({"conditions": RUNS}, {}, says("Unknown", conditions.RUNNING), []),
    ],
)  # fmt: skip
def test_events_tell_the_jobs_life_once(
    old: dict[str, object], new: dict[str, object], found: Condition, events: list[tuple[str, str, str]]
) -> None:
    assert told(dict(old), new, found) == events


@pytest.mark.parametrize(("status", "word"), [("True", "Completed"), ("False", "Failed"), ("Unknown", None)])
def test_the_end_is_told_in_a_word_too_and_taken_back(status: conditions.Status, word: str | None) -> None:
    job = build_job()
    job["status"] = {"terminalState": "Failed"}
    found = build_status(job, [Condition(conditions.SUCCEEDED, status, "Because", "so")], TIME)
    assert found.get("terminalState") == word


@pytest.mark.parametrize(
    ("reason", "has_run", "word"),
    [
        (conditions.CLASS_NOT_FOUND, False, "Failed"),
        (conditions.CLASS_NOT_FOUND, True, None),
        (conditions.KUEUE_UNAVAILABLE, False, None),
        (conditions.QUEUED, False, None),
    ],
)
def test_a_job_that_its_user_must_change_before_it_starts_is_at_an_end(
    reason: conditions.Reason, has_run: bool, word: str | None
) -> None:
    found = [Condition(conditions.ADMITTED, "False", reason, "so")]
    ran = [Condition(conditions.SUCCEEDED, "Unknown", conditions.SUSPENDED, "it rests")] if has_run else []
    assert build_status(build_job(), [*found, *ran, *summarize(found)], TIME).get("terminalState") == word


def test_who_completes_at_once_was_never_ready() -> None:
    ready = Condition(conditions.READY, "True", conditions.COMPLETED, "done")
    status = build_status(build_job(), [ready], TIME)
    assert "timings" not in status
    assert list_events({}, status) == []


UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available"}
CRASHED: Object = {
    "name": "app",
    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
    "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": "no database\n"}},
}


def pod(name: str, *, node: str = "", component: str = labels.COMPONENT_APP, ending: bool = False, **status: Any) -> Object:
    """A host pod of the application, as the operator's cache has it."""
    own = {labels.NESTED_NAME: name, labels.NESTED_NAMESPACE: "shop"}
    meta = {"name": f"{name}-x-shop-x-1", "namespace": "home", "labels": {labels.COMPONENT: component}, "annotations": own}
    meta |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if ending else {}
    return TRIMS[kinds.POD]({"metadata": meta, "spec": {"nodeName": node} if node else {}, "status": status})


def virtual(status: str, message: str = "") -> Object:
    ready = {"type": "Ready", "status": status, "reason": "NodeStatusUnknown", "message": message}
    return {"metadata": {"name": "far", "labels": {labels.BACKEND: "hpc"}}, "status": {"conditions": [ready]}}


HELD = pod("web", phase="Pending", conditions=[UNSCHEDULABLE])


@pytest.mark.parametrize(
    ("pods", "nodes", "said"),
    [
        ([], {}, None),
        ([pod("web", phase="Running"), pod("db", phase="Pending")], {}, None),
        ([HELD], {}, "pod 'web' in namespace 'shop': 0/2 nodes are available"),
        (
            [HELD, pod("db", phase="Running", containerStatuses=[CRASHED])],
            {},
            "pod 'db' in namespace 'shop': container 'app': CrashLoopBackOff: back-off 10s; before, it ended with exit code 1: "
            "no database; 1 more are held up",
        ),
        ([pod("web", phase="Pending", conditions=[UNSCHEDULABLE], ending=True)], {}, None),
        ([pod("web", phase="Pending", conditions=[UNSCHEDULABLE], component=labels.COMPONENT_RUNNER)], {}, None),
        ([pod("web", phase="Failed", containerStatuses=[CRASHED])], {}, None),
        ([pod("web", node="far", phase="Running")], {"far": virtual("True")}, None),
        ([pod("web", node="far", phase="Running")], {"far": virtual("Unknown", "no heartbeat")},
         "pod 'web' in namespace 'shop': node 'far' of backend 'hpc' is not ready: no heartbeat"),
        ([pod("web", node="far", phase="Pending")], {"far": virtual("False")},
         "pod 'web' in namespace 'shop': node 'far' of backend 'hpc' is not ready: NodeStatusUnknown"),
        ([pod("web", node="far", phase="Succeeded")], {"far": virtual("False")}, None),
    ],
)  # fmt: skip
def test_what_holds_up_a_pod_is_told_of_the_first(pods: list[Object], nodes: dict[str, Object], said: str | None) -> None:
    assert explain_held(pods, nodes) == said


def test_long_words_are_cut() -> None:
    found = pod("one", phase="Pending", conditions=[UNSCHEDULABLE | {"message": "x" * 9999}])
    assert len(found["status"]["held"]) == HELD_LIMIT
    said = explain_held([pod("web", node="far", phase="Running")], {"far": virtual("False", "x" * 9999)})
    assert said is not None
    assert len(said) < 1024, "the definition's limit: a backend's process writes this message"


ACCEPTED = (conditions.ADMITTED, "True", conditions.ADMITTED_REASON)
UNWALLED = (conditions.ADMITTED, "True", conditions.NETWORK_NOT_ENFORCED)
STARTING = (conditions.CLUSTER_READY, "False", conditions.PROVISIONING)
STEPS = (conditions.STEPS_APPLIED, "False", conditions.STEP_RUNNING)
UNREACHED = (conditions.EXPOSED, "False", conditions.TARGET_NOT_FOUND)
RUNNING = (conditions.SUCCEEDED, "Unknown", conditions.RUNNING)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ([], None),
        ([ACCEPTED, STEPS, RUNNING], None),
        ([(conditions.ADMITTED, "False", conditions.CLASS_NOT_FOUND)], conditions.CLASS_NOT_FOUND),
        # Who must act comes first, whatever else is not done yet.
        ([ACCEPTED, STEPS, (conditions.EXPOSED, "False", conditions.HOSTNAME_CONFLICT)], conditions.HOSTNAME_CONFLICT),
        ([ACCEPTED, (conditions.CLUSTER_READY, "False", conditions.SERVER_NOT_READY), STEPS], conditions.SERVER_NOT_READY),
        ([ACCEPTED, STARTING, UNREACHED], None),
        ([UNWALLED], conditions.NETWORK_NOT_ENFORCED),
        ([UNWALLED, UNREACHED], conditions.TARGET_NOT_FOUND),
        ([ACCEPTED, (conditions.SUCCEEDED, "False", conditions.DEADLINE_EXCEEDED)], conditions.DEADLINE_EXCEEDED),
        ([ACCEPTED, STEPS, (conditions.SUCCEEDED, "True", conditions.COMPLETED)], None),
    ],
)
def test_the_next_step_is_that_of_the_first_who_must_act(found: Any, reason: conditions.Reason | None) -> None:
    merged = conditions.merge([], [Condition(kind, status, why, "") for kind, status, why in found], 1, TIME)
    assert find_next_step(merged) == (reason.advice if reason else None)
