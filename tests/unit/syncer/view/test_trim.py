"""What is kept of objects that are too large."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.syncer.view.trim import is_cut, trim_policy

Object = dict[str, Any]


@pytest.mark.parametrize(("size", "is_kept"), [(1, True), (100, True), (70_000, False)])
def test_of_a_policy_that_is_too_large_only_whom_it_isolates_is_kept(size: int, is_kept: bool) -> None:
    spec = {
        "podSelector": {"matchLabels": {"app": "x"}},
        "policyTypes": ["Egress"],
        "egress": [{"ports": [{"name": "x" * size}]}],
    }
    policy = {"kind": "NetworkPolicy", "metadata": {"name": "a"}, "spec": spec}
    kept = trim_policy(policy)
    assert kept["spec"] == (spec if is_kept else {key: spec[key] for key in ("podSelector", "policyTypes")})
    assert is_cut(kept) is not is_kept
    assert trim_policy(kept) == kept


def test_a_policy_with_a_huge_selector_isolates_all_pods_of_its_namespace() -> None:
    spec = {"podSelector": {"matchLabels": {str(number): "x" * 60 for number in range(2000)}}, "policyTypes": ["Egress"]}
    kept = trim_policy({"kind": "NetworkPolicy", "metadata": {"name": "a"}, "spec": spec})
    assert is_cut(kept)
    assert kept["spec"] == {"podSelector": {}, "policyTypes": ["Egress"]}


def test_of_a_policy_no_annotations_are_kept() -> None:
    meta = {"name": "a", "annotations": {"note": "x" * 100_000}, "labels": {"note": "x"}}
    assert trim_policy({"kind": "NetworkPolicy", "metadata": meta, "spec": {}})["metadata"] == {"name": "a"}
