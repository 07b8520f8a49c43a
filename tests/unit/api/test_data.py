"""Parts of resources: what the syncer reads without Pydantic is what the operator reads with it."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from nestor.api import data
from nestor.api.data import Unreadable, read, write
from nestor.api.observed import GangStatus, Outcome, RunStatus
from nestor.api.placement import Placement
from nestor.api.placement_rules import ClassPlacement
from nestor.api.policies import FailurePolicy, IpBlock, OutcomeTarget, SuccessPolicy
from nestor.api.policy import Policy
from nestor.pods.translate.placement import build_mark

Object = dict[str, Any]

NODES = {"key": "k", "operator": "In", "values": ["x"]}
NAMES = {"default": "d", "allowed": ["a"]}
BACKEND = {"name": "hpc", "weight": 7, "nodeSelector": {"a": "b"}, "tolerations": ["a=v:NoSchedule"], "imagePullSecrets": ["s"]}
OVERFLOW = {
    "mode": "Always",
    "gpu": "Host",
    "backends": [BACKEND],
    "completionsTrigger": 1,
    "localParallelism": 1,
    "backendParallelism": 1,
    "backendResources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"cpu": "2"}},
    "pendingSeconds": 1,
}
GANG = {"scheduler": "Kubernetes", "groups": ["JobSet"]}
PLACEMENT = {
    "nodeSelector": {"a": "b"},
    "tolerations": ["a=v:NoSchedule"],
    "allowedTolerations": ["*"],
    "allowedNodeLabels": ["team"],
    "schedulers": ["d", "a"],
    "priorityClasses": NAMES,
    "runtimeClasses": NAMES,
    "disruptionBudgets": True,
    "extendedResources": [{"name": "a.example/gpu", "tolerations": ["a=v:NoSchedule"], "nodeSelector": {"a": "b"}}],
    "overflow": OVERFLOW,
    "gang": GANG,
}
SERVICES = {
    "nodePorts": True,
    "loadBalancers": True,
    "loadBalancerClasses": ["c"],
    "endpointRanges": ["10.0.0.0/8"],
    "closedRanges": ["10.1.0.0/16"],
}
TARGET = {"kind": "Job", "apiVersion": "batch/v1", "matchLabels": {"a": "b"}, "namespace": "n", "condition": "Complete"}
STEP = {
    "name": "web",
    "type": "kubectl",
    "state": "Failed",
    "attempt": 2,
    "maxAttempts": 3,
    "startTime": "2026-01-01T00:00:00Z",
    "completionTime": "2026-01-01T00:00:01Z",
    "exitCode": 1,
    "message": "m",
    "hash": "h",
    "sha256": "s",
    "starts": 1,
}
FULL: dict[type, Object] = {
    Policy: {
        "podSecurity": "Privileged",
        "allowedLabels": ["team"],
        "alwaysPullImages": False,
        "allowedImages": ["ghcr.io"],
        "imagePullSecrets": ["s"],
        "ephemeralStorageLimit": 5,
        "placement": PLACEMENT,
        "nodes": "All",
        "measuresIdle": True,
        "services": SERVICES,
        "storage": {"classes": ["a"], "blockVolumes": True, "snapshotClasses": ["s"]},
        "argoCD": {"namespaces": ["*"]},
        "devices": {"classes": ["gpu"], "parameters": True},
        "internet": [{"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}],
    },
    SuccessPolicy: {"operator": "Any", "targets": [TARGET | {"name": "j"}]},
    FailurePolicy: {"action": "Restart", "maxRestarts": 1, "targets": [TARGET | {"name": "j"}]},
    RunStatus: {"version": 2, "hash": "h", "base": "b", "state": "Failed", "steps": [STEP]},
    Outcome: {"state": "Failed", "message": "m", "serverUID": "u"},
    GangStatus: {
        "name": "g",
        "gang": "n/g",
        "state": "Released",
        "round": 2,
        "place": "hpc",
        "nodes": [NODES],
        "since": "2026-01-01T00:00:00Z",
        "retryTime": "2026-01-01T00:00:00Z",
        "message": "m",
    },
}
"""Each field of each part that a syncer reads, with another value than its default."""


def list_unset(item: Any, path: str = "") -> Iterator[str]:
    """The fields that are as by default, in all parts below."""
    changed = data.write_changed(item)
    for own in dataclasses.fields(item):
        if data.name_in_yaml(own) not in changed:
            yield f"{path}.{own.name}"
        value = getattr(item, own.name)
        for inner in value if isinstance(value, list) else [value]:
            if dataclasses.is_dataclass(inner):
                yield from list_unset(inner, f"{path}.{own.name}")


@pytest.mark.parametrize("kind", FULL, ids=lambda kind: kind.__name__)
def test_every_field_is_read_and_written_as_pydantic_does(kind: type) -> None:
    given = FULL[kind]
    with_pydantic = TypeAdapter[Any](kind).validate_json(json.dumps(given), extra="forbid", by_alias=True, by_name=False)
    found: Any = read(kind, given)
    assert found == with_pydantic
    assert write(found) == given == TypeAdapter[Any](kind).dump_python(found, by_alias=True, exclude_none=True)
    assert not list(list_unset(found))


@pytest.mark.parametrize("kind", [*(kind for kind in FULL if kind not in (SuccessPolicy, GangStatus)), Placement, ClassPlacement])
def test_what_is_not_said_is_as_pydantic_has_it(kind: type) -> None:
    assert read(kind, {}) == TypeAdapter[Any](kind).validate_python({}) == kind()
    assert data.write_changed(read(kind, {})) == {}


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Policy, [], "it must be an object"),
        (Policy, {"podSecurity": "Anything"}, "`podSecurity` is 'Anything', and may be 'Baseline' or 'Privileged'"),
        (Policy, {"podSecurity": None}, "`podSecurity` is None, and may be 'Baseline' or 'Privileged'"),
        (Policy, {"podSecurity": []}, "`podSecurity` is [], and may be 'Baseline' or 'Privileged'"),
        (Policy, {"alwaysPullImages": "no"}, "`alwaysPullImages` must be true or false"),
        (Policy, {"alwaysPullImages": 0}, "`alwaysPullImages` must be true or false"),
        (Policy, {"ephemeralStorageLimit": True}, "`ephemeralStorageLimit` must be text or a whole number"),
        (Policy, {"allowedLabels": "team"}, "`allowedLabels` must be a list"),
        (Policy, {"allowedLabels": ["team", 1]}, "`allowedLabels[1]` must be text"),
        (Policy, {"placement": {"nodeSelector": ["a"]}}, "`placement.nodeSelector` must be an object"),
        (Policy, {"placement": {"nodeSelector": {"a": 1}}}, "`placement.nodeSelector.a` must be text"),
        (
            Policy,
            {"placement": {"overflow": {"backends": [BACKEND, {"weight": 1}]}}},
            "`placement.overflow.backends[1].name` is missing",
        ),
        (
            Policy,
            {"placement": {"overflow": {"pendingSeconds": True}}},
            "`placement.overflow.pendingSeconds` must be a whole number",
        ),
        (SuccessPolicy, {}, "`targets` is missing"),
        (IpBlock, {"cidr": 1}, "`cidr` must be text"),
    ],
)
def test_what_is_not_of_its_type_is_refused_by_name(kind: type, value: object, message: str) -> None:
    with pytest.raises(Unreadable) as fault:
        read(kind, value)
    assert str(fault.value) == message
    with pytest.raises(ValidationError):
        TypeAdapter[Any](kind).validate_python(value, strict=True)


def test_what_is_written_may_be_changed_without_changing_the_part() -> None:
    """It goes into pods, and a policy holds for all of them."""
    found = read(Placement, {"nodeSelector": {"a": "b"}, "allowedNodeLabels": ["c"]})
    written = write(found)
    written["nodeSelector"]["x"] = "y"
    written["allowedNodeLabels"].append("z")
    assert found == read(Placement, {"nodeSelector": {"a": "b"}, "allowedNodeLabels": ["c"]})


def test_fields_of_another_version_are_told() -> None:
    unknown: list[str] = []
    value = {"placement": {"mood": 1, "overflow": {"backends": [{"name": "a", "mood": 2}]}}, "mood": 3}
    assert read(Policy, value, unknown) == read(Policy, {"placement": {"overflow": {"backends": [{"name": "a"}]}}})
    assert sorted(unknown) == ["mood", "placement.mood", "placement.overflow.backends[0].mood"]


def test_json_is_kept_as_it_is_but_for_what_is_not_known() -> None:
    steps = [{"name": "a", "mood": 1, "message": ""}, {"name": "b", "exitCode": None}]
    assert data.trim(RunStatus, {"steps": steps, "mood": 2}) == {"steps": [{"name": "a", "message": ""}, {"name": "b"}]}
    with pytest.raises(Unreadable, match=r"`steps\[0\].name` is missing"):
        data.trim(RunStatus, {"steps": [{}]})


def test_what_is_limited_is_checked_by_pydantic_alone() -> None:
    """The API server has checked it by the schema that Pydantic makes."""
    value = {"kind": "lower", "name": "j"}
    assert read(OutcomeTarget, value).kind == "lower"
    with pytest.raises(ValidationError, match="should match pattern"):
        TypeAdapter(OutcomeTarget).validate_python(value)


@pytest.mark.parametrize(
    ("rules", "mark"),
    [
        ({"overflow": {}}, "8f303cd161d239c4"),
        (
            {
                "overflow": {
                    "backends": [
                        {"name": "hpc"},
                        {"name": "aci", "weight": 50, "nodeSelector": {"type": "aci"}, "tolerations": []},
                    ],
                    "mode": "Always",
                    "completionsTrigger": 0,
                    "backendResources": {"limits": {"cpu": 1, "memory": "1Gi"}, "requests": {"cpu": "0.5"}},
                }
            },
            "2edcd0496a0063e5",
        ),
        ({"nodeSelector": {"ä": "b"}}, "7d4ba13712d60952"),
        ({"extendedResources": [{"name": "nvidia.com/gpu", "tolerations": ["g"]}], "gang": GANG}, "569ba34f7b7f7f4f"),
        ({"gang": {}}, "b871f0dcaf85d50e"),
    ],
)
def test_rules_have_the_same_mark_as_in_earlier_versions(rules: Object, mark: str) -> None:
    """Another one would have the pods made again that wait for nodes."""
    assert build_mark(read(Placement, rules))["nestor.dev/placement"] == mark
