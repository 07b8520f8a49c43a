"""What is done about a pair of pods, as a table."""

from typing import Any

import pytest

from nestor.syncer.pods import decide
from tests.unit.pods.translate.builders import build_host_pod, build_pod

Object = dict[str, Any]

SCHEDULED = {"conditions": [{"type": "PodScheduled", "status": "True"}]}


def nested(*, phase: str = "Pending", deleting: int | None = None, bound: bool = False, **spec: Any) -> Object:
    pod = build_pod(**spec)
    pod["status"] = {"phase": phase} | (SCHEDULED if bound else {})
    if bound:
        pod["spec"]["nodeName"] = "n"
    if deleting is not None:
        pod["metadata"] |= {"deletionTimestamp": "t", "deletionGracePeriodSeconds": deleting}
    return pod


def host(*, phase: str = "Running", deleting: int | None = None, **spec: Any) -> Object:
    pod = build_host_pod(status={"phase": phase}, **spec)
    if deleting is not None:
        pod["metadata"] |= {"deletionTimestamp": "t", "deletionGracePeriodSeconds": deleting}
    return pod


@pytest.mark.parametrize(
    ("inner", "outer", "had_host", "action"),
    [
        (None, None, False, "Nothing"),
        (None, host(), True, "Remove"),
        (None, host(deleting=30), True, "Remove"),
        (nested(), None, False, "Create"),
        (nested(nodeName="n"), None, False, "Create"),
        (nested(schedulingGates=[{"name": "wait"}]), None, False, "Nothing"),
        (nested(deleting=0), None, False, "Finish"),
        (nested(deleting=30, bound=True), None, True, "Finish"),
        (nested(phase="Succeeded", bound=True), None, True, "Nothing"),
        (nested(phase="Failed", bound=True), None, False, "Nothing"),
        (nested(phase="Running", bound=True), None, False, "Lose"),
        (nested(bound=True), None, False, "Lose"),
        (nested(), None, True, "Lose"),
        (nested(), host(), False, "Sync"),
        (nested(phase="Running", bound=True), host(), True, "Sync"),
        # The host ends it. Without a node or time to end, it is about to vanish.
        (nested(phase="Running", bound=True), host(deleting=30, nodeName="n"), True, "Follow"),
        (nested(), host(deleting=30, nodeName="n"), True, "Follow"),
        (nested(), host(deleting=30), False, "Sync"),
        (nested(phase="Running", bound=True), host(deleting=0, nodeName="n"), True, "Sync"),
        (nested(phase="Running", bound=True, deleting=30), host(deleting=30, nodeName="n"), True, "Stop"),
        (nested(phase="Running", bound=True), host(phase="Failed", deleting=30, nodeName="n"), True, "Sync"),
        (nested(phase="Failed", bound=True), host(deleting=30, nodeName="n"), True, "Remove"),
        (nested(phase="Running", bound=True), host(phase="Failed"), True, "Sync"),
        (nested(phase="Running", bound=True, deleting=30), host(), True, "Stop"),
        (nested(phase="Failed", bound=True), host(), True, "Remove"),
        (nested(phase="Succeeded", bound=True), host(phase="Succeeded"), True, "Sync"),
    ],
)
def test_decide(inner: Object | None, outer: Object | None, had_host: bool, action: str) -> None:
    assert decide.decide(inner, outer, had_host=had_host) == action


@pytest.mark.parametrize(
    ("inner", "outer", "had_host", "action"),
    [
        (None, None, False, "Nothing"),
        (None, host(), True, "Remove"),
        (nested(), None, False, "Hold"),
        (nested(), None, True, "Hold"),
        (nested(nodeName="n"), None, False, "Hold"),
        (nested(schedulingGates=[{"name": "wait"}]), None, False, "Nothing"),
        (nested(deleting=0), None, False, "Finish"),
        (nested(phase="Succeeded", bound=True), None, True, "Nothing"),
        (nested(phase="Running", bound=True), None, True, "Evict"),
        (nested(), host(phase="Pending"), False, "Withdraw"),
        (nested(nodeName="n"), host(phase="Pending"), False, "Withdraw"),
        (nested(), host(phase="Pending", nodeName="n"), True, "Evict"),
        (nested(phase="Running", bound=True), host(nodeName="n"), True, "Evict"),
        (nested(phase="Running", bound=True), host(deleting=30, nodeName="n"), True, "Evict"),
        (nested(phase="Running", bound=True, deleting=30), host(nodeName="n"), True, "Stop"),
        (nested(phase="Running", bound=True), host(phase="Succeeded", nodeName="n"), True, "Sync"),
        (nested(phase="Succeeded", bound=True), host(phase="Succeeded", nodeName="n"), True, "Sync"),
        (nested(phase="Failed", bound=True), host(nodeName="n"), True, "Remove"),
    ],
)
def test_decide_while_suspended(inner: Object | None, outer: Object | None, had_host: bool, action: str) -> None:
    assert decide.decide(inner, outer, had_host=had_host, is_suspended=True) == action


def test_no_pod_of_a_cluster_that_is_deleted_needs_a_replacement() -> None:
    pair = nested(phase="Running", bound=True), host(deleting=30, nodeName="n")
    assert decide.decide(*pair, had_host=True, is_ending=True) == "Sync"


@pytest.mark.parametrize(
    ("inner", "outer", "due"),
    [
        (nested(deleting=30), host(), True),
        (nested(deleting=30), host(deleting=30), False),
        (nested(deleting=5), host(deleting=30), True),
        (nested(deleting=60), host(deleting=30), False),
        (None, host(), True),
        (None, host(deleting=30), False),
    ],
)
def test_removal_is_asked_for_once_and_again_when_it_is_to_be_sooner(inner: Object | None, outer: Object, due: bool) -> None:
    assert decide.is_removal_due(inner, outer) is due


@pytest.mark.parametrize(
    ("inner", "outer", "action"),
    [
        (nested(), host(phase="Pending"), "Withdraw"),
        (nested(), host(phase="Pending", deleting=0), "Sync"),
        (nested(deleting=30), host(phase="Pending"), "Stop"),
        (nested(phase="Failed", bound=True), host(), "Remove"),
        (None, host(), "Remove"),
        (nested(), None, "Create"),
    ],
)
def test_a_pod_that_waits_for_a_node_under_old_rules_is_made_anew(
    inner: Object | None, outer: Object | None, action: str
) -> None:
    assert decide.decide(inner, outer, had_host=False, is_outdated=True) == action


@pytest.mark.parametrize(
    ("inner", "outer", "action"),
    [
        (nested(), host(phase="Pending"), "Withdraw"),
        (nested(bound=True), host(phase="Pending", nodeName="n"), "TakeBack"),
        (nested(phase="Running", bound=True), host(nodeName="n"), "TakeBack"),
        # What ends anyway ends as it would have.
        (nested(phase="Running", bound=True), host(phase="Succeeded", nodeName="n"), "Sync"),
        (nested(phase="Failed", bound=True), host(nodeName="n"), "Remove"),
        (nested(phase="Running", bound=True), host(deleting=30, nodeName="n"), "Follow"),
        (nested(), host(phase="Pending", deleting=0), "Sync"),
        (nested(deleting=30), host(phase="Pending"), "Stop"),
        (None, host(), "Remove"),
        (nested(), None, "Create"),
    ],
)
def test_a_pod_whose_gang_could_not_start_as_a_whole_is_taken_back(
    inner: Object | None, outer: Object | None, action: str
) -> None:
    assert decide.decide(inner, outer, had_host=False, is_taken_back=True) == action
