"""The policy of a nested cluster."""

from typing import Any

import pytest

from nestor.api.policy import Policy


@pytest.mark.parametrize(
    ("status", "level"),
    [
        ({"policy": {"podSecurity": "Privileged"}}, "Privileged"),
        ({"policy": {"podSecurity": "Baseline"}}, "Baseline"),
        # What is not said, or not understood, is not allowed.
        ({}, "Baseline"),
        ({"policy": {}}, "Baseline"),
        ({"policy": None}, "Baseline"),
        ({"policy": {"podSecurity": "Anything"}}, "Baseline"),
        ({"policy": "Privileged"}, "Baseline"),
        ({"policy": {"podSecurity": "Privileged", "ofALaterVersion": True}}, "Privileged"),
    ],
)
def test_the_policy_is_read_from_the_status(status: dict[str, Any], level: str) -> None:
    assert Policy.read({"metadata": {"name": "c"}, "status": status}).pod_security == level


def test_a_cluster_that_is_gone_has_the_strictest_policy() -> None:
    assert Policy.read(None) == Policy()


def test_the_spec_says_nothing_about_the_policy() -> None:
    """Users may write it, of clusters of their own."""
    assert Policy.read({"metadata": {"name": "c"}, "spec": {"policy": {"podSecurity": "Privileged"}}}) == Policy()
