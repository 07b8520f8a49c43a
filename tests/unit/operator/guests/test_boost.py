"""A nested cluster asks for more processor time until its steps are applied, and gives it back then."""

import pytest

from nestor.api import labels
from nestor.api.names import SERVER_CONTAINER, SYNCER_CONTAINER
from nestor.api.times import read
from nestor.cluster.boost import boost, give_back
from nestor.cluster.server import build_stateful_set, list_containers
from nestor.kube import Invalid, kinds
from nestor.operator.guests.boost import STEPS_SECONDS, find_rest
from nestor.operator.world.trim import TRIMS
from tests.unit.operator.builders import READY, Object, build_shape
from tests.unit.operator.scene import HOME, Scene


def build_container(name: str = SERVER_CONTAINER, limit: str | None = "2", **asked: str) -> Object:
    limits = {"memory": "1Gi"} | ({"cpu": limit} if limit else {})
    return {"name": name, "resources": {"requests": asked, "limits": limits}}


@pytest.mark.parametrize(
    ("container", "cpu"),
    [
        (build_container(cpu="20m"), "400m"),
        (build_container(SYNCER_CONTAINER, cpu="10m"), "50m"),
        (build_container("coredns", cpu="2m"), "2m"),
        (build_container(cpu="20m", limit=None), "400m"),
        # A class may ask for more for good, or allow less, or ask for nothing.
        (build_container(cpu="500m"), "500m"),
        (build_container(cpu="20m", limit="100m"), "100m"),
        (build_container(memory="1Gi"), None),
    ],
)
def test_what_a_container_asks_for_to_start(container: Object, cpu: str | None) -> None:
    assert boost(container)["resources"]["requests"].get("cpu") == cpu
    assert boost(container)["resources"]["limits"] == container["resources"]["limits"]


def build_pod(**policy: Object) -> Object:
    """A server's pod as it starts, as the cache has it."""
    template = build_stateful_set(build_shape(policy=policy), "10.0.0.1")["spec"]["template"]
    meta = {"name": "hello-k3s-0", "namespace": "x", "labels": {labels.COMPONENT: labels.COMPONENT_SERVER}}
    return TRIMS[kinds.POD]({"metadata": meta, "spec": template["spec"], "status": {}})


def test_a_ready_cluster_asks_for_what_it_needs_and_for_no_more_than_that() -> None:
    pod, containers = build_pod(), list_containers(build_shape())
    patch = give_back(pod, containers)
    assert patch == {
        "spec": {
            "containers": [
                {"name": SYNCER_CONTAINER, "resources": {"requests": {"cpu": "10m"}}},
                {"name": SERVER_CONTAINER, "resources": {"requests": {"cpu": "20m"}}},
            ]
        }
    }
    settled = pod | {"spec": {"containers": containers}}
    assert give_back(settled, containers) is None


def test_a_class_that_asks_for_more_later_has_no_running_cluster_ask_for_more() -> None:
    larger = {"cluster": {"resources": {"requests": {"cpu": "1"}}}}
    patch = give_back(build_pod(), list_containers(build_shape(policy=larger)))
    assert patch
    assert [item["name"] for item in patch["spec"]["containers"]] == [SYNCER_CONTAINER]


AT = read("2026-01-31T12:00:30Z")
SINCE = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-31T12:00:00Z"}
SERVER = {"status": {"conditions": [SINCE]}}
RUNNER = {"spec": {"nodeName": "node-1"}, "status": {"phase": "Running"}}


@pytest.mark.parametrize(
    ("server", "runner", "rest"),
    [
        (None, None, None),
        ({"status": {"conditions": [SINCE | {"status": "False"}]}}, RUNNER, None),
        (SERVER, RUNNER, STEPS_SECONDS - 30),
        ({"status": {"conditions": [SINCE | {"lastTransitionTime": "2026-01-31T11:00:00Z"}]}}, RUNNER, 0),
        (SERVER, RUNNER | {"status": {"phase": "Succeeded"}}, 0),
        (SERVER, RUNNER | {"status": {"phase": "Failed"}}, 0),
        # It waits for processor time itself; or there are no steps; or they were applied before the server was started again.
        (SERVER, {"spec": {}, "status": {"phase": "Pending"}}, 0),
        (SERVER, None, 0),
    ],
)
def test_a_cluster_keeps_its_processor_time_while_its_steps_are_applied(
    server: Object | None, runner: Object | None, rest: float | None
) -> None:
    assert find_rest(server, runner, AT) == rest


async def test_once_the_pod_is_ready_it_is_resized_and_a_host_that_refuses_that_holds_nothing_up() -> None:
    scene = await Scene.started()
    pod = build_pod()
    scene.show(kinds.POD, pod | {"metadata": pod["metadata"] | {"namespace": HOME}, "status": READY})
    refused = [Invalid(422, "Invalid", "this node cannot")]
    scene.api.refusal = lambda verb, body: refused.pop() if refused and "containers" in body.get("spec", {}) else None
    for _ in range(2):
        scene.api.asked.clear()
        assert (await scene.run()).error is None
        assert [line for line in scene.api.asked if line.endswith("/resize")]
