"""How the demo tells where pods are."""

from __future__ import annotations

from typing import Any

from devcluster.demo.places import Places
from nestor.api import labels

Object = dict[str, Any]

NODES = {"small": "", "hpc": "hpc", "far": "far"}


def pod(name: str, node: str | None = None, phase: str = "Pending", why: str = "") -> Object:
    notes = {labels.NESTED_NAME: name, labels.PLACE: "HostFirst"} | ({labels.PLACE_REASON: why} if why else {})
    return {"metadata": {"annotations": notes}, "spec": {"nodeName": node} if node else {}, "status": {"phase": phase}}


def test_each_pod_is_told_once_and_counts_when_they_change() -> None:
    places = Places(NODES)
    assert places.tell([]) == ["pods: 0 here, 0 at 'far', 0 at 'hpc'"]
    first = [pod("a", "small"), pod("b")]
    assert places.tell(first) == ["a stays, on node 'small'", "pods: 1 here, 0 at 'far', 0 at 'hpc', 1 without a node"]
    assert places.tell(first) == []
    second = [pod("a", "small", "Running"), pod("b", "hpc"), pod("c", "far", why="it requests 'x/gpu'")]
    assert places.tell(second) == [
        "b goes to backend 'hpc': no node of the host cluster could take it",
        "c goes to backend 'far': it requests 'x/gpu'",
        "pods: 1 here, 1 at 'far', 1 at 'hpc'",
    ]


def test_pods_that_have_ended_count_in_the_summary_alone() -> None:
    places = Places(NODES)
    places.tell([pod("a", "small", "Succeeded"), pod("b", "hpc", "Failed"), pod("c", "hpc", "Running")])
    assert places.tell([]) == ["pods: 0 here, 0 at 'far', 0 at 'hpc'"]
    assert places.summarize() == ["here  1", "far   0", "hpc   2"]


def test_a_node_that_is_not_known_is_no_place() -> None:
    places = Places(NODES)
    assert places.tell([pod("a", "new")]) == ["pods: 0 here, 0 at 'far', 0 at 'hpc', 1 without a node"]
    assert places.summarize() == ["here  0", "far   0", "hpc   0"]
