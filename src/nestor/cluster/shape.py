"""`Shape`: everything that the builders need to know about one nested cluster, with all defaults resolved."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from nestor.api.base import Resources
from nestor.api.nestedclass import NetworkPolicyModel, Peer
from nestor.api.policies import Persistence
from nestor.cluster.home import Home
from nestor.names import Part

API_PORT = 6443
DNS_PORT = 1053
"""Not 53, so that CoreDNS needs no privileges; the Service maps the port."""


@dataclass(frozen=True)
class Host:
    """Facts about the host cluster."""

    service_cidrs: tuple[str, ...]
    api_addresses: tuple[str, ...] = ()
    """The addresses at which pods reach the host's API server, besides its Service."""


@dataclass(frozen=True, kw_only=True)
class Shape(Home):
    """One nested cluster."""

    image: str
    core_dns_image: str
    nestor_image: str
    host: Host
    resources: Resources | None = None
    network: NetworkPolicyModel = field(default_factory=NetworkPolicyModel)
    exposed_from: tuple[Peer, ...] = ()
    persistence: Persistence | None = None
    """The volume of its data; None: the data lives in the server's pod."""
    replicas: int = 1
    """1, or 0 while the cluster is suspended, provided that its data is on a volume."""

    @property
    def server_host(self) -> str:
        """DNS name of the API server in the host cluster."""
        return f"{self.child(Part.SERVER)}.{self.namespace}.svc"


def choose_cluster_cidr(service_cidrs: tuple[str, ...]) -> str:
    """A pod range for the nested cluster. It is unused (pods get the host's addresses), but must not overlap Service ranges."""
    taken = [ipaddress.ip_network(cidr) for cidr in service_cidrs]
    chosen = []
    for version, candidates in ((4, ("10.42.0.0/16", "172.30.0.0/16", "192.168.0.0/17")), (6, ("fd42::/48", "fd43::/48"))):
        if not any(network.version == version for network in taken):
            continue
        free = (item for item in candidates if not any(_overlaps(item, network) for network in taken))
        chosen.append(next(free))
    return ",".join(chosen)


def _overlaps(candidate: str, network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    other = ipaddress.ip_network(candidate)
    return other.version == network.version and other.overlaps(network)
