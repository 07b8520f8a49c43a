"""What is kept of objects that are too large."""

from nestor.syncer.view.trim import is_cut, trim_policy


def test_a_policy_with_a_huge_selector_isolates_all_pods_of_its_namespace() -> None:
    spec = {"podSelector": {"matchLabels": {str(number): "x" * 60 for number in range(2000)}}, "policyTypes": ["Egress"]}
    kept = trim_policy({"kind": "NetworkPolicy", "metadata": {"name": "a"}, "spec": spec})
    assert is_cut(kept)
    assert kept["spec"] == {"podSelector": {}, "policyTypes": ["Egress"]}


def test_of_a_policy_no_annotations_are_kept() -> None:
    meta = {"name": "a", "annotations": {"note": "x" * 100_000}, "labels": {"note": "x"}}
    assert trim_policy({"kind": "NetworkPolicy", "metadata": meta, "spec": {}})["metadata"] == {"name": "a"}
