"""Policies as criteria, as a table."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api.data import read
from nestor.api.policies import FailurePolicy, SuccessPolicy
from nestor.syncer.outcome import decide
from nestor.syncer.view.watches import Selection

Object = dict[str, Any]

WIDGET: Object = {"kind": "Widget", "apiVersion": "example.org/v1", "name": "w", "condition": "Ready"}


def success(*targets: Object) -> SuccessPolicy:
    """A success policy with these targets."""
    return read(SuccessPolicy, {"targets": list(targets)})


def failure(*targets: Object) -> FailurePolicy:
    """A failure policy, with targets of its own where there are some."""
    return read(FailurePolicy, {"targets": list(targets) or None})


@pytest.mark.parametrize(
    ("target", "selection", "condition", "phase"),
    [
        ({"kind": "Job", "name": "a"}, Selection("batch/v1", "Job", "default", "a"), "Complete", ""),
        ({"kind": "Job", "name": "a", "condition": "SuccessCriteriaMet"}, Selection("batch/v1", "Job", "default", "a"),
         "SuccessCriteriaMet", ""),
        ({"kind": "JobSet", "name": "a", "namespace": "ml"}, Selection("jobset.x-k8s.io/v1alpha2", "JobSet", "ml", "a"),
         "Completed", ""),
        ({"kind": "JobSet", "apiVersion": "jobset.x-k8s.io/v1", "name": "a"},
         Selection("jobset.x-k8s.io/v1", "JobSet", "default", "a"), "Completed", ""),
        ({"kind": "Pod", "matchLabels": {"b": "2", "a": "1"}}, Selection("v1", "Pod", "default", "", (("a", "1"), ("b", "2"))),
         "", "Succeeded"),
        ({"kind": "Pod", "name": "a", "condition": "Ready"}, Selection("v1", "Pod", "default", "a"), "Ready", ""),
        (WIDGET, Selection("example.org/v1", "Widget", "default", "w"), "Ready", ""),
    ],
)  # fmt: skip
def test_what_means_success(target: Object, selection: Selection, condition: str, phase: str) -> None:
    assert decide.build_success(success(target)) == [decide.Criterion(selection, condition, phase)]


@pytest.mark.parametrize(
    ("policies", "found"),
    [
        ((None, None), []),
        ((None, failure()), []),
        ((success({"kind": "Job", "name": "a"}), None), [("Job", "Failed", "")]),
        ((success({"kind": "Job", "name": "a", "condition": "SuccessCriteriaMet"}), failure()), [("Job", "Failed", "")]),
        ((success({"kind": "JobSet", "name": "a"}), failure()), [("JobSet", "Failed", "")]),
        (
            (success({"kind": "Job", "name": "a"}, {"kind": "Pod", "name": "a"}), failure()),
            [("Job", "Failed", ""), ("Pod", "", "Failed")],
        ),
        ((success(WIDGET), failure()), []),
        ((success({"kind": "Job", "name": "a"}), failure({"kind": "Pod", "name": "b"})), [("Pod", "", "Failed")]),
        ((success({"kind": "Job", "name": "a"}), failure(WIDGET | {"condition": "Broken"})), [("Widget", "Broken", "")]),
    ],
)
def test_what_means_failure(
    policies: tuple[SuccessPolicy | None, FailurePolicy | None], found: list[tuple[str, str, str]]
) -> None:
    result = decide.build_failure(*policies)
    assert [(item.selection.kind, item.condition, item.phase) for item in result] == found


@pytest.mark.parametrize(
    ("condition", "phase", "obj", "is_met"),
    [
        ("Complete", "", {"metadata": {}, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}, True),
        ("Complete", "", {"metadata": {}, "status": {"conditions": [{"type": "Complete", "status": "False"}]}}, False),
        ("Complete", "", {"metadata": {}, "status": {"conditions": [{"type": "Failed", "status": "True"}]}}, False),
        ("Complete", "", {"metadata": {}}, False),
        ("", "Succeeded", {"metadata": {}, "status": {"phase": "Succeeded"}}, True),
        ("", "Succeeded", {"metadata": {}, "status": {"phase": "Running"}}, False),
        ("", "Succeeded", {"metadata": {}}, False),
    ],
)
def test_when_it_is_met(condition: str, phase: str, obj: Object, is_met: bool) -> None:
    assert decide.Criterion(Selection("v1", "Pod"), condition, phase).is_met(obj) is is_met


@pytest.mark.parametrize(("kind", "is_met"), [("Pod", False), ("Job", True)])
def test_a_pod_that_is_being_deleted_meets_nothing(kind: str, is_met: bool) -> None:
    obj = {"metadata": {"deletionTimestamp": "t"}, "status": {"conditions": [{"type": "Failed", "status": "True"}]}}
    assert decide.Criterion(Selection("v1", kind), "Failed").is_met(obj) is is_met


def test_keys_tell_criteria_apart() -> None:
    targets: list[Object] = [
        {"kind": "Job", "name": "a"},
        {"kind": "Job", "name": "b"},
        {"kind": "Job", "name": "a", "namespace": "other"},
        {"kind": "Job", "matchLabels": {"a": "b"}},
        {"kind": "Job", "name": "a", "condition": "Failed"},
        {"kind": "Pod", "name": "a"},
    ]
    keys = [item.key for item in decide.build_success(success(*targets))]
    assert len(set(keys)) == len(targets)
    assert keys == [item.key for item in decide.build_success(success(*targets))]
