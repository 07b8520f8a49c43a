"""`Shape`: everything that the builders need to know about one nested cluster, resolved; and what all its objects share."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from nestor import names
from nestor.api import labels
from nestor.api.base import Resources
from nestor.api.nestedclass import NetworkPolicyModel, Peer
from nestor.api.policies import Persistence
from nestor.objects import Object

DATA_VOLUME = "data"
API_PORT = 6443
DNS_PORT = 1053
"""Not 53: CoreDNS needs no privilege for it, and the Service translates."""


@dataclass(frozen=True)
class Host:
    """Facts about the host cluster, read once at start-up."""

    service_cidrs: tuple[str, ...]
    api_addresses: tuple[str, ...] = ()
    """Where the host's API server is reached by pods, besides its Service."""


@dataclass(frozen=True)
class Shape:
    """One nested cluster."""

    name: str
    namespace: str
    labels: dict[str, str]
    """Of the job (or only `managed-by`, for a cluster without one)."""
    kubernetes_version: str
    image: str
    core_dns_image: str
    nestor_image: str
    host: Host
    resources: Resources | None = None
    network: NetworkPolicyModel = field(default_factory=NetworkPolicyModel)
    exposed_from: tuple[Peer, ...] = ()
    owner: Object | None = None
    """Owner reference for the cluster's objects; None where they go with their namespace."""
    persistence: Persistence | None = None
    """The volume of its data; None: the data lives in the server's pod."""
    replicas: int = 1
    """1, or 0 while the cluster rests; only where its data is on a volume."""

    def child(self, part: str) -> str:
        """The name of one of the cluster's objects, as `hello-k3s`."""
        return names.child(self.name, part)

    @property
    def claim(self) -> str:
        """The name of the claim that its StatefulSet makes for its data, where there is `persistence`."""
        return f"{DATA_VOLUME}-{self.child('k3s')}-0"

    @property
    def server_host(self) -> str:
        """DNS name of the API server in the host cluster."""
        return f"{self.child('k3s')}.{self.namespace}.svc"

    def metadata(self, name: str, *, component: str | None = None, annotations: dict[str, str] | None = None) -> Object:
        """Metadata of one of the cluster's objects."""
        found: Object = {
            "name": name,
            "namespace": self.namespace,
            "labels": self.labels | {labels.CLUSTER: self.name} | ({labels.COMPONENT: component} if component else {}),
        }
        if annotations:
            found["annotations"] = annotations
        if self.owner:
            found["ownerReferences"] = [self.owner]
        return found

    def pod_labels(self, component: str) -> dict[str, str]:
        """The labels that select the cluster's pods of one component."""
        return {labels.CLUSTER: self.name, labels.COMPONENT: component}


def choose_cluster_cidr(service_cidrs: tuple[str, ...]) -> str:
    """A pod range for the nested cluster. Nothing uses it (pods get the host's addresses), but it must not overlap services."""
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
