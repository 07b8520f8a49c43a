"""The status as it is written, and the events that tell of it."""

from __future__ import annotations

from dataclasses import replace

from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.exposure.decide import Exposure, TargetView
from nestor.operator.decide import Observed
from nestor.operator.status import build_status, list_events, list_steps
from tests.unit.operator.builders import build_cluster, build_job, build_resolved, build_run, step

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
    status = build_status(build_job(), [ADMITTED], TIME, resolved=resolved, observed=observed, plan=plan, kubeconfig="k")
    assert status["namespace"] == resolved.host_namespace
    assert status["url"] == "http://hello-team-a.jobs.test:8080/"
    assert [(item["serviceName"], item["url"], item["ready"]) for item in status["targets"]] == [("web", status["url"], False)]
    assert status["kubernetesVersion"] == "v1.36.2+k3s1"
    assert status["kubeconfigSecretName"] == "k"
    assert status["observedGeneration"] == 3
    assert [(item["name"], item["state"], item["maxAttempts"]) for item in status["steps"]] == [
        ("database", "Pending", 3), ("web", "Pending", 1),
    ]


def test_a_refused_host_is_no_url() -> None:
    resolved = build_resolved()
    plan = resolved.build_plan("image:x", 0)
    refused = replace(resolved.routes[0], refusal=("HostnameConflict", "taken"))
    observed = Observed(exposure=Exposure((TargetView(refused),)))
    status = build_status(build_job(), [ADMITTED], TIME, resolved=resolved, observed=observed, plan=plan)
    assert "url" not in status
    assert [(item.get("url"), item["message"]) for item in status["targets"]] == [(None, "taken")]


def test_steps_are_the_runners_without_its_nulls() -> None:
    plan = build_resolved().build_plan("image:x", 0)
    run = build_run("Running", step("database", "Running") | {"exitCode": None, "startTime": TIME})
    assert list_steps(run, plan) == [step("database", "Running") | {"startTime": TIME}]


def test_a_refusal_keeps_what_is_known_of_the_running_cluster() -> None:
    job = build_job()
    job["status"] = {"namespace": "x", "url": "u"}
    refused = Condition(conditions.ADMITTED, "False", conditions.CLASS_NOT_FOUND, "gone")
    assert build_status(job, [refused], TIME)["namespace"] == "x"


def test_events_tell_of_what_became_true_and_of_what_needs_somebody() -> None:
    job = build_job()
    before = build_status(job, [ADMITTED, WAITING], TIME)
    job["status"] = before
    failed = Condition(conditions.STEPS_APPLIED, "False", conditions.STEP_FAILED, "step 1 failed")
    ready = Condition(conditions.CLUSTER_READY, "True", conditions.PROVISIONED, "answers")
    summary = Condition(conditions.READY, "False", conditions.STEP_FAILED, "step 1 failed")
    after = build_status(job, [ADMITTED, ready, failed, summary], LATER)
    found = {(event.kind, event.reason, event.message) for event in list_events(before, after)}
    assert found == {("Normal", "ClusterProvisioned", "answers"), ("Warning", "StepFailed", "step 1 failed")}
    assert list_events(after, after) == []


def test_ordinary_stages_are_no_events() -> None:
    assert list_events({}, build_status(build_job(), [WAITING], TIME)) == []
