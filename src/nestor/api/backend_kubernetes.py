"""How a backend that is another Kubernetes cluster is reached, and which of its nodes are used."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from nestor.api.base import LabelKey, NodeLabels, ObjectName, rule, rules
from nestor.api.endpoints import SecretKey, Url
from nestor.api.model import Model


class Server(Model):
    """Access to another cluster by a service account's token."""

    url: Url = Field(
        description="URL of the API server.",
        json_schema_extra=rules(rule("self.startsWith('https://')", "must be an https URL: a token is sent there")),
    )
    token_ref: SecretKey = Field(description="The service account's token, read again whenever the Secret changes.")
    ca_ref: SecretKey | None = Field(
        None, description="Certificate authorities that sign the server's certificate, as PEM. Defaults to the system's."
    )


class RemoteCluster(Model):
    """Another Kubernetes cluster."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule("has(self.kubeconfigRef) != has(self.server)", "exactly one of `kubeconfigRef` and `server` must be set")
        )
    )

    kubeconfig_ref: SecretKey | None = Field(
        None,
        description="Kubeconfig of the other cluster, with its credentials in it: commands and files that it names are refused. "
        "Mutually exclusive with `server`.",
    )
    server: Server | None = Field(
        None, description="API server and service account of the other cluster. Mutually exclusive with `kubeconfigRef`."
    )
    namespace: ObjectName = Field(
        "nestor", description="Namespace in the other cluster where the pods run. It must exist. Defaults to `nestor`."
    )
    node_selector: NodeLabels = Field(
        default_factory=dict, description="Labels of the other cluster's nodes that are used. Defaults to all nodes."
    )
    shape_labels: Annotated[list[LabelKey], Field(max_length=16)] = Field(
        default_factory=lambda: ["node.kubernetes.io/instance-type", "kubernetes.io/arch"],
        description="Labels that distinguish shapes: nodes with the same values of them, and the same extended resources, are "
        "one shape. Defaults to `node.kubernetes.io/instance-type` and `kubernetes.io/arch`.",
    )
