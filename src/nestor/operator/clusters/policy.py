"""What a nested cluster's pods may do, according to its class and its job."""

from __future__ import annotations

from nestor.api.nestedclass import NestedClassSpec
from nestor.api.policy import Policy
from nestor.cluster.namespace import find_default_limits


def resolve_policy(policy: NestedClassSpec | None, *, is_job: bool) -> Policy:
    """The policy that the cluster's syncer obeys. Pure.

    `policy` is None when the class is gone: then the strictest policy holds. A cluster that is no job's is in its user's own
    namespace: for what the class says of the namespaces that jobs get, the strictest value holds there.
    """
    if policy is None:
        return Policy()
    found = Policy(always_pull_images=policy.images.always_pull)
    if not is_job:
        return found
    own = policy.namespace
    limit = find_default_limits(own)["ephemeral-storage"]
    return found.model_copy(
        update={"pod_security": own.pod_security, "allowed_labels": own.allowed_labels, "ephemeral_storage_limit": limit}
    )
