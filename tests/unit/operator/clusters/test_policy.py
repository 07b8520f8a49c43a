"""What a class allows the pods of its clusters."""

from __future__ import annotations

import pytest

from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.policy import Policy
from nestor.operator.clusters.policy import resolve_policy
from tests.unit.operator.builders import Object, build_job, build_policy


@pytest.mark.parametrize(
    ("namespace", "policy"),
    [
        ({}, Policy(pod_security="Baseline")),
        ({"podSecurity": "Baseline"}, Policy(pod_security="Baseline")),
        ({"podSecurity": "Privileged"}, Policy(pod_security="Privileged")),
    ],
)
def test_it_is_the_classs_with_and_without_a_job(namespace: Object, policy: Policy) -> None:
    job = NestedAppJobSpec.model_validate(build_job()["spec"])
    assert resolve_policy(build_policy(namespace=namespace), None) == policy
    assert resolve_policy(build_policy(namespace=namespace), job) == policy
