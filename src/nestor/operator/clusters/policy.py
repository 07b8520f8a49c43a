"""What a nested cluster's pods are allowed: by its class, and by what its job asks for."""

from __future__ import annotations

from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.policy import Policy


def resolve_policy(policy: NestedClassSpec, job: NestedAppJobSpec | None) -> Policy:
    """The policy that the cluster's syncer obeys. Pure; `job` is None for a cluster that a user made."""
    del job  # Nothing that a job asks for counts yet.
    return Policy(pod_security=policy.namespace.pod_security)
