"""The outcome, as tables: what is seen, what is remembered, what is told."""

from typing import Any

import pytest

from nestor.api.data import read
from nestor.api.objects import Object
from nestor.api.policies import FailurePolicy, SuccessPolicy
from nestor.syncer.outcome import controller, decide
from nestor.syncer.outcome.decide import Criterion, Rules, Seen
from nestor.syncer.view.watches import Selection

A, B = (Selection("batch/v1", "Job", "default", name) for name in "ab")
ALL = Selection("batch/v1", "Job", "default", "", (("app", "x"),))


def job(name: str, *conditions: str, why: str = "") -> Object:
    return {
        "metadata": {"name": name, "namespace": "default"},
        "status": {"conditions": [{"type": kind, "status": "True", "reason": why, "message": ""} for kind in conditions]},
    }


def rules(*selections: Selection, operator: Any = "All") -> Rules:
    """Done when Complete, failed when Failed."""
    success, failure = (tuple(Criterion(item, word) for item in selections) for word in ("Complete", "Failed"))
    return Rules(success, failure, operator)


def judge(policy: Rules, objects: dict[Selection, list[Object]], memory: dict[str, str] | None = None) -> tuple[str, str]:
    found = decide.decide(policy, lambda item: Seen(tuple(objects.get(item, ()))), memory or {}, "pod-uid")
    assert found.server_uid == "pod-uid"
    return found.state, found.message


DONE_A, DONE_B = job("a", "Complete"), job("b", "Complete")
BAD_A, BAD_B = job("a", "Failed", why="BackoffLimitExceeded"), job("b", "Failed")


@pytest.mark.parametrize(
    ("policy", "objects", "state", "message"),
    [
        (rules(A), {}, "Running", "Job default/a does not exist yet"),
        (rules(A), {A: [job("a")]}, "Running", "Waiting for Job default/a to be Complete"),
        (rules(A), {A: [DONE_A]}, "Succeeded", "Job default/a is Complete"),
        (rules(A), {A: [BAD_A]}, "Failed", "Job default/a has failed (BackoffLimitExceeded)"),
        (rules(A, B), {A: [DONE_A], B: [job("b")]}, "Running", "Waiting for Job default/b to be Complete"),
        (rules(A, B), {A: [DONE_A], B: [DONE_B]}, "Succeeded", "Job default/a is Complete; Job default/b is Complete"),
        (rules(A, B), {A: [DONE_A], B: [BAD_B]}, "Failed", "Job default/b has failed"),
        (rules(A, B, operator="Any"), {A: [job("a")], B: [DONE_B]}, "Succeeded", "Job default/b is Complete"),
        (rules(A, B, operator="Any"), {A: [BAD_A], B: [DONE_B]}, "Succeeded", "Job default/b is Complete"),
        (rules(A, B, operator="Any"), {A: [BAD_A], B: [job("b")]}, "Failed", "Job default/a has failed (BackoffLimitExceeded)"),
        (rules(ALL), {}, "Running", "No Job with labels app=x exists in namespace default yet"),
        (rules(ALL), {ALL: [DONE_A, job("b")]}, "Running", "Waiting for Job default/b to be Complete"),
        (rules(ALL), {ALL: [DONE_B, DONE_A]}, "Succeeded", "Job default/a, default/b are Complete"),
        (rules(ALL), {ALL: [DONE_A, BAD_B]}, "Failed", "Job default/b has failed"),
        (Rules((), (Criterion(A, "Failed"),)), {A: [job("a")]}, "Running", ""),
        (Rules((), (Criterion(A, "Failed"),)), {A: [BAD_A]}, "Failed", "Job default/a has failed (BackoffLimitExceeded)"),
    ],
)
def test_decide(policy: Rules, objects: dict[Selection, list[Object]], state: str, message: str) -> None:
    assert judge(policy, objects) == (state, message)


def test_a_kind_that_is_missing_is_told() -> None:
    found = decide.decide(rules(A), lambda _: Seen(is_missing=True), {}, "")
    assert (found.state, found.message) == ("Running", "Kind Job of batch/v1 does not exist yet")


def test_many_objects_are_not_all_named() -> None:
    _, message = judge(rules(ALL), {ALL: [job(f"j{number}") for number in range(7)]})
    assert message == "Waiting for Job default/j0, default/j1, default/j2, default/j3, default/j4 and 2 more to be Complete"


def test_a_failed_pod_tells_its_exit_code() -> None:
    pod = Selection("v1", "Pod", "default", "a")
    status = {
        "phase": "Failed",
        "containerStatuses": [
            {"name": "side", "state": {"terminated": {"exitCode": 0}}},
            {"name": "app", "state": {"terminated": {"exitCode": 3}}},
        ],
    }
    policy = Rules((), (Criterion(pod, "", "Failed"),))
    state, message = judge(policy, {pod: [{"metadata": {"name": "a", "namespace": "default"}, "status": status}]})
    assert (state, message) == ("Failed", "Pod default/a has failed (container app exited with code 3)")


def remember(policy: Rules, *rounds: dict[Selection, list[Object]]) -> dict[str, str]:
    """The memory after what was seen in these rounds."""
    memory: dict[str, str] = {}
    for objects in rounds:
        memory = decide.remember(policy, lambda item, seen=objects: Seen(tuple(seen.get(item, ()))), memory)  # type: ignore[misc]
    return memory


@pytest.mark.parametrize(
    ("policy", "rounds", "state"),
    [
        (rules(A), [{A: [DONE_A]}, {}], "Succeeded"),
        (rules(A), [{A: [BAD_A]}, {}], "Failed"),
        (rules(A), [{A: [DONE_A]}, {A: [job("a")]}], "Running"),  # made again: judged anew
        (rules(A), [{A: [DONE_A]}, {}, {A: [job("a")]}, {}], "Running"),
        (rules(A, B), [{A: [DONE_A], B: [job("b")]}, {B: [job("b")]}, {B: [DONE_B]}], "Succeeded"),
        (rules(ALL), [{ALL: [DONE_A, DONE_B]}, {ALL: [DONE_B]}, {}], "Succeeded"),
        (rules(ALL), [{ALL: [DONE_A, job("b")]}, {ALL: [job("b")]}], "Running"),
        (rules(ALL), [{ALL: [BAD_A]}, {}], "Failed"),
    ],
)
def test_what_was_done_and_is_gone_stays_done(policy: Rules, rounds: list[dict[Selection, list[Object]]], state: str) -> None:
    assert judge(policy, rounds[-1], remember(policy, *rounds))[0] == state


@pytest.mark.parametrize("spec", [{}, {"failurePolicy": {"action": "Restart"}}, {"successPolicy": {"targets": []}}])
def test_policies_that_name_nothing_make_no_rules(spec: Object) -> None:
    assert controller.read_rules(spec) is None


def test_policies_become_rules() -> None:
    found = controller.read_rules({"successPolicy": {"operator": "Any", "targets": [{"kind": "Job", "name": "a"}]}})
    assert found == rules(A, operator="Any")


WIDGET: Object = {"kind": "Widget", "apiVersion": "example.org/v1", "name": "w", "condition": "Ready"}


def success(*targets: Object) -> SuccessPolicy:
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
