"""The machines of another cluster, as shapes."""

import re
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.api.overflowbackend import Shape
from nestor.kube import Forbidden, kinds
from nestor.operator.backends.nodes import DISCOVERABLE
from nestor.overflow.remote.shapes import Found, find_shapes
from nestor.pods.providers.base import Inputs
from nestor.pods.providers.errors import NotYet, Unauthorized
from tests.unit.overflow.remote.conftest import SPACE, Far, build_node, build_pod

TYPE, ARCH = "node.kubernetes.io/instance-type", "kubernetes.io/arch"
GPU = "nvidia.com/gpu"
GPUS: Object = {"nvidia_com__gpu": "2"}
TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}


def find(*nodes: Object, quotas: list[Object] | None = None, by: tuple[str, ...] = (TYPE, ARCH)) -> list[Found]:
    return find_shapes(nodes, quotas or [], by)


def only(*nodes: Object, **others: Any) -> Found:
    (found,) = find(*nodes, **others)
    return found


def quota(scopes: list[str] | None = None, **hard: str) -> Object:
    return {"spec": {"hard": {key.replace("__", "/").replace("_", "."): value for key, value in hard.items()}, "scopes": scopes}}


def test_nodes_that_agree_are_one_shape() -> None:
    small, large = {TYPE: "m5.large", ARCH: "amd64"}, {TYPE: "g5.xlarge", ARCH: "amd64"}
    nodes = [build_node("a", labels=small), build_node("b", labels=small | {"other": "x"}), build_node("c", labels=large, **GPUS)]
    gpu, plain = find(*nodes)
    assert (plain.shape.capacity, plain.shape.machines) == ({"cpu": "8", "memory": str(16 * 2**30), "pods": "220"}, 2)
    assert (gpu.shape.capacity[GPU], gpu.shape.machines) == ("2", 1)
    assert plain.shape.labels == small
    assert plain.machines.labels == tuple(small.items())
    assert plain.shape.name.startswith("m5-large-amd64-")
    assert gpu.shape.name.startswith("g5-xlarge-amd64-gpu-")


def test_nodes_with_other_devices_are_another_shape() -> None:
    found = find(build_node("a"), build_node("b", **GPUS), build_node("c", amd_com__gpu="1"))
    assert len({item.shape.name for item in found}) == 3


def test_a_device_plugin_that_starts_again_changes_no_shape() -> None:
    before, after = only(build_node("a", **GPUS)), only(build_node("a", nvidia_com__gpu="0"))
    assert before.shape.name == after.shape.name
    assert after.shape.capacity[GPU] == "0"


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({"unschedulable": True}, {}),
        ({}, {"conditions": [{"type": "Ready", "status": "Unknown"}]}),
        ({"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}, {}),
        ({"taints": [{"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": "NoSchedule"}]}, {}),
    ],
)
def test_a_node_that_takes_no_pods_does_not_count_but_keeps_its_shape(spec: Object, status: Object) -> None:
    """A shape that is gone takes its node and the pods on it with it."""
    node = build_node("a")
    away = node | {"spec": node["spec"] | spec, "status": node["status"] | status}
    found = only(away)
    assert (found.shape.capacity, found.shape.machines) == ({"cpu": "0", "memory": "0", "pods": "0"}, 0)
    assert found.shape.name == only(node).shape.name
    assert only(away, node).shape.capacity["cpu"] == "4"


@pytest.mark.parametrize(
    ("taint", "devices"),
    [
        ({"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}, {}),
        ({"key": "team", "value": "a", "effect": "NoExecute"}, {}),
        ({"key": GPU, "effect": "NoSchedule"}, {}),  # of a node without any
        (TAINT | {"effect": "NoExecute"}, GPUS),
    ],
)
def test_nodes_that_are_reserved_are_left_out(taint: Object, devices: Object) -> None:
    assert find(build_node("a", taints=[taint], **devices)) == []


def test_a_taint_that_is_only_a_preference_reserves_nothing() -> None:
    assert only(build_node("a", taints=[{"key": "team", "effect": "PreferNoSchedule"}])).shape.taints == []


def test_nodes_for_pods_with_devices_only_are_a_shape_with_that_taint() -> None:
    found = find(build_node("a", taints=[TAINT], **GPUS), build_node("b", **GPUS))
    assert sorted(len(item.shape.taints or []) for item in found) == [0, 1]
    assert [TAINT] in [item.shape.taints for item in found]


@pytest.mark.parametrize(
    ("hard", "capped"),
    [
        ({"cpu": "3"}, {"cpu": "3"}),
        ({"requests_cpu": "500m", "limits_cpu": "1"}, {"cpu": "500m"}),
        ({"requests_memory": "1Gi"}, {"memory": str(2**30)}),
        ({"pods": "5"}, {"pods": "5"}),
        ({"count__pods": "6"}, {"pods": "6"}),
        ({"requests_nvidia_com__gpu": "1"}, {GPU: "1"}),
        ({"cpu": "100"}, {}),
        ({"services": "1", "cpu": "nonsense"}, {}),
    ],
)
def test_a_quota_caps_a_shape(hard: Object, capped: Object) -> None:
    plain = only(build_node("a", **GPUS)).shape.capacity
    found = only(build_node("a", **GPUS), quotas=[quota(**hard), quota(cpu="50")]).shape.capacity
    assert found == {**plain, **capped}


def test_a_quota_of_some_pods_caps_nothing() -> None:
    plain = only(build_node("a")).shape
    assert only(build_node("a"), quotas=[quota(["BestEffort"], pods="1")]).shape == plain
    assert (
        only(build_node("a"), quotas=[{"spec": {"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": []}}}]).shape
        == plain
    )


def test_names_are_those_of_the_machines_and_no_others() -> None:
    one, other = build_node("a", labels={TYPE: "A", ARCH: "arm64"}), build_node("b", labels={TYPE: "a", ARCH: "arm64"})
    assert len({item.shape.name for item in find(one, other)}) == 2
    assert only(one).shape.name in [item.shape.name for item in find(other, one, build_node("c"))]
    for label in ("x" * 63, "---", "ü", ""):
        found = only(build_node("a", labels={TYPE: label})).shape.name
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?", found)


def test_nonsense_in_amounts_is_left_out() -> None:
    node = build_node("a", attachable_volumes="5")
    node["status"]["allocatable"] = {"cpu": "many", "memory": "-1", "pods": "9" * 40, "foo": "1", GPU: ["x"]}
    assert only(node).shape.capacity == {"cpu": "0", "memory": "0", "pods": "0"}


def test_shapes_are_what_the_api_takes() -> None:
    found = only(build_node("a", labels={TYPE: "g5", ARCH: "amd64"}, taints=[TAINT], **GPUS)).shape
    made = Shape.model_validate(
        {"name": found.name, "capacity": found.capacity, "labels": found.labels, "taints": found.taints, "machines": 1}
    )
    assert made.name == found.name
    assert found.labels.keys() <= DISCOVERABLE


async def test_pods_go_to_the_machines_of_their_shape(far: Far) -> None:
    far.api.put(kinds.NODE, build_node("a", labels={ARCH: "arm64", "pool": "batch"}))
    far.api.put(kinds.NODE, build_node("b", labels={ARCH: "arm64"}))
    shape_labels = (ARCH,)
    (shape,) = await far.set_up(shape_labels=shape_labels, node_selector={"pool": "batch"}).discover() or []
    assert shape.machines == 1
    provider = far.set_up(shape_labels=shape_labels)  # has not looked yet
    await provider.create(build_pod(), Inputs(shape=shape.name))
    affinity = far.api.of("host-uid")["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": ARCH, "operator": "In", "values": ["arm64"]}]
    with pytest.raises(NotYet, match="no machines of shape 'gone'"):
        await provider.create(build_pod(uid="other"), Inputs(shape="gone"))


async def test_an_admins_shapes_need_no_right_to_see_nodes(far: Far) -> None:
    text = 'nodes is forbidden: User "nestor" cannot list resource "nodes" in API group "" at the cluster scope'
    far.api.fault = lambda verb, what: Forbidden(403, "Forbidden", text) if what.startswith("nodes") else None
    own = {"mine": {ARCH: "arm64", "only": "here"}}
    provider = far.set_up(shape_labels=(ARCH, TYPE), own_shapes=own)
    await provider.create(build_pod(), Inputs(shape="mine"))
    (term,) = far.api.of("host-uid")["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"] == [{"key": ARCH, "operator": "In", "values": ["arm64"]}]
    with pytest.raises(Unauthorized, match="cannot list resource"):
        await provider.discover()


async def test_the_quota_is_that_of_the_pods_namespace(far: Far) -> None:
    far.api.put(kinds.NODE, build_node("a"))
    far.api.put(kinds.RESOURCE_QUOTA, {"metadata": {"name": "q", "namespace": SPACE}, **quota(cpu="2")})
    far.api.put(kinds.RESOURCE_QUOTA, {"metadata": {"name": "q", "namespace": "other"}, **quota(cpu="1")})
    (shape,) = await far.set_up().discover() or []
    assert shape.capacity["cpu"] == "2"
