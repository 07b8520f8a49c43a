"""What a backend's `Ready` says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nestor.operator.backends.decide import NodeState, Observed, Process, count_ready, decide_ready, find_process, read_node
from tests.unit.operator.backends.builders import ANSWERS, build_live, build_process

Object = dict[str, Any]
DOWN = ANSWERS | {"status": "False", "reason": "Unreachable", "message": "connection refused"}
GOOD, BAD = NodeState("a", "default", is_ready=True), NodeState("b", "gpu", why="the kubelet is quiet")
TAKEN = NodeState("c", "x", conflict="there is already a node 'c', which belongs to the cluster itself")
GOING = NodeState("d", "y", is_ready=True, removed_since="2026-01-01T00:00:00Z")
DEAD = Process("pod 'p', container 'vnode': CrashLoopBackOff", is_running=False)
QUIET = Process("no pod of Deployment 'vnode-a' is ready")


@pytest.mark.parametrize(
    ("process", "reachable", "has_shapes", "nodes", "reason", "said"),
    [
        (Process(), ANSWERS, True, [GOOD], "NodesReady", "1/1 nodes take pods"),
        (Process(), ANSWERS, True, [GOOD, GOING], "NodesReady", "1/1 nodes take pods; being removed: d"),
        (DEAD, ANSWERS, True, [GOOD], "NotDeployed", "CrashLoopBackOff"),
        (Process(), ANSWERS, True, [GOOD, replace(GOING, is_ready=False)], "NodesReady", "being removed: d"),
        # What a dead process said last is not why its nodes do not work.
        (DEAD, DOWN, True, [BAD], "NotDeployed", "CrashLoopBackOff"),
        (QUIET, DOWN, True, [BAD], "Unreachable", "connection refused"),
        (QUIET, ANSWERS, True, [BAD], "NotDeployed", "no pod of Deployment"),
        (DEAD, None, True, [BAD], "NotDeployed", "CrashLoopBackOff"),
        (Process(), None, False, [], "NotDeployed", "has not reported yet"),
        (Process(), DOWN, False, [], "Unreachable", "connection refused"),
        (Process(), DOWN | {"reason": "Unauthorized", "message": ""}, True, [BAD], "Unauthorized", "it does not answer"),
        (Process(), DOWN | {"status": "Unknown", "reason": "SecretNotFound"}, True, [BAD], "SecretNotFound", "refused"),
        (Process(), ANSWERS, False, [], "NoShapes", "`spec.shapes` is not set"),
        (Process(), ANSWERS, True, [GOOD, BAD, TAKEN], "NodeConflict", "already a node 'c'"),
        (Process(), ANSWERS, True, [GOOD, BAD], "NodesNotReady", "node 'b': the kubelet is quiet"),
    ],
)
def test_what_comes_first_explains_the_rest(
    process: Process, reachable: Object | None, has_shapes: bool, nodes: list[NodeState], reason: str, said: str
) -> None:
    found = decide_ready(Observed(process, reachable, has_shapes=has_shapes, nodes=nodes))
    assert (found.type, found.reason, found.status) == ("Ready", reason, "True" if reason == "NodesReady" else "False")
    assert said in found.message


UNSIGNED: Object = {
    "type": "Certified",
    "status": "False",
    "reason": "CertificateNotIssued",
    "message": "request 'x' is approved",
}


@pytest.mark.parametrize(
    ("process", "reachable", "reason", "said"),
    [
        (QUIET, ANSWERS, "CertificateNotIssued", "request 'x' is approved"),
        (QUIET, None, "CertificateNotIssued", "request 'x' is approved"),
        (QUIET, DOWN, "Unreachable", "connection refused"),
        # What a dead process said last is not why it does not work.
        (DEAD, ANSWERS, "NotDeployed", "CrashLoopBackOff"),
        # The process works: only its serving certificate is missing.
        (Process(), ANSWERS, "NodesReady", "1/1 nodes take pods; logs and commands fail: request 'x' is approved"),
    ],
)
def test_certificates_that_the_cluster_does_not_issue_are_named(
    process: Process, reachable: Object | None, reason: str, said: str
) -> None:
    found = decide_ready(Observed(process, reachable, has_shapes=True, nodes=[GOOD], certified=UNSIGNED))
    assert (found.reason, found.status) == (reason, "True" if reason == "NodesReady" else "False")
    assert said in found.message
    healthy = decide_ready(Observed(Process(), ANSWERS, has_shapes=True, nodes=[GOOD], certified=UNSIGNED | {"status": "True"}))
    assert healthy.message == "1/1 nodes take pods"


def test_nodes_are_counted_and_told() -> None:
    assert count_ready([GOOD, BAD, TAKEN, GOING]) == "1/3"
    assert [item.to_dict() for item in (GOOD, BAD, TAKEN, GOING)] == [
        {"name": "a", "shape": "default", "state": "Ready"},
        {"name": "b", "shape": "gpu", "state": "NotReady"},
        {"name": "c", "shape": "x", "state": "Refused"},
        {"name": "d", "shape": "y", "state": "Draining", "drainTime": "2026-01-01T00:00:00Z"},
    ]


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([build_process()], Process()),
        ([build_process(ready=False), build_process()], Process()),
        ([build_process(ready=False)], Process("no pod of Deployment 'vnode-link' is ready", is_running=True)),
        ([], Process("no pod of Deployment 'vnode-link' is ready", is_running=False)),
        ([build_process(phase="Failed", ready=True)], Process("no pod of Deployment 'vnode-link' is ready", is_running=False)),
        (
            [
                build_process(
                    ready=False, phase="Pending", conditions=[{"type": "PodScheduled", "status": "False", "message": "full"}]
                )
            ],
            Process("pod 'vnode-link-x': full", is_running=False),
        ),
        (
            [
                build_process(
                    ready=False,
                    containerStatuses=[{"name": "vnode", "state": {"waiting": {"reason": "ErrImagePull", "message": "no"}}}],
                )
            ],
            Process("pod 'vnode-link-x', container 'vnode': ErrImagePull: no", is_running=False),
        ),
    ],
)
def test_the_process_is_judged_by_its_pods(pods: list[Object], expected: Process) -> None:
    assert find_process("vnode-link", pods) == expected


def test_a_node_says_itself_whether_it_is_ready() -> None:
    assert read_node(build_live(), "default", None) == NodeState("link", "default", is_ready=True)
    assert read_node(build_live(ready=False), "default", None).why == "the kubelet is quiet"
    new = build_live() | {"status": {}}
    assert read_node(new, "default", None) == NodeState("link", "default", why="its state has not been reported yet")
