"""What Argo CD says of Nestor's resources, by running the Lua that it runs on statuses that the operator's own decisions make."""

import copy
import dataclasses
import datetime
import re
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.api.conditions import Condition, Reason
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.objects import Object
from nestor.operator.admission.catalog import build_status as build_app_status
from nestor.operator.backends.decide import NodeState, Process, decide_ready
from nestor.operator.lifecycle.lifecycle import Facts, decide_lifecycle
from nestor.operator.lifecycle.record import Record
from nestor.operator.lifecycle.suspend import SuspendProgress
from nestor.operator.status.build import build_status
from nestor.operator.status.conditions import Observed, decide_conditions, summarize
from tests import argocd_lua
from tests.unit.operator.builders import READY, build_app, build_cluster, build_job, build_pod, build_run, step

NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
TIME = "2026-01-01T12:00:00Z"
SUCCEEDS = {"successPolicy": {"targets": [{"kind": "Job", "name": "x"}]}}
UP = Observed(
    server=build_pod(status=READY), cluster=build_cluster(run=build_run("Succeeded", step("web", "Succeeded"))), plan_hash="h"
)


def observe(spec: Object | None = None, seen: Observed = UP, **facts: Any) -> Object:
    """An admitted job with the status that the operator writes."""
    job = build_job(**(spec or {}))
    parsed = NestedAppJobSpec.model_validate(job["spec"])
    life = decide_lifecycle(Facts(parsed, **{"made_at": TIME, "run": seen.run} | facts), NOW)
    found = decide_conditions(seen, life)
    return {**job, "kind": "NestedAppJob", "status": build_status(job, found, TIME, life.record.to_status())}


def refuse(reason: Reason, message: str = "no such class") -> Object:
    job = build_job()
    found = [Condition(conditions.ADMITTED, "False", reason, message)]
    return {**job, "kind": "NestedAppJob", "status": build_status(job, [*found, *summarize(found)], TIME)}


def annotate(job: Object, value: str) -> Object:
    job["metadata"]["annotations"] = {labels.RERUN: value}
    return job


def change(job: Object) -> Object:
    job["metadata"]["generation"] += 1
    return job


FAILED = Observed(server=UP.server, cluster=build_cluster(run=build_run("Failed", step("web", "Failed"))), plan_hash="h")
RETRYING = Observed(server=UP.server, cluster=build_cluster(run=build_run("Running", step("web", "Retrying"))), plan_hash="h")
ENDED = Record(
    start_time=TIME,
    completion_time=TIME,
    succeeded=Condition(conditions.SUCCEEDED, "True", conditions.COMPLETED, "Job x is done"),
)

JOBS: list[tuple[str, Object, str]] = [
    ("new", {**build_job(), "kind": "NestedAppJob"}, "Progressing"),
    ("starting", observe(seen=Observed()), "Progressing"),
    ("trying a step again", observe(seen=RETRYING), "Progressing"),
    ("failed in a step", observe(seen=FAILED), "Degraded"),
    ("ready", observe(), "Healthy"),
    ("changed since", change(observe()), "Progressing"),
    ("suspended", observe({"suspend": True}, progress=SuspendProgress(is_told=True)), "Suspended"),
    ("about to run again", annotate(observe(), "2"), "Progressing"),
    ("an annotation without a value", annotate(observe(), ""), "Healthy"),
    ("run again", annotate(observe(record=Record(rerun="2", succeeded=ENDED.succeeded), rerun="2"), "2"), "Healthy"),
    ("completed", observe(SUCCEEDS, outcome={"state": "Succeeded", "message": "Job x is complete"}), "Healthy"),
    ("failed by its policy", observe(SUCCEEDS, outcome={"state": "Failed", "message": "Job x failed"}), "Degraded"),
    (
        "a failure that is ignored",
        observe(SUCCEEDS | {"failurePolicy": {"action": "Ignore"}}, outcome={"state": "Failed", "message": "Job x failed"}),
        "Healthy",
    ),
    ("without its class", refuse(conditions.CLASS_NOT_FOUND), "Degraded"),
    ("waiting for others to end", refuse(conditions.TOO_MANY_JOBS), "Progressing"),
    ("refused and asked to run again", annotate(refuse(conditions.CLASS_NOT_FOUND), "2"), "Degraded"),
    ("reading its image", refuse(conditions.READING_APPDEF), "Progressing"),
]


@pytest.mark.parametrize(("job", "status"), [(job, status) for _, job, status in JOBS], ids=[name for name, *_ in JOBS])
def test_a_job_is_as_healthy_as_its_conditions_say(job: Object, status: str) -> None:
    found, message = argocd_lua.health(job)
    assert found == status, message
    assert message


def test_the_message_is_that_of_the_condition() -> None:
    assert argocd_lua.health(refuse(conditions.CLASS_NOT_FOUND, "no class named 'x'"))[1] == "no class named 'x'"


@pytest.mark.parametrize("seen", [Observed(), UP, FAILED, RETRYING])
def test_a_job_without_the_latest_inputs_says_so_in_whatever_state_it_is(seen: Observed) -> None:
    told = observe(seen=dataclasses.replace(seen, remarks=((conditions.INPUTS_CHANGED, "changed"),)))
    status, message = argocd_lua.health(observe(seen=seen))
    assert argocd_lua.health(told) == (status, f"{message}; class, version, command and AppDef accepted; changed")


@pytest.mark.parametrize("reason", conditions.REASONS)
def test_every_reason_that_calls_for_somebody_is_degraded_and_no_other(reason: Reason) -> None:
    """A new one that an admin must act on belongs in the list `failed` of a health check."""
    is_failure = reason.needs != "nobody" and reason not in (conditions.TOO_MANY_JOBS, conditions.UNSCHEDULABLE)
    ready = {"type": "Ready", "status": "False", "reason": str(reason), "message": "m", "observedGeneration": 1}
    backend = {"kind": "OverflowBackend", "metadata": {"generation": 1}, "status": {"conditions": [ready]}}
    found = {argocd_lua.health(item)[0] for item in (refuse(reason), backend)}
    assert ("Degraded" in found) is is_failure


def test_no_health_check_lists_a_reason_that_there_is_not() -> None:
    known = {str(reason) for reason in conditions.REASONS}
    for text in argocd_lua.read_customizations().values():
        assert set(re.findall(r"^\s+(\w+) = true,$", text, re.MULTILINE)) <= known


@pytest.mark.parametrize(
    ("spec", "is_seen", "status"),
    [
        ({}, True, "Healthy"),
        ({}, False, "Progressing"),
        ({"appDef": None}, True, "Healthy"),
        ({"appDef": {"commands": {}}}, True, "Degraded"),
    ],
)
def test_an_application_of_the_catalog_is_as_healthy_as_its_appdef(spec: Object, is_seen: bool, status: str) -> None:
    app = {**build_app("hello", **spec), "kind": "NestedApp"}
    if is_seen:
        app["status"] = build_app_status(app, TIME)
        assert argocd_lua.health(change(copy.deepcopy(app)))[0] == "Progressing"
    found, message = argocd_lua.health(app)
    assert found == status
    assert message


@pytest.mark.parametrize(
    ("reachable", "process", "nodes", "status"),
    [
        (None, Process("no pod is ready", is_running=False), [], "Progressing"),
        ({"status": "True"}, Process(), [NodeState("n", is_ready=True)], "Healthy"),
        ({"status": "True"}, Process(), [NodeState("n", why="starting")], "Progressing"),
        ({"status": "True"}, Process(), [NodeState("n", conflict="node 'n' is another's")], "Degraded"),
        ({"status": "False", "reason": "Unreachable", "message": "no route"}, Process(), [], "Degraded"),
        ({"status": "False", "reason": "Unauthorized", "message": "401"}, Process(), [], "Degraded"),
    ],
)
def test_a_backend_is_as_healthy_as_its_nodes(
    reachable: Object | None, process: Process, nodes: list[NodeState], status: str
) -> None:
    ready = decide_ready(process, reachable, None, nodes, has_shapes=True)
    backend = {"kind": "OverflowBackend", "metadata": {"name": "hpc", "generation": 1}, "status": {}}
    assert argocd_lua.health(backend)[0] == "Progressing"
    backend["status"] = {"conditions": conditions.merge([], [ready], 1, TIME)}
    found, message = argocd_lua.health(backend)
    assert found == status
    assert message == ready.message


@pytest.mark.parametrize(
    ("job", "possible"),
    [
        (observe(), {"suspend", "rerun"}),
        (observe({"suspend": True}), {"resume", "rerun"}),
        (observe(seen=FAILED), {"suspend", "rerun"}),
        (observe(SUCCEEDS, outcome={"state": "Succeeded"}), {"rerun"}),
        ({**build_job(), "kind": "NestedAppJob"}, {"suspend", "rerun"}),
    ],
)
def test_an_action_is_offered_where_it_does_something(job: Object, possible: set[str]) -> None:
    assert {name for name, is_possible in argocd_lua.list_actions(job).items() if is_possible} == possible


def test_suspend_and_resume_change_one_field() -> None:
    obj = observe()
    suspended = argocd_lua.run_action(obj, "suspend")
    assert suspended["spec"] == obj["spec"] | {"suspend": True}
    assert suspended["metadata"] == obj["metadata"]
    assert argocd_lua.run_action(suspended, "resume")["spec"] == obj["spec"] | {"suspend": False}


@pytest.mark.parametrize("annotations", [{}, {"a": "b", labels.RERUN: "1"}])
def test_rerun_sets_the_annotation_anew_and_leaves_the_others(annotations: dict[str, str]) -> None:
    job = observe()
    job["metadata"]["annotations"] = annotations
    changed = argocd_lua.run_action(job, "rerun")
    value = changed["metadata"]["annotations"].pop(labels.RERUN)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", value)
    assert changed["metadata"]["annotations"] == {key: text for key, text in annotations.items() if key != labels.RERUN}
    assert argocd_lua.health({**job, "metadata": {**job["metadata"], "annotations": {labels.RERUN: value}}})[0] == "Progressing"


def test_the_file_has_a_check_for_every_kind_that_users_write() -> None:
    kinds = ("NestedAppJob", "NestedApp", "OverflowBackend")
    checks = {f"resource.customizations.health.nestor.dev_{kind}" for kind in kinds}
    assert set(argocd_lua.read_customizations()) == checks | {"resource.customizations.actions.nestor.dev_NestedAppJob"}
