"""`Shape`: everything that the builders need to know about one nested cluster, with all defaults resolved."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from nestor.api.allowances import ServicesPolicy
from nestor.api.base import Resources
from nestor.api.class_parts import NetworkPolicyModel, Peer
from nestor.api.contracts.syncer import SERVER_SECONDS
from nestor.api.names import Part
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.placement_rules import AssignedNodes
from nestor.api.policies import Persistence
from nestor.cluster.home import Home

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

CLOSED_V6 = ("fc00::/7",)
"""Private IPv6 addresses."""

DNS_PORT = 1053
"""Not 53, so that CoreDNS needs no privileges; the Service maps the port."""


@dataclass(frozen=True)
class HostDns:
    """Where the host's DNS listens, besides the addresses that pods get: network plugins see the pods behind them."""

    namespaces: tuple[str, ...] = ("kube-system",)
    """Of its pods."""
    ports: tuple[int, ...] = (53,)
    """At the addresses and at the pods, which may listen at others."""
    ranges: tuple[str, ...] = ()
    """Address ranges, for one that no pod of the host serves."""


@dataclass(frozen=True)
class Host:
    service_cidrs: tuple[str, ...]
    api_addresses: tuple[str, ...] = ()
    """The addresses at which pods reach the host's API server, besides its Service."""
    api_ports: tuple[int, ...] = ()
    """The ports at these addresses."""
    resolvers: tuple[str, ...] = ()
    """The addresses of the host's DNS, as pods get them."""
    domain: str = ""
    """The host's cluster domain, if it is not the nested clusters' own."""
    dns: HostDns = field(default_factory=HostDns)


@dataclass(frozen=True, kw_only=True)
class Shape(Home):
    """One nested cluster."""

    image: str
    core_dns_image: str
    nestor_image: str
    host: Host
    resources: Resources | None = None
    network: NetworkPolicyModel = field(default_factory=NetworkPolicyModel)
    services: ServicesPolicy = field(default_factory=ServicesPolicy)
    exposed_from: tuple[Peer, ...] = ()
    has_snapshots: bool = False
    has_devices: bool = False
    has_budgets: bool = False
    """Whether its PodDisruptionBudgets hold in the host cluster."""
    has_issuer: bool = False
    """Whether cert-manager makes certificates for its hosts."""
    persistence: Persistence | None = None
    """The volume of its data; None: the data lives in the server's pod."""
    server_seconds: int = SERVER_SECONDS
    """How long K3s may run before its container is restarted."""
    nodes: AssignedNodes = field(default_factory=AssignedNodes)
    """Where its own pod may run; it says nothing unless Kueue has assigned nodes. A running pod stays."""
    replicas: int = 1
    """1, or 0 while the cluster is suspended, provided that its data is on a volume."""

    @classmethod
    def of(
        cls,
        spec: NestedClusterSpec,
        home: Home,
        policy: NestedClassSpec,
        *,
        host: Host,
        nestor_image: str,
        core_dns_image: str,
        server_seconds: int = SERVER_SECONDS,
    ) -> Self:
        """The shape of a cluster with a complete `spec`, that is, one with an image and, if it has a volume, with that."""
        return cls(
            **vars(home),
            image=spec.image or "",
            core_dns_image=core_dns_image,
            nestor_image=nestor_image,
            host=host,
            resources=policy.cluster.resources,
            network=_open_api(policy),
            services=policy.services,
            exposed_from=tuple(policy.expose.from_),
            has_snapshots=policy.storage is not None and bool(policy.storage.snapshot_classes),
            has_devices=policy.devices is not None and bool(policy.devices.classes),
            has_budgets=policy.placement is not None and policy.placement.disruption_budgets,
            has_issuer=policy.expose.has_issuer,
            persistence=spec.persistence,
            server_seconds=server_seconds,
        )

    @property
    def closed_ranges(self) -> list[str]:
        return list_closed_ranges(self.network, self.host)

    @property
    def server_host(self) -> str:
        """DNS name of the API server in the host cluster."""
        return f"{self.child(Part.SERVER)}.{self.namespace}.svc"


def _open_api(policy: NestedClassSpec) -> NetworkPolicyModel:
    """The class's network, where Argo CD reaches the API server even if only some others do."""
    if policy.argo_cd is None or not policy.network.api_from:
        return policy.network
    peers = [*policy.network.api_from, policy.argo_cd.namespace]
    return policy.network.model_copy(update={"api_from": peers})


def list_closed_ranges(network: NetworkPolicyModel, host: Host) -> list[str]:
    """Where the host cluster and its surroundings are: its Services and the class's private ranges, merged."""
    found = [ipaddress.ip_network(cidr, strict=False) for cidr in (*network.private_ranges, *host.service_cidrs)]
    return collapse([*found, *(ipaddress.ip_network(cidr) for cidr in CLOSED_V6)])


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


def collapse(networks: Sequence[Network]) -> list[str]:
    """The networks, merged where they overlap, IPv4 first."""
    found: list[str] = []
    for version in (4, 6):
        chosen: list[Any] = [network for network in networks if network.version == version]
        found += [str(network) for network in ipaddress.collapse_addresses(chosen)]
    return found


def _overlaps(candidate: str, network: Network) -> bool:
    other = ipaddress.ip_network(candidate)
    return other.version == network.version and other.overlaps(network)
