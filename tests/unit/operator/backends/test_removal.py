"""How a virtual node goes."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from nestor.api import labels
from nestor.api.times import read, write
from nestor.operator.backends.decide import END_SECONDS, SETTLE_SECONDS, SKEW_SECONDS, decide_removal, find_start
from nestor.operator.backends.keeper import describe_left
from tests.unit.operator.backends.builders import build_live, build_pod

Object = dict[str, Any]
SINCE = "2026-01-01T00:00:00Z"
DAEMON: Object = {"ownerReferences": [{"kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}]}
LEAVING = {"deletionTimestamp": SINCE}
LIMIT = 300.0


def after(seconds: float) -> datetime.datetime:
    """So long after the removal began."""
    return read(SINCE) + datetime.timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("seconds", "pods", "act", "named"),
    [
        (0, ["a"], "Wait", []),
        (SETTLE_SECONDS - 1, [], "Wait", []),
        (SETTLE_SECONDS, [], "Remove", []),
        (SETTLE_SECONDS, ["a", "b"], "Evict", ["a", "b"]),
        (LIMIT - 1, ["a"], "Evict", ["a"]),
        (LIMIT, ["a"], "Delete", ["a"]),
        (LIMIT + END_SECONDS - 1, ["a"], "Delete", ["a"]),
        (LIMIT + END_SECONDS, ["a"], "Force", ["a"]),
        (10**6, ["a"], "Force", ["a"]),
        (10**6, [], "Remove", []),
        (-10, ["a"], "Wait", []),  # the clocks differ
    ],
)
def test_time_and_pods_decide(seconds: float, pods: list[str], act: str, named: list[str]) -> None:
    node = build_live(annotations={labels.REMOVED_SINCE: SINCE})
    found = decide_removal(node, [build_pod(name) for name in pods], after(seconds), limit=LIMIT)
    assert (found.act, [pod["metadata"]["name"] for pod in found.pods]) == (act, named)
    assert found.delay > 0


@pytest.mark.parametrize("note", [None, "", "yesterday", "2026-13-01"])
def test_first_no_new_pods(note: str | None) -> None:
    node = build_live(annotations={labels.REMOVED_SINCE: note} if note is not None else {})
    assert find_start(node) is None
    assert decide_removal(node, [], after(0), limit=LIMIT).act == "Cordon"


def test_a_node_cannot_put_its_removal_off() -> None:
    """A time that is yet to come would leave it and its pods there until then."""
    ahead = write(after(SKEW_SECONDS + 1))
    node = build_live(annotations={labels.REMOVED_SINCE: ahead})
    assert decide_removal(node, [build_pod("a")], after(0), limit=LIMIT).act == "Cordon"


def test_pods_that_are_leaving_are_waited_for_and_in_the_end_forced() -> None:
    node, pods = build_live(annotations={labels.REMOVED_SINCE: SINCE}), [build_pod("a", **LEAVING)]
    for seconds in (100, LIMIT):
        found = decide_removal(node, pods, after(seconds), limit=LIMIT)
        assert (found.act in ("Evict", "Delete"), found.pods) == (True, ())
    assert decide_removal(node, pods, after(LIMIT + END_SECONDS), limit=LIMIT).pods == tuple(pods)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (build_pod("a"), "Evict"),
        (build_pod("a", phase="Pending"), "Evict"),
        (build_pod("a", phase="Unknown"), "Evict"),
        (build_pod("a", phase="Succeeded"), "Delete"),
        (build_pod("a", phase="Failed"), "Delete"),
        (build_pod("a", **DAEMON), "Remove"),
        (build_pod("a", ownerReferences=[{"kind": "DaemonSet", "name": "d", "uid": "d"}]), "Evict"),
    ],
)
def test_what_a_node_waits_for(pod: Object, expected: str) -> None:
    node = build_live(annotations={labels.REMOVED_SINCE: SINCE})
    assert decide_removal(node, [pod], after(LIMIT - 1), limit=LIMIT).act == expected


def test_finished_pods_are_deleted_after_those_that_run() -> None:
    node = build_live(annotations={labels.REMOVED_SINCE: SINCE})
    done, busy = build_pod("done", phase="Succeeded"), build_pod("busy")
    assert decide_removal(node, [done, busy], after(LIMIT - 1), limit=LIMIT).pods == (busy,)
    assert decide_removal(node, [done], after(LIMIT - 1), limit=LIMIT).pods == (done,)
    assert decide_removal(node, [done, busy], after(LIMIT), limit=LIMIT).pods == (done, busy)
    assert decide_removal(node, [done], after(LIMIT + END_SECONDS), limit=LIMIT).act == "Force"


@pytest.mark.parametrize(("limit", "act"), [(0.0, "Delete"), (10.0, "Evict")])
def test_of_a_backend_that_goes_no_shape_comes_back(limit: float, act: str) -> None:
    node = build_live(annotations={labels.REMOVED_SINCE: SINCE})
    assert decide_removal(node, [build_pod("a")], after(1), limit=limit, settle=0).act == act


def test_a_shape_never_takes_longer_to_settle_than_its_pods_may_take() -> None:
    node = build_live(annotations={labels.REMOVED_SINCE: SINCE})
    assert decide_removal(node, [build_pod("a")], after(11), limit=10).act == "Delete"


def test_all_that_may_be_left_are_named_in_messages_that_fit_into_events() -> None:
    pods = [build_pod("x" * 60 + str(number)) for number in range(9)]
    found = describe_left("n" * 63, pods)
    assert len(found) == 3
    assert max(len(text) for text in found) < 1000
    assert all(pod["metadata"]["name"] in " ".join(found) for pod in pods)
