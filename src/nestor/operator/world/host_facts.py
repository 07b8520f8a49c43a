"""Facts about the host cluster that every nested cluster is built with."""

from __future__ import annotations

from nestor.cluster.shape import Host
from nestor.kube import Api, Forbidden, NotFound, kinds


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
