"""The operator's settings. How they are given: `flags`."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

from nestor.api.contracts.syncer import SERVER_SECONDS
from nestor.api.objects import Object
from nestor.cluster.pki import Lifetimes
from nestor.cluster.shape import HostDns

CORE_DNS_IMAGE = "docker.io/coredns/coredns:1.15.0"


@dataclass(frozen=True)
class Settings:
    """The settings in the operator's Deployment. Everything about jobs is in NestedClasses instead."""

    image: str
    """Nestor's image, for the syncers and runners, and for what serves backends."""
    runner_image: str = ""
    """The image of runners, with the tools that steps use; empty: the same."""
    image_pull_policy: str = "IfNotPresent"
    """When the pods that serve backends pull it."""
    namespace: str = "nestor-system"
    """The operator's own namespace: TLS Secrets of classes are read from it."""
    k3s_versions: Mapping[str, str] = field(default_factory=dict)
    """The image of K3s for each version of Kubernetes that classes may offer."""
    core_dns_image: str = CORE_DNS_IMAGE
    """The image of the nested clusters' DNS."""
    service_cidrs: tuple[str, ...] = ()
    """The host cluster's Service ranges; empty: read from the host (ServiceCIDR, Kubernetes 1.33 and later)."""
    port: int = 8080
    """Port of /healthz, /readyz and, with `metrics`, /metrics."""
    lease: str = ""
    """The Lease in its namespace that it must hold to do anything; empty: there is no second operator."""
    lease_seconds: float = 15
    """After so long without a renewal, the next operator takes the Lease."""
    place: str = ""
    """Its pod: a new process in it does not wait for the Lease of the old one."""
    workers: int = 10
    """Jobs reconciled at the same time."""
    force_after_seconds: float = 45
    """How long a deletion may take before what is left is force-deleted."""
    give_up_after_seconds: float = 300
    """How long a deletion may take before a stuck namespace is left behind, with an event that says so."""
    access_seconds: float = Lifetimes().access.total_seconds()
    """How long the certificates of a cluster's own processes are valid."""
    admin_seconds: float = Lifetimes().admin.total_seconds()
    """How long the certificates in users' kubeconfigs are valid."""
    server_seconds: int = SERVER_SECONDS
    """How long K3s may run before its container is restarted."""
    network_probe: bool = False
    """Whether to find out if the host enforces network policies."""
    kueue: bool = False
    """Whether Kueue may decide when jobs start."""
    dns: HostDns = field(default_factory=HostDns)
    """Where the host's DNS listens."""
    vnode_pod: Object = field(default_factory=dict)
    """What admins say about the pods that serve backends, as fields of a pod's spec: see `flags.VNODE_FIELDS`."""
    metrics: bool = False
    """Whether /metrics is served."""
    log_level: str = "info"
    log_format: str = "text"

    @property
    def image_with_tools(self) -> str:
        """The image in which steps run."""
        return self.runner_image or self.image

    @property
    def lifetimes(self) -> Lifetimes:
        """How long certificates are valid."""
        return Lifetimes(datetime.timedelta(seconds=self.access_seconds), datetime.timedelta(seconds=self.admin_seconds))
