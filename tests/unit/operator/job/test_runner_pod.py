"""When the runner's pod is created, recreated or given up, and why a server has no pod.

What it is and may do, without any credentials of the host: tests/golden/runner.yaml.
"""

import datetime
from dataclasses import replace
from typing import Any

import pytest

from nestor.api import names, times
from nestor.api.labels import PLAN_HASH, RUNNER_ATTEMPT
from nestor.api.names import Part
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.placement_rules import AssignedNodes
from nestor.cluster.server import build_stateful_set
from nestor.cluster.shape import Shape
from nestor.kube import ApiError, Forbidden, kinds
from nestor.operator.admission.turn import Turn
from nestor.operator.job import admitted
from nestor.operator.job import runner_pod as runner
from nestor.operator.job.runner_pod import build_pod, decide_runner
from nestor.operator.oneshot import Action
from nestor.operator.settings import Settings
from tests.unit.operator import builders
from tests.unit.operator.builders import NOW, Object, ago, build_shape, ended
from tests.unit.operator.scene import Scene

SETTINGS = Settings(image="nestor:1")
UNSCHEDULED = {"type": "PodScheduled", "status": "False"}
SERVER = builders.build_pod(status={"conditions": [{"type": "PodScheduled", "status": "True"}]})


def pod(status: Object, *, plan: str = "h", attempt: int = 1, **meta: str) -> Object:
    """The runner's pod."""
    return builders.build_pod("hello-run", status=status, annotations={PLAN_HASH: plan, RUNNER_ATTEMPT: str(attempt)}, **meta)


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
        (pod(ended(1, ago(5))), False, Action("Wait", delay=25)),
        (pod(ended(1, ago(40)), attempt=5), False, Action("Replace", attempt=6)),
        (pod(ended(1, ago(5)), attempt=6), False, Action("Wait", delay=25)),
        (pod(ended(1, ago(40)), attempt=6), True, Action("Keep")),
        (pod(ended(70, ago(2))), False, Action("Replace", attempt=2)),
        (pod(ended(3, ago(4))), False, Action("Wait", delay=6)),
        (pod(ended(3, ago(11))), False, Action("Replace", attempt=1)),
        (pod(ended(5, ago(50)), attempt=6), False, Action("Wait", delay=10)),
        (pod(ended(5, ago(61)), attempt=6), False, Action("Replace", attempt=6)),
        (pod(ended(3, ago(11)), attempt=6), False, Action("Replace", attempt=6)),
        (pod(ended(3, ago(11), "Completed"), plan="old", attempt=6), False, Action("Replace", attempt=1)),
        (pod(ended(137, ago(0))), False, Action("Wait", delay=1)),
        (pod(ended(137, ago(2))), False, Action("Replace", attempt=2)),
        (pod(ended(137, ago(2)), attempt=4), False, Action("Wait", delay=6)),
        (pod(ended(137, ago(9)), attempt=4), False, Action("Replace", attempt=5)),
        (pod({"phase": "Failed", "reason": "Evicted"}), False, Action("Replace", attempt=2)),
        (pod({"phase": "Running"}, deletionTimestamp="x"), False, Action("Wait", delay=1)),
        (pod({"phase": "Running"}, deletionTimestamp="x"), True, Action("Keep")),
        # Another plan, after the last one was given up.
        (pod(ended(137, ago(1)), plan="old", attempt=6), False, Action("Replace", attempt=1)),
    ],
)
def test_what_is_done_with_the_pod(found: Object | None, is_over: bool, action: Action) -> None:
    assert decide_runner(found, SERVER, "h", is_over=is_over, now=NOW) == action


@pytest.mark.parametrize("server", [None, builders.build_pod(), builders.build_pod(status={"conditions": [UNSCHEDULED]})])
@pytest.mark.parametrize(("found", "kind"), [(None, "Keep"), (pod({"phase": "Running"}, plan="old"), "Replace")])
def test_the_first_pod_waits_until_the_server_has_a_node(server: Object | None, found: Object | None, kind: str) -> None:
    assert decide_runner(found, server, "h", is_over=False, now=NOW).kind == kind


@pytest.mark.parametrize(
    ("status", "last"),
    [
        (ended(137, ago(100), "OOMKilled"), "exit code 137, OOMKilled"),
        (ended(137, ago(0), "OOMKilled"), "exit code 137, OOMKilled"),
        (ended(1, ago(40)), "exit code 1, Error, its result never arrived"),
        (ended(0, ago(40), "Completed"), "exit code 0, Completed, its result never arrived"),
        ({"phase": "Failed"}, "unknown"),
    ],
)
def test_a_runner_that_always_dies_is_given_up_with_the_reason(status: Object, last: str) -> None:
    action = decide_runner(pod(status, attempt=6), SERVER, "h", is_over=False, now=NOW)
    assert action.kind == "GiveUp"
    assert action.message == f"the runner's pod 'hello-run' ended 6 times without a result; last: {last}"


def test_a_pod_that_lost_its_app_image_is_told() -> None:
    found, resolved = build(), builders.build_resolved()
    plan = found["metadata"]["annotations"][PLAN_HASH]
    assert runner.find_dropped(resolved, None, plan) is None
    assert runner.find_dropped(resolved, found, plan) is None
    found["spec"]["volumes"] = found["spec"]["volumes"][1:]
    said = runner.find_dropped(resolved, found, plan) or ""
    assert runner.find_dropped(resolved, found, "the next, whose pod is still to come") is None
    assert said.startswith("the runner's pod 'hello-run' lost its app image volume: this cluster has no image volumes")
    job = builders.build_job()
    job["spec"]["app"] = {"templatesFrom": {"configMapRef": {"name": "x"}}, "appDef": job["spec"]["app"]["appDef"]}
    assert runner.find_dropped(builders.build_resolved(job), found, plan) is None


def build(
    job: Object | None = None, policy: NestedClassSpec | None = None, settings: Settings = SETTINGS, **changes: Any
) -> Object:
    resolved = replace(builders.build_resolved(job, policy), **changes)
    return build_pod(resolved, settings, resolved.build_plan("image:x", 0), "10.43.0.9", 2)


def test_it_runs_where_kueue_has_said() -> None:
    assert not {"nodeSelector", "tolerations"} & build()["spec"].keys()
    nodes = AssignedNodes.model_validate({"nodeSelector": {"pool": "a"}, "tolerations": ["t"]})
    spec = build(turn=Turn(runner=nodes))["spec"]
    assert (spec["nodeSelector"], spec["tolerations"]) == ({"pool": "a"}, [{"key": "t", "operator": "Exists"}])


def test_templates_come_from_the_copied_config_map_where_there_is_no_image() -> None:
    job = builders.build_job()
    job["spec"]["app"] = {"templatesFrom": {"configMapRef": {"name": "x"}}, "appDef": job["spec"]["app"]["appDef"]}
    spec = build(job)["spec"]
    assert spec["volumes"][0] == {"name": "app", "configMap": {"name": "hello-templates"}}
    assert spec["containers"][0]["volumeMounts"][0]["mountPath"] == "/app/templates"


def test_the_app_image_is_pulled_as_the_class_says_and_nothing_else_is() -> None:
    images = {"alwaysPull": True, "allowed": ["docker.io"], "pullSecretNames": ["house"]}
    job, policy = builders.build_job(), builders.build_policy(images=images)
    job["spec"]["app"]["image"] = "hello:1"
    spec = build(job, policy)["spec"]
    named = {"reference": "docker.io/library/hello:1", "pullPolicy": "Always"}  # as it was judged
    assert spec["volumes"][0] == {"name": "app", "image": named}
    assert spec["imagePullSecrets"] == [{"name": names.operators_pull_secret("house")}]
    app = replace(builders.build_resolved(job, policy).app, image=None)
    assert "imagePullSecrets" not in build(job, policy, app=app)["spec"]
    own = {"name": names.OWN_PULL_SECRET}
    private = SETTINGS.model_copy(update={"image_pull_secrets": ("registry",)})
    assert build(job, policy, private)["spec"]["imagePullSecrets"] == [own, *spec["imagePullSecrets"]]
    assert build(job, policy, private, app=app)["spec"]["imagePullSecrets"] == [own]


QUOTA = Forbidden(403, "Forbidden", "exceeded quota: admins")


def show_server(scene: Scene, shape: Shape, seconds: float) -> None:
    """A StatefulSet of that age."""
    created = times.write(times.now() - datetime.timedelta(seconds=seconds))
    meta = {"name": shape.child(Part.SERVER), "namespace": shape.namespace, "uid": "s", "creationTimestamp": created}
    spec = build_stateful_set(shape, "10.43.0.9")["spec"]
    scene.show(kinds.STATEFUL_SET, {"metadata": meta, "spec": spec})


def show_pod(scene: Scene, shape: Shape) -> None:
    meta = {"name": names.server_pod(shape.name), "namespace": shape.namespace, "uid": "p"}
    scene.show(kinds.POD, {"metadata": meta, "spec": {"containers": []}, "status": {}})


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (None, None),
        (QUOTA, "the host cluster refuses pod 'hello-k3s-0': exceeded quota: admins"),
        (ApiError(400, "BadRequest", "admission webhook does not support dry run"), None),
    ],
)
async def test_a_server_without_a_pod_is_asked_about(error: ApiError | None, said: str | None) -> None:
    scene, shape = Scene(), build_shape()
    scene.api.refusal = lambda method, body: error if method == "POST" and body.get("kind", "Pod") == "Pod" else None
    show_server(scene, shape, 60)
    assert await admitted.find_refusal(scene.context, shape) == said
    assert scene.api.look(kinds.POD, names.server_pod(shape.name), shape.namespace) is None
    (asked,) = [item for item in scene.api.asked if "pods" in item]
    assert asked.startswith("POST")


async def test_one_that_has_a_pod_or_just_came_or_is_stopped_is_not() -> None:
    scene, shape = Scene(), build_shape()
    scene.api.refusal = lambda _, __: QUOTA
    assert await admitted.find_refusal(scene.context, shape) is None
    show_server(scene, shape, 1)
    assert await admitted.find_refusal(scene.context, shape) is None
    show_server(scene, shape, 60)
    assert await admitted.find_refusal(scene.context, build_shape(replicas=0)) is None
    show_pod(scene, shape)
    assert await admitted.find_refusal(scene.context, shape) is None
    assert scene.api.asked == []


@pytest.mark.parametrize(("age", "least", "most"), [(1, 5, 9), (60, 0, 0)])
def test_one_without_a_pod_is_looked_at_again_when_it_may_be_asked_about(age: float, least: float, most: float) -> None:
    scene, shape = Scene(), build_shape()
    assert admitted.find_delay(scene.context, shape) is None
    show_server(scene, shape, age)
    delay = admitted.find_delay(scene.context, shape)
    assert delay is not None
    assert least <= delay <= most
    show_pod(scene, shape)
    assert admitted.find_delay(scene.context, shape) is None


def test_the_pod_is_that_of_the_stateful_set_without_its_account() -> None:
    shape = build_shape()
    made = build_stateful_set(shape, "10.43.0.9")
    made["spec"]["template"]["spec"]["serviceAccount"] = "hello-syncer"  # as API servers write it, too
    body = admitted.build_pod(made, "hello-k3s-0")
    assert body["metadata"]["name"] == "hello-k3s-0"
    assert not {"serviceAccount", "serviceAccountName"} & body["spec"].keys()
    mounted = {mount["name"] for item in body["spec"]["containers"] for mount in item.get("volumeMounts") or ()}
    assert mounted <= {volume["name"] for volume in body["spec"]["volumes"]}
