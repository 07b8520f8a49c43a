"""A server's pod that the host refuses: its StatefulSet has none, and only a dry run says why."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from nestor.api import names, times
from nestor.api.names import Part
from nestor.cluster.shape import Shape
from nestor.kube import ApiError, Forbidden, kinds
from nestor.operator.job import admitted
from tests.unit.operator.builders import build_shape
from tests.unit.operator.scene import Scene

Object = dict[str, Any]
QUOTA = Forbidden(403, "Forbidden", "exceeded quota: admins")


def show_server(scene: Scene, shape: Shape, seconds: float) -> None:
    """A StatefulSet of that age."""
    created = times.write(times.now() - datetime.timedelta(seconds=seconds))
    meta = {"name": shape.child(Part.SERVER), "namespace": shape.namespace, "uid": "s", "creationTimestamp": created}
    scene.show(kinds.STATEFUL_SET, {"metadata": meta})


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
    assert await admitted.find_refusal(scene.context, shape, "10.43.0.9") == said
    assert scene.api.look(kinds.POD, names.server_pod(shape.name), shape.namespace) is None
    (asked,) = [item for item in scene.api.asked if "pods" in item]
    assert asked.startswith("POST")


async def test_one_that_has_a_pod_or_just_came_or_is_stopped_is_not() -> None:
    scene, shape = Scene(), build_shape()
    scene.api.refusal = lambda _, __: QUOTA
    assert await admitted.find_refusal(scene.context, shape, "10.43.0.9") is None
    show_server(scene, shape, 1)
    assert await admitted.find_refusal(scene.context, shape, "10.43.0.9") is None
    show_server(scene, shape, 60)
    assert await admitted.find_refusal(scene.context, build_shape(replicas=0), "10.43.0.9") is None
    show_pod(scene, shape)
    assert await admitted.find_refusal(scene.context, shape, "10.43.0.9") is None
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
    body = admitted.build_pod(shape, "10.43.0.9")
    assert body["metadata"]["name"] == "hello-k3s-0"
    assert "serviceAccountName" not in body["spec"]
    mounted = {mount["name"] for item in body["spec"]["containers"] for mount in item.get("volumeMounts") or ()}
    assert mounted <= {volume["name"] for volume in body["spec"]["volumes"]}
