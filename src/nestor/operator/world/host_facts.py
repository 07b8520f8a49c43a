"""Facts about the host cluster: what nested clusters are built from, what a job's steps must not reach, and changes of both."""

import asyncio
import ipaddress
import itertools
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from nestor.api.contracts.addresses import is_address
from nestor.api.contracts.cluster import DOMAIN
from nestor.api.objects import Object, spec_of
from nestor.api.overflowbackend import NodeTemplate, Taint
from nestor.apps.steps import Remote
from nestor.cluster.policies import METADATA
from nestor.cluster.shape import Host, HostDns
from nestor.kube import Api, ApiError, Forbidden, NotFound, kinds
from nestor.operator.world.context import Context

RESOLVER = Path("/etc/resolv.conf")


class HostUnknown(Exception):
    """The host does not reveal a required fact; the message says how to configure it."""


async def read_host(api: Api, service_cidrs: tuple[str, ...], dns: HostDns | None = None) -> Host:
    """Read the Service ranges (unless given), what is behind the host's own API Service, and its DNS. Raises `HostUnknown`.

    `dns`: what an admin says about where that listens.
    """
    cidrs = service_cidrs or await _read_service_cidrs(api)
    addresses, ports = await _read_api_endpoints(api)
    is_inside = "KUBERNETES_SERVICE_HOST" in os.environ  # otherwise, the file is about another network
    resolvers, domain = read_resolver(await asyncio.to_thread(RESOLVER.read_text)) if is_inside else ((), "")
    return Host(cidrs, addresses, ports, resolvers, domain, dns or HostDns())


async def _read_service_cidrs(api: Api) -> tuple[str, ...]:
    """Read them from the ServiceCIDR object `kubernetes`, which exists since Kubernetes 1.33."""
    try:
        found = await api.get(kinds.SERVICE_CIDR, "kubernetes")
    except (NotFound, Forbidden) as error:
        raise HostUnknown(
            f"the host's Service range is unknown ({error}); set NESTOR_SERVICE_CIDR (helm: operator.serviceCIDR)"
        ) from error
    return tuple(found["spec"]["cidrs"])


async def _read_api_endpoints(api: Api) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Addresses and ports of the endpoints of Service `kubernetes`, which pods could also reach directly."""
    slices = await api.list(kinds.ENDPOINT_SLICE, "default", labels="kubernetes.io/service-name=kubernetes")
    found = [item for item in slices if item.get("addressType") in ("IPv4", "IPv6")]
    addresses = {
        address for item in found for endpoint in item.get("endpoints") or () for address in endpoint.get("addresses") or ()
    }
    ports = {port["port"] for item in found for port in item.get("ports") or () if port.get("port")}
    return tuple(sorted(addresses)), tuple(sorted(ports))


def read_resolver(text: str) -> tuple[tuple[str, ...], str]:
    """Name servers and cluster domain that pods of the host get, from the operator's own `resolv.conf`. Pure.

    The domain is empty if it is that of the nested clusters too, whose own names then take the place of the host's.
    """
    lines = [line.split() for line in text.splitlines()]
    servers = [line[1] for line in lines if line[:1] == ["nameserver"] and len(line) > 1 and is_address(line[1])]
    searched = [name.rstrip(".") for line in lines if line[:1] == ["search"] for name in line[1:]]
    domain = next((name.removeprefix("svc.") for name in searched if name.startswith("svc.")), "")
    return tuple(servers), "" if domain == DOMAIN else domain


def build_remote(hosts: Sequence[str] | None, host: Host | None) -> Remote:
    """What a job's steps may download: from hosts that its class allows, never from the host cluster's own addresses. Pure."""
    denied = list(METADATA)
    if host is not None:  # its API server, by Service and directly; network policies block it too, if the host enforces them
        denied = [*(str(ipaddress.ip_network(cidr)[1]) for cidr in host.service_cidrs), *host.api_addresses, *denied]
    return Remote(enabled=hosts is None or bool(hosts), allowed_hosts=tuple(hosts or ()), denied_addresses=tuple(denied))


log = logging.getLogger(__name__)

SECONDS = 60
"""How soon network policies follow."""


async def keep_host(context: Context, on_change: Callable[[], None], delays: Iterable[float] | None = None) -> None:
    """Read the facts again periodically. What is not readable stays as it was."""
    for delay in delays or itertools.repeat(SECONDS):
        await asyncio.sleep(delay)
        try:
            found = await read_host(context.api, context.settings.service_cidr, context.settings.dns)
        except (ApiError, HostUnknown) as error:
            log.info("the facts about the host cannot be read: %s", error)
            continue
        if found != context.host and (found.api_addresses or not context.host.api_addresses):
            log.info("Service ranges are now %s, API addresses %s", *map(", ".join, (found.service_cidrs, found.api_addresses)))
            context.host = found
            on_change()


Taints = dict[str, tuple[Taint, ...]]
"""By the name of the backend."""


def read_taints(backends: Iterable[Object]) -> Taints:
    """Without backends that cannot be read."""
    found = {}
    for backend in backends:
        name = backend["metadata"]["name"]
        try:
            found[name] = tuple(NodeTemplate.model_validate(spec_of(backend).get("node") or {}).list_taints(name))
        except ValidationError as error:
            log.debug("the taints of backend '%s' cannot be read: %s", name, error)
    return found
