"""What is done about a pair of pods, as a table."""

from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.syncer.pods import decide
from tests.unit.pods.translate.builders import build_host_pod, build_pod

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


TABLES: dict[str, list[tuple[Object | None, Object | None, bool, str]]] = {
    "": [
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
    "is_suspended": [
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
    # No pod of a cluster that is deleted needs a replacement.
    "is_ending": [(nested(phase="Running", bound=True), host(deleting=30, nodeName="n"), True, "Sync")],
    # A pod that waits for a node under old rules is made anew.
    "is_outdated": [
        (nested(), host(phase="Pending"), False, "Withdraw"),
        (nested(), host(phase="Pending", deleting=0), False, "Sync"),
        (nested(deleting=30), host(phase="Pending"), False, "Stop"),
        (nested(phase="Failed", bound=True), host(), False, "Remove"),
        (None, host(), False, "Remove"),
        (nested(), None, False, "Create"),
    ],
    # A pod whose gang could not start as a whole is taken back.
    "is_taken_back": [
        (nested(), host(phase="Pending"), False, "Withdraw"),
        (nested(bound=True), host(phase="Pending", nodeName="n"), False, "TakeBack"),
        (nested(phase="Running", bound=True), host(nodeName="n"), False, "TakeBack"),
        # What ends anyway ends as it would have.
        (nested(phase="Running", bound=True), host(phase="Succeeded", nodeName="n"), False, "Sync"),
        (nested(phase="Failed", bound=True), host(nodeName="n"), False, "Remove"),
        (nested(phase="Running", bound=True), host(deleting=30, nodeName="n"), False, "Follow"),
        (nested(), host(phase="Pending", deleting=0), False, "Sync"),
        (nested(deleting=30), host(phase="Pending"), False, "Stop"),
        (None, host(), False, "Remove"),
        (nested(), None, False, "Create"),
    ],
}
"""By what else is so: nested pod, host pod, whether there was one before, and what is done."""


@pytest.mark.parametrize(("why", "row"), [(why, row) for why, rows in TABLES.items() for row in rows])
def test_decide(why: str, row: tuple[Object | None, Object | None, bool, str]) -> None:
    inner, outer, had_host, action = row
    flags: Any = {why: True} if why else {}
    assert decide.decide(inner, outer, had_host=had_host, **flags) == action


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
