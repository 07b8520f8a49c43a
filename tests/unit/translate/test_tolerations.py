"""Which taints a pod tolerates on the host."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api.placement import Placement
from nestor.translate.placement import decide_place
from nestor.translate.tolerations import build_tolerations, is_allowed
from tests.unit.translate.builders import build_pod

Object = dict[str, Any]

FOR_GPUS = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def tolerations(pod: Object, **rules: Any) -> list[Object]:
    """Those of the host pod."""
    placement = Placement.model_validate(rules)
    return build_tolerations(pod, placement, decide_place(pod, placement))


ONE = {"key": "gpu", "operator": "Equal", "value": "a100", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("allowed", "own", "expected"),
    [
        ({"key": "gpu", "operator": "Exists"}, ONE, True),
        ({"key": "gpu", "operator": "Exists"}, {"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "a100"}, ONE, True),
        ({"key": "gpu", "value": "a100"}, {"key": "gpu", "value": "a100", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "value": "a100", "effect": "NoSchedule"}, ONE, True),
        ({"operator": "Exists"}, ONE, True),
        ({"operator": "Exists"}, {"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, ONE, True),
        # A toleration must not tolerate more than what is allowed.
        ({"key": "gpu", "operator": "Exists"}, {"operator": "Exists"}, False),
        ({"key": "gpu", "operator": "Exists"}, {"key": "other", "operator": "Exists"}, False),
        ({"key": "gpu", "value": "a100"}, {"key": "gpu", "operator": "Exists"}, False),
        ({"key": "gpu", "value": "a100"}, {"key": "gpu", "value": "h100"}, False),
        ({"key": "gpu"}, ONE, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, {"key": "gpu", "operator": "Exists"}, False),
        ({"operator": "Exists", "effect": "NoSchedule"}, {"operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_a_pods_own_toleration_is_carried_if_the_class_allows_all_of_it(allowed: Object, own: Object, expected: bool) -> None:
    assert is_allowed(own, Placement.model_validate({"allowedTolerations": [allowed]})) is expected
    assert tolerations(build_pod(tolerations=[own]), allowedTolerations=[allowed]) == ([own] if expected else [])
    assert not is_allowed(own, Placement())


def test_all_pods_get_those_of_the_class_once() -> None:
    assert tolerations(build_pod(), tolerations=[ONE]) == [ONE]
    assert tolerations(build_pod(tolerations=[ONE]), tolerations=[ONE], allowedTolerations=[{"operator": "Exists"}]) == [ONE]


@pytest.mark.parametrize(
    ("resource", "name", "expected"),
    [
        ("nvidia.com/gpu", "nvidia.com/gpu", [FOR_GPUS]),
        ("nvidia.com/gpu", "nvidia.com/*", [FOR_GPUS]),
        ("nvidia.com/mig-1g.5gb", "nvidia.com/*", [FOR_GPUS]),
        ("amd.com/gpu", "nvidia.com/*", []),
        ("amd.com/gpu", "*/gpu", [FOR_GPUS]),
        ("cpu", "*/*", []),
    ],
)
def test_a_pod_with_a_gpu_gets_the_toleration_for_its_nodes_and_no_other_pod_does(
    resource: str, name: str, expected: list[Object]
) -> None:
    pod = build_pod(container={"resources": {"limits": {resource: "1"}}})
    assert tolerations(pod, extendedResources=[{"name": name, "tolerations": [FOR_GPUS]}]) == expected


@pytest.mark.parametrize(("mode", "is_there"), [("Never", False), ("WhenFull", True), ("Always", True)])
def test_those_of_a_backend_come_with_the_possibility_to_go_there(mode: str, is_there: bool) -> None:
    expected = {"key": "virtual-kubelet.io/provider", "operator": "Equal", "value": "hpc", "effect": "NoSchedule"}
    assert tolerations(build_pod(), overflow={"mode": mode, "backends": [{"name": "hpc"}]}) == ([expected] if is_there else [])
