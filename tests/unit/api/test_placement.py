"""The rules of placement that an API server checks, evaluated as it does."""

from typing import Any

import pytest

from nestor.api.class_parts import NamespacePolicy
from nestor.api.placement import NodeRequirement
from nestor.api.placement_rules import ClassPlacement, Machine
from nestor.api.schema import build_schema
from nestor.api.taints import read_toleration, write_tolerated
from nestor.clients.cli.offline import rules

Object = dict[str, Any]

HPC = [{"name": "hpc"}]


@pytest.mark.parametrize(
    ("text", "toleration"),
    [
        ("gpu", {"key": "gpu", "operator": "Exists"}),
        ("nvidia.com/gpu:NoSchedule", {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}),
        ("pool=batch", {"key": "pool", "operator": "Equal", "value": "batch"}),
        ("pool=:NoExecute", {"key": "pool", "operator": "Equal", "value": "", "effect": "NoExecute"}),
        ("*", {"operator": "Exists"}),
        ("*:NoSchedule", {"operator": "Exists", "effect": "NoSchedule"}),
    ],
)
def test_taints_are_written_as_by_kubectl(text: str, toleration: Object) -> None:
    assert list(rules.check_rules({"tolerations": [text]}, build_schema(ClassPlacement), "p")) == []
    assert read_toleration(text) == toleration
    assert write_tolerated(toleration) == text


@pytest.mark.parametrize("text", ["", "gpu:Never", "*=batch", "=batch", "a=b=c", "a b", "gpu:NoSchedule:NoExecute", "-a"])
def test_other_words_are_no_taints(text: str) -> None:
    assert list(rules.check_rules({"tolerations": [text]}, build_schema(ClassPlacement), "p"))


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
    assert (list(rules.check_rules(requirement, build_schema(NodeRequirement), "r")) == []) is is_good


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
    assert (list(rules.check_rules(placement, build_schema(ClassPlacement), "p")) == []) is is_good


@pytest.mark.parametrize(
    ("key", "counted"),
    [
        ("requests.cpu", "requests.cpu"),
        ("cpu", "requests.cpu"),
        ("limits.cpu", "limits.cpu"),
        ("memory", "requests.memory"),
        ("storage", "requests.storage"),
        ("ephemeral-storage", "requests.ephemeral-storage"),
        ("pods", "pods"),
        ("nvidia.com/gpu", "requests.nvidia.com/gpu"),
        ("requests.nvidia.com/gpu", "requests.nvidia.com/gpu"),
        ("count/jobs.batch", "count/jobs.batch"),
        ("fast.storageclass.storage.k8s.io/requests.storage", "fast.storageclass.storage.k8s.io/requests.storage"),
        ("gpu.deviceclass.resource.k8s.io/devices", "gpu.deviceclass.resource.k8s.io/devices"),
        ("limits.nvidia.com/gpu", None),
    ],
)
def test_a_quota_counts_by_requests(key: str, counted: str | None) -> None:
    for model, value in ((NamespacePolicy, {"quota": {key: "1"}}), (Machine, {"name": "n4", "quota": {key: "1"}})):
        assert (list(rules.check_rules(value, build_schema(model), "q")) == []) is (counted is not None)
    assert counted is None or NamespacePolicy(quota={key: "1"}).quota == {counted: "1"}
