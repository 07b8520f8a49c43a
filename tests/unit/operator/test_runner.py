"""When the runner's pod is made, made again, left alone, or given up; and that it holds nothing of the host."""

from __future__ import annotations

import datetime

import pytest

from nestor.api.labels import PLAN_HASH, RUNNER_ATTEMPT
from nestor.operator.runner import Action, build_plan_config_map, build_pod, decide_runner
from tests.unit.operator import builders
from tests.unit.operator.builders import Object, ended

NOW = datetime.datetime(2026, 1, 1, 12, 0, 0, tzinfo=datetime.UTC)


def pod(status: Object, *, plan: str = "h", attempt: int = 1, **meta: str) -> Object:
    """The runner's pod."""
    return builders.build_pod("hello-run", status=status, annotations={PLAN_HASH: plan, RUNNER_ATTEMPT: str(attempt)}, **meta)


def ago(seconds: int) -> str:
    """A time before NOW."""
    return (NOW - datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    ("found", "is_over", "action"),
    [
        (None, False, Action("Create", attempt=1)),
        (None, True, Action("Keep")),
        (pod({"phase": "Pending"}), False, Action("Keep")),
        (pod({"phase": "Running"}), False, Action("Keep")),
        (pod({"phase": "Running"}, plan="old"), False, Action("Replace", attempt=1)),
        (pod(ended(0, ago(100))), True, Action("Keep")),
        (pod(ended(0, ago(5))), False, Action("Wait", delay=25)),
        (pod(ended(0, ago(40))), False, Action("Replace", attempt=2)),
        (pod(ended(137, ago(0))), False, Action("Wait", delay=1)),
        (pod(ended(137, ago(2))), False, Action("Replace", attempt=2)),
        (pod(ended(137, ago(2)), attempt=4), False, Action("Wait", delay=6)),
        (pod(ended(137, ago(9)), attempt=4), False, Action("Replace", attempt=5)),
        (pod({"phase": "Failed", "reason": "Evicted"}), False, Action("Replace", attempt=2)),
        (pod({"phase": "Running"}, deletionTimestamp="x"), False, Action("Wait", delay=1)),
        (pod({"phase": "Running"}, deletionTimestamp="x"), True, Action("Keep")),
    ],
)
def test_what_is_done_with_the_pod(found: Object | None, is_over: bool, action: Action) -> None:
    assert decide_runner(found, "h", is_over=is_over, now=NOW) == action


def test_a_runner_that_always_dies_is_given_up_with_the_reason() -> None:
    action = decide_runner(pod(ended(137, ago(100), "OOMKilled"), attempt=6), "h", is_over=False, now=NOW)
    assert action.kind == "GiveUp"
    assert action.message == "the runner's pod 'hello-run' ended 6 times without a result, last: exit code 137, OOMKilled"


def test_a_new_plan_gets_a_runner_even_after_the_last_one_was_given_up() -> None:
    assert decide_runner(pod(ended(137, ago(1)), attempt=6), "new", is_over=False, now=NOW) == Action("Replace", attempt=1)


def build(job: Object | None = None) -> Object:
    """The pod of a job."""
    resolved = builders.build_resolved(job)
    return build_pod(resolved, builders.build_shape(resolved), resolved.build_plan("image:x", 0), "10.43.0.9", 2)


def test_it_holds_no_token_of_the_host() -> None:
    spec = build()["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in spec
    assert not any("projected" in volume for volume in spec["volumes"])
    secrets = [volume["secret"] for volume in spec["volumes"] if "secret" in volume]
    assert [item["items"] for item in secrets] == [[{"key": "runner.kubeconfig", "path": "kubeconfig"}]]


def test_templates_come_from_the_app_image_or_from_the_copied_config_map() -> None:
    spec = build()["spec"]
    assert spec["volumes"][0] == {"name": "app", "image": {"reference": "registry.test/hello:1", "pullPolicy": "IfNotPresent"}}
    assert spec["containers"][0]["volumeMounts"][0]["mountPath"] == "/app"
    job = builders.build_job()
    job["spec"]["app"] = {"templatesFrom": {"configMapRef": {"name": "x"}}, "appDef": job["spec"]["app"]["appDef"]}
    spec = build(job)["spec"]
    assert spec["volumes"][0] == {"name": "app", "configMap": {"name": "hello-templates"}}
    assert spec["containers"][0]["volumeMounts"][0]["mountPath"] == "/app/templates"


def test_its_plan_and_attempt_are_written_on_it() -> None:
    resolved = builders.build_resolved()
    plan = resolved.build_plan("image:x", 0)
    assert build()["metadata"]["annotations"] == {PLAN_HASH: plan.hash, RUNNER_ATTEMPT: "2"}
    assert plan.hash in build_plan_config_map(builders.build_shape(), plan)["data"]["plan.json"]


def test_lost_data_makes_another_plan() -> None:
    resolved = builders.build_resolved()
    assert resolved.build_plan("image:x", 0).hash != resolved.build_plan("image:x", 1).hash
    assert resolved.build_plan("image:x", 0).hash != resolved.build_plan("image:y", 0).hash
