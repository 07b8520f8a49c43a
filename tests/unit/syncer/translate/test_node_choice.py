"""Which nodes a class shows."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api.data import read
from nestor.api.policy import Policy
from nestor.syncer.copies.rows.nodes import find_selector, is_shown
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
    policy = read(Policy, {"nodes": "All", "placement": {"nodeSelector": {"pool": "x"}}})
    assert find_selector(policy) == "pool=x,!nestor.dev/backend"
