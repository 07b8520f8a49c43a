"""`OverflowBackend`: a place outside the host cluster where pods can run; it appears in the host cluster as virtual nodes."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from nestor.api.backend_interlink import Interlink, Tls
from nestor.api.backend_kubernetes import RemoteCluster
from nestor.api.backend_nodes import NodeTemplate, Shapes
from nestor.api.base import Resources, immutable, rule, rules
from nestor.api.endpoints import SecretKey
from nestor.api.model import Model


class OverflowBackendSpec(Model):
    """The backend."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "has(self.interlink) == (self.type == 'Interlink') && has(self.kubernetes) == (self.type == 'Kubernetes')",
                "exactly the section of the `type` must be set: `interlink` or `kubernetes`",
            ),
            rule(
                "has(self.shapes) || !has(self.interlink) || !has(self.interlink.discovery) "
                "|| self.interlink.discovery != 'None'",
                "`shapes` must be set if `interlink.discovery` is `None`: otherwise there would be no nodes",
            ),
            rule(
                "(has(self.node) && has(self.node.name)) == (has(oldSelf.node) && has(oldSelf.node.name))",
                "`node.name` may not be added or removed: delete the object and create it again",
            ),
        )
    )

    type: Literal["Interlink", "Kubernetes"] = Field(
        description="What the backend is: an interLink API server (or plugin), or another Kubernetes cluster. Immutable.",
        json_schema_extra=immutable("type"),
    )
    interlink: Interlink | None = Field(None, description="The backend, if `type` is `Interlink`.")
    kubernetes: RemoteCluster | None = Field(None, description="The backend, if `type` is `Kubernetes`.")
    shapes: Shapes | None = Field(
        None, description="The shapes, if the backend cannot tell them, or must not decide. If not set, they are discovered."
    )
    node: NodeTemplate = Field(default_factory=NodeTemplate, description="The backend's virtual nodes.")
    price: int | None = Field(
        None,
        description="Price in any unit that all backends share. It becomes the label `nestor.dev/price` of the nodes, which "
        "affinities can compare. Defaults to none.",
        ge=0,
    )
    resources: Resources | None = Field(
        None,
        description="Resources of the container of the virtual nodes' process. Defaults to requests of 50m CPU and 160Mi, and a "
        "limit of 512Mi of memory.",
    )
    drain_seconds: int = Field(
        300,
        description="How long pods may take to leave a node that is removed. After that they are deleted, and an event names "
        "what may be left at the backend. Defaults to 300.",
        ge=0,
        le=86400,
    )

    def secret_names(self) -> list[str]:
        """The Secrets in the operator's namespace that the virtual nodes' process reads, sorted."""
        found: set[str] = set()
        for part in (self.interlink, self.kubernetes):
            _collect_secrets(part, found)
        return sorted(found)


def _collect_secrets(part: object, found: set[str]) -> None:
    if isinstance(part, SecretKey):
        found.add(part.name)
    elif isinstance(part, Model):
        for child in vars(part).values():
            _collect_secrets(child, found)
    if isinstance(part, Tls) and part.client_certificate_secret_name:
        found.add(part.client_certificate_secret_name)
