"""The rules of placement that an API server checks, evaluated as it does."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api.class_namespace import NamespacePolicy
from nestor.api.placement import NodeRequirement, Toleration
from nestor.api.placement_rules import ClassPlacement, Machine
from nestor.api.schema import build_schema
from nestor.cli.offline import rules

HPC = [{"name": "hpc"}]


@pytest.mark.parametrize(
    ("toleration", "is_good"),
    [
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Equal", "value": "a"}, True),
        ({"key": "gpu", "operator": "Equal"}, True),
        ({"operator": "Exists"}, True),
        ({"operator": "Equal"}, False),
        ({"key": "gpu", "operator": "Exists", "value": "a"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}, True),
        ({"key": "gpu", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}, False),
        ({"key": "gpu", "operator": "Exists", "tolerationSeconds": 5}, False),
    ],
)
def test_tolerations_are_such_as_a_pod_may_have(toleration: dict[str, Any], is_good: bool) -> None:
    assert (list(rules.check(toleration, build_schema(Toleration), "t")) == []) is is_good


@pytest.mark.parametrize(
    ("requirement", "is_good"),
    [
        ({"key": "a", "operator": "Exists"}, True),
        ({"key": "a", "operator": "DoesNotExist", "values": ["x"]}, False),
        ({"key": "a", "operator": "In", "values": ["x", "y"]}, True),
        ({"key": "a", "operator": "In", "values": []}, False),
        ({"key": "a", "operator": "NotIn"}, False),
        ({"key": "a", "operator": "Lt", "values": ["3"]}, True),
        ({"key": "a", "operator": "Gt", "values": ["3", "4"]}, False),
        ({"key": "a", "operator": "Gt"}, False),
    ],
)
def test_requirements_of_nodes_are_such_as_a_pod_may_have(requirement: dict[str, Any], is_good: bool) -> None:
    assert (list(rules.check(requirement, build_schema(NodeRequirement), "r")) == []) is is_good


@pytest.mark.parametrize(
    ("placement", "is_good"),
    [
        ({}, True),
        ({"machines": [{"name": "n4"}], "defaultMachine": "n4"}, True),
        ({"machines": [{"name": "n4"}], "defaultMachine": "n8"}, False),
        ({"defaultMachine": "n8"}, False),
        ({"overflow": {"mode": "WhenFull", "gpu": "Any", "backends": HPC}}, True),
        ({"overflow": {"mode": "Never", "gpu": "Host"}}, True),
        ({"overflow": {"mode": "Never", "gpu": "Backend"}}, False),
        ({"overflow": {"mode": "WhenFull", "gpu": "Any"}}, False),
        ({"overflow": {"mode": "Always", "gpu": "Host"}}, False),
    ],
)
def test_a_class_names_what_it_refers_to(placement: dict[str, Any], is_good: bool) -> None:
    assert (list(rules.check(placement, build_schema(ClassPlacement), "p")) == []) is is_good


@pytest.mark.parametrize(
    ("key", "is_good"),
    [
        ("requests.cpu", True),
        ("pods", True),
        ("requests.nvidia.com/gpu", True),
        ("count/jobs.batch", True),
        ("fast.storageclass.storage.k8s.io/requests.storage", True),
        ("gpu.deviceclass.resource.k8s.io/devices", True),
        ("nvidia.com/gpu", False),
        ("limits.nvidia.com/gpu", False),
    ],
)
def test_a_quota_counts_extended_resources_by_their_requests(key: str, is_good: bool) -> None:
    for model, value in ((NamespacePolicy, {"quota": {key: "1"}}), (Machine, {"name": "n4", "quota": {key: "1"}})):
        assert (list(rules.check(value, build_schema(model), "q")) == []) is is_good
