"""What a nested cluster's pods may do, according to its class and its job."""

from __future__ import annotations

from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.policy import Policy


def resolve_policy(policy: NestedClassSpec, job: NestedAppJobSpec | None) -> Policy:
    """The policy that the cluster's syncer enforces. Pure; `job` is None for a cluster that a user created."""
    del job  # Jobs cannot ask for anything yet.
    return Policy(pod_security=policy.namespace.pod_security)
