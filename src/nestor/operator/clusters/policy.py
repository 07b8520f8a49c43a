"""What a nested cluster's pods may do, according to its class and its job."""

from nestor.api import data
from nestor.api.allowances import AllowedServices, ArgoCDAccess, ServicesPolicy
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.policies import IpBlock
from nestor.api.policy import Policy
from nestor.cluster.namespace import find_default_limits
from nestor.cluster.policies import build_internet, list_closed
from nestor.cluster.shape import Host
from nestor.operator.admission.checks import find_idle_limit, resolve_storage
from nestor.operator.admission.placement import apply_machine, resolve_placement, tolerate_backends
from nestor.operator.world.host_facts import Taints


def resolve_policy(
    policy: NestedClassSpec | None,
    *,
    job: NestedAppJobSpec | None = None,
    taints: Taints | None = None,
    host: Host | None = None,
    before: Policy | None = None,
) -> Policy:
    """The policy that the cluster's syncer obeys. Pure.

    `policy` is None when the class is gone: then the strictest policy holds. `job`: its spec, if it can be read; wishes that the
    class does not allow are left out. `taints`: those of the backends' nodes. `host`: without it, no address is allowed that
    would have to be checked against the host's own. `before`: the cluster's policy so far.
    """
    if policy is None:
        return Policy(allowed_images=before.allowed_images if before else None)
    blocks = [data.read(IpBlock, item["ipBlock"]) for item in build_internet(policy.network, host)] if host else []
    own = apply_machine(policy, job.machine if job else None).namespace
    limit = find_default_limits(own)["ephemeral-storage"]
    return Policy(
        always_pull_images=policy.images.always_pull,
        allowed_images=policy.images.allowed,
        internet=blocks,
        storage=resolve_storage(policy, job),
        pod_security=own.pod_security,
        allowed_labels=own.allowed_labels,
        image_pull_secrets=policy.images.pull_secret_names or None,
        ephemeral_storage_limit=limit,
        services=_resolve_services(policy, host),
        devices=policy.devices,
        measures_idle=find_idle_limit(policy, job) is not None,
        nodes=None if policy.cluster.nodes == "InUse" else policy.cluster.nodes,
        argo_cd=ArgoCDAccess(namespaces=policy.argo_cd.namespaces) if policy.argo_cd else None,
        placement=tolerate_backends(resolve_placement(policy, job)[0], taints or {}),
    )


def _resolve_services(policy: NestedClassSpec, host: Host | None) -> AllowedServices | None:
    allowed = policy.services
    if allowed == ServicesPolicy():
        return None
    ranges = allowed.endpoint_ranges if host is not None else []
    closed = list_closed(policy.network, host) if host is not None and ranges else []
    said = {name: getattr(allowed, name) for name in data.list_names(ServicesPolicy)}
    return AllowedServices(**said | {"endpoint_ranges": ranges, "closed_ranges": closed})
