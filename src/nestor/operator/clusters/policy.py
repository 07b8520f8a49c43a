"""What a nested cluster's pods may do, according to its class and its job."""

from __future__ import annotations

from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.policy import Policy


def resolve_policy(policy: NestedClassSpec | None, job: NestedAppJobSpec | None) -> Policy:
    """The policy that the cluster's syncer obeys. Pure.

    `policy` is None when the class is gone. `job` is None for a cluster that a user made, in the user's own namespace: the
    class speaks only of the namespaces that jobs get. In both cases the strictest policy holds.
    """
    if policy is None or job is None:
        return Policy()
    return Policy(pod_security=policy.namespace.pod_security, allowed_labels=policy.namespace.allowed_labels)
