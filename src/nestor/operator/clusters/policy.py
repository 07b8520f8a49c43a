"""What a nested cluster's pods may do, according to its class and its job."""

from __future__ import annotations

from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.policy import Policy
from nestor.cluster.namespace import find_default_limits


def resolve_policy(policy: NestedClassSpec | None, job: NestedAppJobSpec | None) -> Policy:
    """The policy that the cluster's syncer obeys. Pure.

    `policy` is None when the class is gone: then the strictest policy holds. `job` is None for a cluster that a user made, in
    the user's own namespace: for what the class says of the namespaces that jobs get, the strictest value holds there.
    """
    if policy is None:
        return Policy()
    found = Policy(always_pull_images=policy.images.always_pull)
    if job is None:
        return found
    own = policy.namespace
    limit = find_default_limits(own)["ephemeral-storage"]
    return found.model_copy(
        update={"pod_security": own.pod_security, "allowed_labels": own.allowed_labels, "ephemeral_storage_limit": limit}
    )
