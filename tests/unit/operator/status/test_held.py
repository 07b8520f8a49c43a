"""What a job's status says of pods that do not start, and of what to do next."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.api.conditions import Condition
from nestor.operator.status.build import explain_held, find_next_step
from nestor.operator.world.trim import HELD_LIMIT, trim_pod

Object = dict[str, Any]
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available"}
CRASHED: Object = {
    "name": "app",
    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
    "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": "no database\n"}},
}


def pod(name: str, *, node: str = "", component: str = labels.COMPONENT_APP, ending: bool = False, **status: Any) -> Object:
    """A host pod of the application, as the operator's cache has it."""
    own = {labels.NESTED_NAME: name, labels.NESTED_NAMESPACE: "shop"}
    meta = {"name": f"{name}-x-shop-x-1", "namespace": "home", "labels": {labels.COMPONENT: component}, "annotations": own}
    meta |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if ending else {}
    return trim_pod({"metadata": meta, "spec": {"nodeName": node} if node else {}, "status": status})


def virtual(status: str, message: str = "") -> Object:
    ready = {"type": "Ready", "status": status, "reason": "NodeStatusUnknown", "message": message}
    return {"metadata": {"name": "far", "labels": {labels.BACKEND: "hpc"}}, "status": {"conditions": [ready]}}


WAITING = pod("web", phase="Pending", conditions=[UNSCHEDULABLE])


@pytest.mark.parametrize(
    ("pods", "nodes", "said"),
    [
        ([], {}, None),
        ([pod("web", phase="Running"), pod("db", phase="Pending")], {}, None),
        ([WAITING], {}, "pod 'web' in namespace 'shop': 0/2 nodes are available"),
        (
            [WAITING, pod("db", phase="Running", containerStatuses=[CRASHED])],
            {},
            "pod 'db' in namespace 'shop': container 'app': CrashLoopBackOff: back-off 10s; before, it ended with exit code 1: "
            "no database; 1 more are held up",
        ),
        ([pod("web", phase="Pending", conditions=[UNSCHEDULABLE], ending=True)], {}, None),
        ([pod("web", phase="Pending", conditions=[UNSCHEDULABLE], component=labels.COMPONENT_RUNNER)], {}, None),
        ([pod("web", phase="Failed", containerStatuses=[CRASHED])], {}, None),
        ([pod("web", node="far", phase="Running")], {"far": virtual("True")}, None),
        ([pod("web", node="far", phase="Running")], {"far": virtual("Unknown", "no heartbeat")},
         "pod 'web' in namespace 'shop': node 'far' of backend 'hpc' is not ready: no heartbeat"),
        ([pod("web", node="far", phase="Pending")], {"far": virtual("False")},
         "pod 'web' in namespace 'shop': node 'far' of backend 'hpc' is not ready: NodeStatusUnknown"),
        ([pod("web", node="far", phase="Succeeded")], {"far": virtual("False")}, None),
    ],
)  # fmt: skip
def test_what_holds_up_a_pod_is_told_of_the_first(pods: list[Object], nodes: dict[str, Object], said: str | None) -> None:
    assert explain_held(pods, nodes) == said


def test_long_words_are_cut() -> None:
    found = pod("one", phase="Pending", conditions=[UNSCHEDULABLE | {"message": "x" * 9999}])
    assert len(found["status"]["held"]) == HELD_LIMIT


def merged(*found: tuple[conditions.Type, conditions.Status, conditions.Reason]) -> list[Object]:
    return conditions.merge(
        [], [Condition(kind, status, reason, "") for kind, status, reason in found], 1, "2026-01-01T00:00:00Z"
    )


ADMITTED = (conditions.ADMITTED, "True", conditions.ADMITTED_REASON)
STEPS = (conditions.STEPS_APPLIED, "False", conditions.STEP_RUNNING)
RUNNING = (conditions.SUCCEEDED, "Unknown", conditions.RUNNING)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ([], None),
        ([ADMITTED, STEPS, RUNNING], None),
        ([(conditions.ADMITTED, "False", conditions.CLASS_NOT_FOUND)], conditions.CLASS_NOT_FOUND),
        # Who must act comes first, whatever else is not done yet.
        ([ADMITTED, STEPS, (conditions.EXPOSED, "False", conditions.HOSTNAME_CONFLICT)], conditions.HOSTNAME_CONFLICT),
        ([ADMITTED, (conditions.CLUSTER_READY, "False", conditions.SERVER_NOT_READY), STEPS], conditions.SERVER_NOT_READY),
        (
            [
                ADMITTED,
                (conditions.CLUSTER_READY, "False", conditions.PROVISIONING),
                (conditions.EXPOSED, "False", conditions.TARGET_NOT_FOUND),
            ],
            None,
        ),
        ([(conditions.ADMITTED, "True", conditions.NETWORK_NOT_ENFORCED)], conditions.NETWORK_NOT_ENFORCED),
        (
            [
                (conditions.ADMITTED, "True", conditions.NETWORK_NOT_ENFORCED),
                (conditions.EXPOSED, "False", conditions.TARGET_NOT_FOUND),
            ],
            conditions.TARGET_NOT_FOUND,
        ),
        (
            [
                ADMITTED,
                (conditions.CLUSTER_READY, "False", conditions.DEADLINE_EXCEEDED),
                (conditions.SUCCEEDED, "False", conditions.DEADLINE_EXCEEDED),
            ],
            conditions.DEADLINE_EXCEEDED,
        ),
        ([ADMITTED, STEPS, (conditions.SUCCEEDED, "True", conditions.COMPLETED)], None),
    ],
)
def test_the_next_step_is_that_of_the_first_who_must_act(found: Any, reason: conditions.Reason | None) -> None:
    assert find_next_step(merged(*found)) == (reason.advice if reason else None)


def test_whoever_must_act_is_told_what_to_do() -> None:
    assert [reason for reason in conditions.REASONS if reason.needs != "nobody" and not reason.advice] == []
    assert max(len(reason.advice) for reason in conditions.REASONS) <= 1024
