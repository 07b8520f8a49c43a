"""How a backend is reached: one that speaks the interLink protocol, or another Kubernetes cluster."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from nestor.api.base import LabelKey, NodeLabels, ObjectName, list_map, rule, rules
from nestor.api.model import Model, SecretKey, Url, ruled
from nestor.api.patterns import check_pattern

Hop = Literal["Server", "Plugin"]


class Oidc(Model):
    """OIDC client credentials: a token is fetched from the identity provider, and renewed before it expires."""

    token_url: Url = Field(
        alias="tokenURL",
        description="Token endpoint of the identity provider.",
        json_schema_extra=rules(rule("self.startsWith('https://')", "must be an https URL: the client's secret is sent there")),
    )
    client_id: Annotated[str, StringConstraints(min_length=1, max_length=1024)] = Field(
        alias="clientID", description="ID of the client."
    )
    client_secret_ref: SecretKey = Field(description="Secret of the client.")
    scopes: Annotated[list[Annotated[str, StringConstraints(min_length=1, max_length=256)]], Field(max_length=16)] = Field(
        default_factory=list, description="Scopes to ask for. Defaults to none."
    )
    audience: Annotated[str, StringConstraints(min_length=1, max_length=1024)] | None = Field(
        None, description="Audience to ask for. Defaults to none."
    )


class Tls(Model):
    """TLS to a backend."""

    ca_ref: SecretKey | None = Field(
        None, description="Certificate authorities that sign the server's certificate, as PEM. Defaults to the system's."
    )
    client_certificate_secret_name: ObjectName | None = Field(
        None,
        description="Secret of type kubernetes.io/tls with the client's certificate and key (mTLS). If not set, none is shown.",
    )
    server_name: Annotated[str, StringConstraints(min_length=1, max_length=253)] | None = Field(
        None, description="Name that the server's certificate must have. Defaults to the host of the URL."
    )


class AllowedAnnotation(Model):
    """An annotation that nested pods may set at a backend."""

    key: LabelKey = Field(description="Key of the annotation.")
    pattern: Annotated[str, StringConstraints(min_length=1, max_length=1024), AfterValidator(check_pattern)] = Field(
        description="Regular expression for the whole value, such as `--time=[0-9]{1,3}`. No look-around, no back-references."
    )


class Interlink(Model):
    """A backend that speaks the interLink protocol."""

    model_config = ruled(
        rule("!has(self.oidc) || !has(self.tokenRef)", "`oidc` and `tokenRef` are mutually exclusive"),
        rule(
            "self.url.startsWith('https://') || !(has(self.oidc) || has(self.tokenRef) || has(self.tls))",
            "`url` must be an https URL if there is `oidc`, `tokenRef` or `tls`",
        ),
    )

    url: Url = Field(description="URL of the interLink API server, or of the plugin.")
    hop: Hop = Field(
        "Server",
        description="What listens at `url`. `Server`: the interLink API server. `Plugin`: a plugin, without an API server in "
        "front of it. Defaults to `Server`.",
    )
    oidc: Oidc | None = Field(None, description="OIDC client credentials. Mutually exclusive with `tokenRef`.")
    token_ref: SecretKey | None = Field(
        None, description="Bearer token, read again whenever the Secret changes. Mutually exclusive with `oidc`."
    )
    tls: Tls | None = Field(None, description="TLS settings. Defaults to the system's certificate authorities, without mTLS.")
    discovery: Literal["Ping", "Peers", "None"] = Field(
        "Ping",
        description="How the shapes are discovered if `spec.shapes` is not set. `Ping`: from the answer of `/pinglink`, one "
        "shape. `Peers`: from a list of peers, as NuNet has it, a shape per kind of peer. `None`: never, so `spec.shapes` must "
        "be set. Defaults to `Ping`.",
    )
    peers_path: Annotated[str, StringConstraints(min_length=1, max_length=1024, pattern=r"^/[^?#\s]*$")] = Field(
        "/resources", description="Path of the list of peers below `url`. Defaults to `/resources`."
    )
    annotations: Annotated[dict[str, Annotated[str, StringConstraints(max_length=4096)]], Field(max_length=32)] = Field(
        default_factory=dict,
        description="Annotations that each pod has at the backend, for its plugin: for Slurm's, for example "
        "`slurm-job.vk.io/flags: --partition=long --time=60`. A class that needs others uses another backend with the same "
        "`url`. Defaults to none.",
    )
    allowed_annotations: Annotated[list[AllowedAnnotation], Field(max_length=32, json_schema_extra=list_map("key"))] = Field(
        default_factory=list,
        description="Annotations of nested pods that reach the backend, where the whole value replaces that in `annotations`. "
        "Others are dropped, and an event names them. A plugin may run an annotation's text as its own user, outside the "
        "container: allow only texts that you would run there yourself. Defaults to none.",
    )
    status_period_seconds: int = Field(
        1,
        description="Seconds between two status calls, each of which asks about all pods. A backend that takes long to answer is "
        "asked less often: the pause is at least four times as long as the call. Defaults to 1.",
        ge=1,
        le=300,
    )
    timeout_seconds: int = Field(
        40, description="Seconds within which the backend must answer a call. Defaults to 40.", ge=1, le=300
    )


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

    model_config = ruled(
        rule("has(self.kubeconfigRef) != has(self.server)", "exactly one of `kubeconfigRef` and `server` must be set")
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
