"""Whether nodes have room for pods."""

from decimal import Decimal
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.pods.translate.gang_room import find_effort, find_rooms, fit, measure
from tests.unit.pods.translate.builders import build_pod, one_of, requires


def node(
    name: str, cpu: str = "4", *, own: dict[str, str] | None = None, taints: list[Object] | None = None, **more: Any
) -> Object:
    free = {"cpu": cpu, "memory": "8Gi", "pods": "110"} | more.pop("free", {})
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name} | (own or {})},
        "spec": {"taints": taints or [], **more},
        "status": {"allocatable": free},
    }


def pod(cpu: str = "1", **spec: Any) -> Object:
    return build_pod(container={"resources": {"requests": {"cpu": cpu}}}, **spec)


def bound(name: str, cpu: str, phase: str = "Running") -> Object:
    return pod(cpu, nodeName=name) | {"status": {"phase": phase}}


def count(pods: list[Object], *nodes: Object, there: list[Object] | None = None, where: list[Object] | None = None) -> int:
    """How many of the pods have room."""
    return fit(pods, find_rooms(nodes, there or []), where=where or []).count


@pytest.mark.parametrize(
    ("wanted", "nodes", "there", "expected"),
    [
        (["1"] * 5, ["4"], [], 4),
        (["1"] * 5, ["4", "1"], [], 5),
        # Each must fit one node, whatever the sum.
        (["3"], ["2", "2"], [], 0),
        (["500m"] * 3, ["1"], [], 2),
        (["1"] * 3, ["4"], [bound("n0", "9")], 0),
        (["1"] * 3, ["4"], [bound("n0", "2", "Succeeded"), bound("n0", "1", "Failed"), bound("gone", "4")], 3),
        # The largest first, or the small ones would take its node.
        (["1", "1", "3"], ["3", "2"], [], 3),
        (["1", "3", "3"], ["4", "3"], [], 3),
    ],
)
def test_first_fit(wanted: list[str], nodes: list[str], there: list[Object], expected: int) -> None:
    made = [node(f"n{index}", cpu) for index, cpu in enumerate(nodes)]
    assert count([pod(cpu) for cpu in wanted], *made, there=there) == expected


def test_what_is_placed_is_taken_and_nothing_else() -> None:
    before = find_rooms([node("a", "4"), node("b", "4")], [])
    found = fit([pod("3"), pod("3")], before)
    assert [found.rooms[name].free["cpu"] for name in ("a", "b")] == [1, 1]
    assert [before[name].free["cpu"] for name in ("a", "b")] == [4, 4]
    assert fit([pod("2")], found.rooms).count == 0
    assert found.rooms["a"].free["pods"] == 109


GPU: Object = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
TAINT = {"key": "gpu", "value": "a", "effect": "NoSchedule"}
IN_ZONE = {"matchExpressions": [one_of("zone", "a")]}
NOT_IN_ZONE = {"matchExpressions": [one_of("zone", "a", operator="NotIn")]}


def named(name: str) -> Object:
    return {"matchFields": [one_of("metadata.name", name)]}


@pytest.mark.parametrize(
    ("wanted", "there", "expected"),
    [
        (build_pod(container=GPU), node("a", free={"nvidia.com/gpu": "1"}), 1),
        (build_pod(), node("a", free={"pods": "0"}), 0),
        (build_pod(), node("a", unschedulable=True), 0),
        (build_pod(nodeSelector={"zone": "a"}), node("a"), 0),
        (build_pod(), node("a", taints=[TAINT]), 0),
        (build_pod(), node("a", taints=[TAINT | {"effect": "NoExecute"}]), 0),
        (build_pod(), node("a", taints=[TAINT | {"effect": "PreferNoSchedule"}]), 1),
        (build_pod(tolerations=[TAINT]), node("a", taints=[TAINT]), 1),
        (build_pod(tolerations=[{"operator": "Exists"}]), node("a", taints=[TAINT]), 1),
        (build_pod(tolerations=[{"key": "gpu", "value": "a"}]), node("a", taints=[TAINT]), 1),
        (build_pod(tolerations=[{"key": "gpu", "value": "b"}]), node("a", taints=[TAINT]), 0),
        (build_pod(tolerations=[{"key": "other", "operator": "Exists"}]), node("a", taints=[TAINT]), 0),
        (build_pod(tolerations=[TAINT | {"effect": "NoExecute"}]), node("a", taints=[TAINT]), 0),
        (build_pod(tolerations=[TAINT]), node("a", taints=[TAINT, {"key": "more", "effect": "NoSchedule"}]), 0),
        (build_pod(affinity=requires(IN_ZONE)), node("a", own={"zone": "a"}), 1),
        (build_pod(affinity=requires(IN_ZONE, NOT_IN_ZONE)), node("a"), 1),
        (build_pod(affinity=requires({})), node("a"), 0),
        (build_pod(affinity=requires(named("b"))), node("a"), 0),
    ],
)
def test_a_node_takes_only_the_pods_that_may_run_there(wanted: Object, there: Object, expected: int) -> None:
    assert count([wanted], there) == expected


@pytest.mark.parametrize(
    ("operator", "values", "there", "expected"),
    [
        ("In", ["1"], "1", 1),
        ("In", ["1"], None, 0),
        ("Gt", ["3"], "4", 1),
        ("Gt", ["3"], "3", 0),
        ("Lt", ["3"], "2", 1),
        ("Lt", ["3"], "x", 0),
        ("Lt", ["3"], None, 0),
    ],
)
def test_requirements_of_labels(operator: str, values: list[str] | None, there: str | None, expected: int) -> None:
    where = [{"key": "price", "operator": operator} | ({"values": values} if values else {})]
    assert count([pod()], node("a", own={} if there is None else {"price": there}), where=where) == expected


def resources(cpu: str) -> Object:
    return {"name": "c", "resources": {"requests": {"cpu": cpu}}}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [resources("1"), resources("500m")]}, "1.5"),
        ({"containers": [resources("1")], "initContainers": [resources("3")]}, "3"),
        ({"containers": [resources("3")], "initContainers": [resources("1")]}, "3"),
        ({"containers": [resources("1")], "initContainers": [resources("2") | {"restartPolicy": "Always"}]}, "3"),
        ({"containers": [resources("1")], "initContainers": [resources("2") | {"restartPolicy": "Always"}, resources("4")]}, "6"),
        ({"containers": [resources("1")], "initContainers": [resources("4"), resources("2") | {"restartPolicy": "Always"}]}, "4"),
        ({"containers": [resources("1")], "resources": {"requests": {"cpu": "5"}}}, "5"),
        ({"containers": [resources("1")], "overhead": {"cpu": "250m"}}, "1.25"),
        ({"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]}, "2"),
    ],
)
def test_a_pod_takes_what_the_scheduler_reserves(spec: Object, cpu: str) -> None:
    assert measure({"spec": spec}) == {"cpu": Decimal(cpu), "pods": 1}


def test_many_pods_on_many_nodes_are_placed_kind_by_kind() -> None:
    nodes = [node(f"n{number}", "4") for number in range(2000)]
    assert count([pod("1") for _ in range(500)], *nodes) == 500


def test_the_effort_grows_with_what_pods_demand_and_with_their_kinds() -> None:
    alike = find_effort([pod()])
    assert find_effort([pod()] * 100) == alike
    assert find_effort([pod(f"{number}m") for number in range(1, 101)]) >= 100
    terms = find_effort([pod(affinity=requires(*[IN_ZONE] * 8000))])
    assert terms >= 8000
    assert find_effort([pod(f"{number}m", affinity=requires(*[IN_ZONE] * 8000)) for number in range(1, 31)]) < 2 * terms
