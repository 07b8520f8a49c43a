"""What has no effect on the host is named."""

from dataclasses import replace
from typing import Any

import pytest

from nestor.api.data import read
from nestor.api.placement import Placement
from nestor.pods.translate import ignored
from tests.unit.pods.translate.builders import BASELINE, TARGET, build_pod

NO_WAIT = "evictions from the host cluster's nodes do not wait for them"
EVERY_DAEMON = [
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists"}
    for name in ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
]


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({}, []),
        ({"schedulerName": "default-scheduler", "priority": 0, "preemptionPolicy": "PreemptLowerPriority"}, []),
        ({"tolerations": EVERY_DAEMON}, []),
        ({"schedulerName": "volcano"}, ["`spec.schedulerName` is 'volcano', but the class allows none (`placement.schedulers`)"]),
        (
            {"priorityClassName": "high", "priority": 1000},
            ["`spec.priorityClassName` is 'high', but the class allows none (`placement.priorityClasses`)"],
        ),
        ({"evictionResponders": [{"name": "a"}]}, [f"`spec.evictionResponders` is set, but {NO_WAIT}"]),
        (
            {"tolerations": [{"key": "gpu", "operator": "Exists"}, {"operator": "Exists"}, {"key": "gpu", "value": "x"}]},
            ["`spec.tolerations` has all taints, 'gpu', but the class allows none (`placement.allowedTolerations`)"],
        ),
    ],
)
def test_fields_without_effect(spec: dict[str, Any], found: list[str]) -> None:
    assert ignored.find_ignored(build_pod(**spec), BASELINE, TARGET) == found


RULES = {
    "schedulers": ["default-scheduler", "fluence"],
    "priorityClasses": {"allowed": ["low", "high"]},
    "allowedTolerations": ["gpu"],
}


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"schedulerName": "fluence", "priorityClassName": "high", "tolerations": [{"key": "gpu", "operator": "Exists"}]}, []),
        (
            {"schedulerName": "volcano"},
            ["`spec.schedulerName` is 'volcano', but the class allows 'fluence' (`placement.schedulers`)"],
        ),
        (
            {"priorityClassName": "top"},
            ["`spec.priorityClassName` is 'top', but the class allows 'low', 'high' (`placement.priorityClasses`)"],
        ),
        (
            {"tolerations": [{"key": "web", "operator": "Exists"}, {"key": "gpu", "operator": "Exists"}]},
            ["`spec.tolerations` has 'web', but the class allows 'gpu' (`placement.allowedTolerations`)"],
        ),
    ],
)
def test_what_the_class_allows_has_an_effect_and_the_rest_is_told_with_it(spec: dict[str, Any], found: list[str]) -> None:
    policy = replace(BASELINE, placement=read(Placement, RULES))
    assert ignored.find_ignored(build_pod(**spec), policy, TARGET) == found


@pytest.mark.parametrize(("resource", "is_told"), [("nvidia.com/gpu", False), ("cpu", True)])
def test_a_toleration_that_the_pod_gets_anyway_is_not_told(resource: str, is_told: bool) -> None:
    rules = {"extendedResources": [{"name": "nvidia.com/gpu", "tolerations": ["nvidia.com/gpu:NoSchedule"]}]}
    pod = build_pod(container={"resources": {"limits": {resource: "1"}}}, tolerations=[{"key": "nvidia.com/gpu"}])
    policy = replace(BASELINE, placement=read(Placement, rules))
    assert bool(ignored.find_ignored(pod, policy, TARGET)) is is_told


@pytest.mark.parametrize(
    ("gang", "why"),
    [
        (None, "the class has no `placement.gang`"),
        ({"groups": ["Annotation"]}, "the class looks for no PodGroups (`placement.gang.groups`)"),
        ({"groups": ["PodGroup"]}, None),
    ],
)
def test_a_group_that_the_class_does_not_look_for_is_told(gang: dict[str, Any] | None, why: str | None) -> None:
    policy = replace(BASELINE, placement=read(Placement, {"gang": gang}))
    found = ignored.find_ignored(build_pod(schedulingGroup={"podGroupName": "a"}), policy, TARGET)
    assert found == ([f"`spec.schedulingGroup` is 'a', but {why}"] if why else [])
