"""What the steps of a job may fetch from elsewhere: the class's policy, and never the host cluster's own addresses. Pure."""

from __future__ import annotations

import ipaddress

from nestor.api.nestedclass import RemotePolicy
from nestor.cluster.policies import METADATA
from nestor.cluster.shape import Host
from nestor.steps import Remote


def build_remote(policy: RemotePolicy, host: Host | None) -> Remote:
    """The policy as a plan carries it."""
    return Remote(
        enabled=policy.enabled,
        allowed_hosts=tuple(policy.allowed_hosts),
        max_bytes=policy.max_bytes,
        denied_addresses=list_denied(host),
    )


def list_denied(host: Host | None) -> tuple[str, ...]:
    """Addresses that hand out more than templates: the host's API server, by its Service and directly, and the cloud's metadata.

    The network policies close them as well, where the host's network plugin keeps policies.
    """
    if host is None:
        return tuple(METADATA)
    services = (str(ipaddress.ip_network(cidr)[1]) for cidr in host.service_cidrs)
    return (*services, *host.api_addresses, *METADATA)
