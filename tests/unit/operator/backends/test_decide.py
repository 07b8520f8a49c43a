"""What a backend's `Ready` says, and how a virtual node goes."""

import datetime
from dataclasses import replace

import pytest

from nestor.api import labels
from nestor.api.objects import Object
from nestor.api.times import read, write
from nestor.operator.backends.decide import (
    END_SECONDS,
    SETTLE_SECONDS,
    SKEW_SECONDS,
    NodeState,
    Process,
    count_ready,
    decide_ready,
    decide_removal,
    find_process,
    read_node,
)
from tests.unit.operator.backends.builders import ANSWERS, build_live, build_pod, build_process

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
    found = decide_ready(process, reachable, None, nodes, has_shapes=has_shapes)
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
    found = decide_ready(process, reachable, UNSIGNED, [GOOD], has_shapes=True)
    assert (found.reason, found.status) == (reason, "True" if reason == "NodesReady" else "False")
    assert said in found.message
    healthy = decide_ready(Process(), ANSWERS, UNSIGNED | {"status": "True"}, [GOOD], has_shapes=True)
    assert healthy.message == "1/1 nodes take pods"


def test_nodes_are_counted_and_told() -> None:
    assert count_ready([GOOD, BAD, TAKEN, GOING]) == "1/3"
    assert [item.to_dict() for item in (GOOD, BAD, TAKEN, GOING)] == [
        {"name": "a", "shape": "default", "state": "Ready"},
        {"name": "b", "shape": "gpu", "state": "NotReady"},
        {"name": "c", "shape": "x", "state": "Refused"},
        {"name": "d", "shape": "y", "state": "Draining", "drainTime": "2026-01-01T00:00:00Z"},
    ]


NONE = "no pod of Deployment 'vnode-link' is ready"
UNSCHEDULED: Object = {"type": "PodScheduled", "status": "False", "message": "full"}
UNPULLED: Object = {"name": "vnode", "state": {"waiting": {"reason": "ErrImagePull", "message": "no"}}}


@pytest.mark.parametrize(
    ("pods", "problem", "is_running"),
    [
        ([build_process()], None, True),
        ([build_process(ready=False), build_process()], None, True),
        ([build_process(ready=False)], NONE, True),
        ([], NONE, False),
        ([build_process(phase="Failed", ready=True)], NONE, False),
        ([build_process(ready=False, phase="Pending", conditions=[UNSCHEDULED])], "pod 'vnode-link-x': full", False),
        ([build_process(ready=False, containerStatuses=[UNPULLED])], "pod 'vnode-link-x', container 'vnode': ErrImagePull: no",
         False),
    ],
)  # fmt: skip
def test_the_process_is_judged_by_its_pods(pods: list[Object], problem: str | None, is_running: bool) -> None:
    assert find_process("vnode-link", pods) == Process(problem, is_running)


def test_a_node_says_itself_whether_it_is_ready() -> None:
    assert read_node(build_live(), "default", None) == NodeState("link", "default", is_ready=True)
    assert read_node(build_live(ready=False), "default", None).why == "the kubelet is quiet"
    new = build_live() | {"status": {}}
    assert read_node(new, "default", None) == NodeState("link", "default", why="its state has not been reported yet")


SINCE = "2026-01-01T00:00:00Z"
DAEMON: Object = {"ownerReferences": [{"kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}]}
LEAVING = {"deletionTimestamp": SINCE}
LIMIT = 300.0


def after(seconds: float) -> datetime.datetime:
    return read(SINCE) + datetime.timedelta(seconds=seconds)


A, B = build_pod("a"), build_pod("b")
DONE, GONE = build_pod("done", phase="Succeeded"), build_pod("gone", **LEAVING)
OTHERS: Object = {"ownerReferences": [{"kind": "DaemonSet", "name": "d", "uid": "d"}]}


@pytest.mark.parametrize(
    ("seconds", "pods", "act", "named"),
    [
        (0, [A], "Wait", []),
        (SETTLE_SECONDS - 1, [], "Wait", []),
        (SETTLE_SECONDS, [], "Remove", []),
        (SETTLE_SECONDS, [A, B], "Evict", ["a", "b"]),
        (LIMIT - 1, [A], "Evict", ["a"]),
        (LIMIT, [A], "Delete", ["a"]),
        (LIMIT + END_SECONDS - 1, [A], "Delete", ["a"]),
        (LIMIT + END_SECONDS, [A], "Force", ["a"]),
        (10**6, [A], "Force", ["a"]),
        (10**6, [], "Remove", []),
        (-10, [A], "Wait", []),  # the clocks differ
        # Those that are leaving are waited for, and in the end forced.
        (100, [GONE], "Evict", []),
        (LIMIT, [GONE], "Delete", []),
        (LIMIT + END_SECONDS, [GONE], "Force", ["gone"]),
        # Finished ones are deleted after those that run.
        (LIMIT - 1, [DONE, B], "Evict", ["b"]),
        (LIMIT - 1, [DONE], "Delete", ["done"]),
        (LIMIT, [DONE, B], "Delete", ["done", "b"]),
        (LIMIT + END_SECONDS, [DONE], "Force", ["done"]),
        (LIMIT - 1, [build_pod("a", phase="Failed")], "Delete", ["a"]),
        (LIMIT - 1, [build_pod("a", phase="Unknown")], "Evict", ["a"]),
        # Those of DaemonSets come back as long as the node is there.
        (LIMIT - 1, [build_pod("a", **DAEMON)], "Remove", []),
        (LIMIT - 1, [build_pod("a", **OTHERS)], "Evict", ["a"]),
    ],
)
def test_time_and_pods_decide(seconds: float, pods: list[Object], act: str, named: list[str]) -> None:
    node = build_live(annotations={labels.REMOVED_SINCE: SINCE})
    found = decide_removal(node, pods, after(seconds), limit=LIMIT)
    assert (found.act, [pod["metadata"]["name"] for pod in found.pods]) == (act, named)
    assert found.delay > 0


@pytest.mark.parametrize("note", [None, "", "yesterday", "2026-13-01", write(after(SKEW_SECONDS + 1))])
def test_first_no_new_pods(note: str | None) -> None:
    """A time that is yet to come would leave the node and its pods there until then."""
    node = build_live(annotations={labels.REMOVED_SINCE: note} if note is not None else {})
    assert decide_removal(node, [A], after(0), limit=LIMIT).act == "Cordon"
