"""Facts about the host cluster: what every nested cluster is built with, and what the steps of a job must not reach."""

from __future__ import annotations

import ipaddress

from nestor.api.nestedclass import RemotePolicy
from nestor.cluster.policies import METADATA
from nestor.cluster.shape import Host
from nestor.kube import Api, Forbidden, NotFound, kinds
from nestor.steps import Remote


class HostUnknown(Exception):
    """The host does not say what must be known; the message says how to tell the operator."""


async def read_host(api: Api, service_cidrs: tuple[str, ...]) -> Host:
    """Service ranges (those given win) and the addresses behind the host's own API Service. Raises `HostUnknown`."""
    return Host(service_cidrs or await _read_service_cidrs(api), await _read_api_addresses(api))


async def _read_service_cidrs(api: Api) -> tuple[str, ...]:
    """Kubernetes 1.33 and later keep them in the ServiceCIDR object named `kubernetes`."""
    try:
        found = await api.get(kinds.SERVICE_CIDR, "kubernetes")
    except (NotFound, Forbidden) as error:
        raise HostUnknown(
            f"the host's Service range is not known ({error}); set NESTOR_SERVICE_CIDR (helm: operator.serviceCIDR)"
        ) from error
    return tuple(found["spec"]["cidrs"])


async def _read_api_addresses(api: Api) -> tuple[str, ...]:
    """Where Service `kubernetes` leads to: pods could go there directly."""
    slices = await api.list(kinds.ENDPOINT_SLICE, "default", labels="kubernetes.io/service-name=kubernetes")
    found = {
        address
        for item in slices
        if item.get("addressType") in ("IPv4", "IPv6")
        for endpoint in item.get("endpoints") or ()
        for address in endpoint.get("addresses") or ()
    }
    return tuple(sorted(found))


def build_remote(policy: RemotePolicy, host: Host | None) -> Remote:
    """What the steps of a job may fetch from elsewhere, as a plan carries it: never the host cluster's own addresses. Pure."""
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
