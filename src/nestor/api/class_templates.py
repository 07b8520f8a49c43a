"""What a class says about templates: which ones may come from outside the app image."""

from __future__ import annotations

from pydantic import Field

from nestor.api.base import HostPattern
from nestor.api.model import Model


class RemotePolicy(Model):
    """Templates and charts from outside the app image."""

    enabled: bool = Field(
        True, description="Whether steps may use a URL (`format: url`) or a remote Helm chart. Defaults to true."
    )
    allowed_hosts: list[HostPattern] = Field(
        default_factory=list,
        description="Hosts that these URLs may name: host names, or `*.example.com` for all hosts below example.com. "
        "If not set, any host. The node, the cloud's metadata address and the host cluster's API server are never allowed. This "
        "is no boundary: scripts (type `custom`) and the application's own pods connect to whatever `network` allows.",
        max_length=64,
    )
    max_bytes: int = Field(
        16 * 2**20, description="Maximum size of a downloaded template, in bytes. Defaults to 16 MiB.", ge=1024, le=2**30
    )


class TemplatesPolicy(Model):
    """What the steps may do."""

    remote: RemotePolicy = Field(default_factory=RemotePolicy, description="Templates and charts from outside the app image.")
