"""Which nodes a class shows."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api.data import read
from nestor.api.policy import Policy
from nestor.syncer.translate.node_choice import find_selector, is_shown
from tests.fakes.api import _is_selected

Object = dict[str, Any]

NODES = {
    "a": {"zone": "a", "cores": "8"},
    "b": {"zone": "b", "cores": "16", "pool": "batch"},
    "bare": {},
    "virtual": {"zone": "a", "nestor.dev/backend": "hpc"},
    "slurm": {"zone": "a", "queue": "long"},
}
OVERFLOW = {"backends": [{"name": "slurm", "nodeSelector": {"queue": "long"}}]}


def build_node(name: str) -> Object:
    return {"metadata": {"name": name, "labels": NODES[name]}}


@pytest.mark.parametrize(
    ("policy", "shown"),
    [
        ({"nodes": "All"}, ["a", "b", "bare", "slurm"]),
        ({"nodes": "All", "placement": {"overflow": OVERFLOW}}, ["a", "b", "bare"]),
        ({"nodes": "All", "placement": {"nodeSelector": {"pool": "batch"}}}, ["b"]),
        ({"nodes": "All", "placement": {"requiredNodes": [{"key": "zone", "operator": "Exists"}]}}, ["a", "b", "slurm"]),
        ({"nodes": "All", "placement": {"requiredNodes": [{"key": "cores", "operator": "Gt", "values": ["8"]}]}}, ["b"]),
        ({"nodes": "Selected", "nodeSelector": {"matchLabels": {"zone": "a"}}}, ["a", "slurm"]),
        (
            {
                "nodes": "Selected",
                "nodeSelector": {
                    "matchExpressions": [
                        {"key": "zone", "operator": "In", "values": ["a", "b"]},
                        {"key": "queue", "operator": "DoesNotExist"},
                        {"key": "pool", "operator": "NotIn", "values": ["batch", "other"]},
                    ]
                },
            },
            ["a"],
        ),
        ({"nodes": "Selected"}, ["a", "b", "bare", "slurm"]),
    ],
)
def test_those_that_the_class_selects_and_lets_pods_run_on(policy: Object, shown: list[str]) -> None:
    found = read(Policy, policy)
    selector = find_selector(found)
    assert selector is not None
    assert [name for name in NODES if is_shown(build_node(name), found)] == shown
    assert {name for name in NODES if _is_selected(build_node(name), selector)} >= set(shown)


def test_by_default_none() -> None:
    assert find_selector(Policy()) is None
    assert not any(is_shown(build_node(name), Policy()) for name in NODES)


def test_what_a_label_selector_can_say_is_asked_of_the_server() -> None:
    rules = [{"key": "a", "operator": "NotIn", "values": ["1", "2"]}, {"key": "b", "operator": "Lt", "values": ["3"]}]
    policy = read(Policy, {"nodes": "All", "placement": {"requiredNodes": rules, "nodeSelector": {"pool": "x"}}})
    assert find_selector(policy) == "pool=x,a notin (1,2),!nestor.dev/backend"
