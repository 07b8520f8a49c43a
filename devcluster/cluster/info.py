"""What callers get to know about a cluster."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class ClusterInfo:
    """How to reach a cluster and the applications that are exposed in it."""

    kubeconfig: Path
    http_url_port: int
    """Port of `http://<host>.<domain>:<port>`; 80 means that URLs need none."""
    domain: str
    """Hosts below it lead to the Ingress controller."""
    ingress_class: str
    https_url_port: int = 443
    """Port of `https://<host>.<domain>:<port>`, for hosts with a certificate; 443 means that URLs need none."""
    address: str = "127.0.0.1"
    """Where the Ingress controller listens, as this machine reaches it."""


@dataclass(frozen=True)
class Status:
    """How a cluster is."""

    kind: str
    """`embedded`, `current` or `kind`."""
    running: bool
    """Whether there is a cluster at all, healthy or not."""
    healthy: bool
    """Whether everything that was asked for is well."""
    message: str
    checks: dict[str, bool] = field(default_factory=dict)
    """Each thing that was asked for, and whether it was well."""
