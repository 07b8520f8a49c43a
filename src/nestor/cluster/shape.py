"""`Shape`: everything that the builders need to know about one nested cluster, with all defaults resolved."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from nestor.api.class_parts import NetworkPolicyModel, Peer
from nestor.api.contracts import syncer
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object
from nestor.api.placement_rules import AssignedNodes
from nestor.api.policies import Persistence
from nestor.cluster.home import Home

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

CLOSED_V6 = ("fc00::/7",)
"""Private IPv6 addresses."""

_TAG = re.compile(r":(v[\d.]+)(?:-[\w.-]*)?(?:@[\w:]+)?$", re.ASCII)

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
    policy: NestedClassSpec
    """Its class, with what the job's machine and wishes change of it."""
    persistence: Persistence | None = None
    """The volume of its data; None: the data lives in the server's pod."""
    server_seconds: int = syncer.SERVER_SECONDS
    """How long K3s may run before its container is restarted."""
    nodes: AssignedNodes = field(default_factory=AssignedNodes)
    """Where its own pod may run; it says nothing unless Kueue has assigned nodes. A running pod stays."""
    pulls: Object = field(default_factory=dict)
    """The pull Secrets of its own pod, as the pod's spec has them."""
    replicas: int = 1
    """1, or 0 while the cluster is suspended, provided that its data is on a volume."""

    @property
    def seed(self) -> str:
        """The version of Kubernetes whose seed its datastore begins with, by the image's tag. Empty if there is none: then K3s
        itself makes what every new cluster has, which takes a quarter more processor time.

        The syncer writes the seed, and K3s's shell takes it if there is no data yet. That of another patch level does not do: its
        roles may be wider, and a server does not narrow those that it finds.
        """
        tag = _TAG.search(self.image)
        return tag[1] if tag and tag[1] in syncer.SEEDS else ""

    @property
    def api_from(self) -> list[Peer]:
        """From where its API server may be reached: by Argo CD, too, even if only some others may."""
        peers, argo_cd = self.policy.network.api_from, self.policy.argo_cd
        return [*peers, argo_cd.namespace] if peers and argo_cd else peers

    @property
    def closed_ranges(self) -> list[str]:
        return list_closed_ranges(self.policy.network, self.host)


def list_closed_ranges(network: NetworkPolicyModel, host: Host) -> list[str]:
    """Where the host cluster and its surroundings are: its Services and the class's private ranges, merged."""
    found = [ipaddress.ip_network(cidr, strict=False) for cidr in (*network.private_ranges, *host.service_cidrs)]
    return collapse([*found, *(ipaddress.ip_network(cidr) for cidr in CLOSED_V6)])


def choose_cluster_cidr(service_cidrs: tuple[str, ...]) -> str:
    """A pod range for the nested cluster. It is unused (pods get the host's addresses), but must not overlap Service ranges."""
    taken = [ipaddress.ip_network(cidr) for cidr in service_cidrs]
    chosen = []
    for version, candidates in ((4, ("10.42.0.0/16", "172.30.0.0/16", "192.168.0.0/17")), (6, ("fd42::/48", "fd43::/48"))):
        if rivals := [network for network in taken if network.version == version]:
            chosen.append(next(item for item in candidates if not any(map(ipaddress.ip_network(item).overlaps, rivals))))
    return ",".join(chosen)


def collapse(networks: Sequence[Network]) -> list[str]:
    """The networks, merged where they overlap, IPv4 first."""
    found: list[str] = []
    for version in (4, 6):
        chosen: list[Any] = [network for network in networks if network.version == version]
        found += [str(network) for network in ipaddress.collapse_addresses(chosen)]
    return found
