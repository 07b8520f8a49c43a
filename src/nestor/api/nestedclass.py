"""`NestedClass`: the admins' policy for nested clusters and how jobs are exposed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from nestor.api.base import (
    Cidr,
    HostName,
    HostPattern,
    Image,
    KubernetesVersion,
    Model,
    ObjectName,
    Quantities,
    Resources,
    list_map,
    rule,
    rules,
)
from nestor.api.policies import Persistence
from nestor.api.policy import PodSecurity

PRIVATE_RANGES = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"]
DEFAULT_CORE_DNS_IMAGE = "docker.io/coredns/coredns:1.15.0"


class VersionEntry(Model):
    """A Kubernetes version that users may ask for, and the image that is it."""

    version: KubernetesVersion = Field(description="Kubernetes version as major.minor, for example `v1.36`.")
    image: Image = Field(description="K3s image for it, for example `docker.io/rancher/k3s:v1.36.2-k3s1`.")


class ClusterPolicy(Model):
    """Shape of the nested clusters."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.defaultVersion) || self.versions.exists(v, v.version == self.defaultVersion)",
                "`defaultVersion` must be one of the versions in `versions`",
            )
        )
    )

    versions: list[VersionEntry] = Field(
        description="The Kubernetes versions there are. A job that asks for another one is refused with this list.",
        min_length=1,
        max_length=50,
        json_schema_extra=list_map("version"),
    )
    default_version: KubernetesVersion | None = Field(
        None, description="Version for jobs that ask for none. Left out: the highest of `versions`."
    )
    resources: Resources | None = Field(
        None,
        description="Resources of the K3s server's container. Left out: requests of 200m CPU and 512Mi, "
        "limits of 2 CPUs and 2Gi.",
    )
    core_dns_image: Image = Field(
        DEFAULT_CORE_DNS_IMAGE,
        alias="coreDNSImage",
        description=f"CoreDNS image of the nested cluster's DNS. Default: `{DEFAULT_CORE_DNS_IMAGE}`.",
    )
    start_timeout_seconds: int = Field(
        300,
        description="Seconds after which a cluster that is not ready is reported as ProvisioningFailed instead of waiting. "
        "It is not given up. Default: 300.",
        ge=10,
        le=86400,
    )
    persistence: Persistence | None = Field(
        None,
        description="Volume for each cluster's data, so that it survives the loss of its pod, and rests without one while "
        "the job is suspended. Left out: the data lives in the pod. It holds for new clusters.",
    )


class LabelRequirement(Model):
    """One requirement of a label selector."""

    key: Annotated[str, StringConstraints(min_length=1, max_length=316)] = Field(description="Label key.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(description="Relation of the label's value to `values`.")
    values: Annotated[list[str], Field(max_length=64)] | None = Field(None, description="Values for `In` and `NotIn`.")


class LabelSelector(Model):
    """Selects objects by their labels, as everywhere in Kubernetes."""

    match_labels: Annotated[dict[str, str], Field(max_length=64)] | None = Field(
        None, description="Labels that must have these values."
    )
    match_expressions: Annotated[list[LabelRequirement], Field(max_length=64)] | None = Field(
        None, description="Further requirements; all must hold."
    )


class IpBlock(Model):
    """An address range."""

    cidr: Cidr = Field(description="The range, as `10.40.0.0/30`.")
    except_: Annotated[list[Cidr], Field(max_length=64)] | None = Field(
        None, alias="except", description="Parts of it that are left out."
    )


class Peer(Model):
    """Where traffic may come from, as in a NetworkPolicy."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "has(self.ipBlock) != (has(self.namespaceSelector) || has(self.podSelector))",
                "either `ipBlock` or selectors must be set: `namespaceSelector`, `podSelector` or both",
            )
        )
    )

    namespace_selector: LabelSelector | None = Field(None, description="Namespaces of the host cluster.")
    pod_selector: LabelSelector | None = Field(None, description="Pods, in the selected namespaces.")
    ip_block: IpBlock | None = Field(None, description="Addresses, for an Ingress controller on the host's network.")


class NamespacePolicy(Model):
    """The namespace that each job gets in the host cluster."""

    pod_security: PodSecurity = Field(
        "Baseline",
        description="Pod Security level of the application's pods. `Baseline` refuses what can reach the node: privileged "
        "containers, host paths, host ports, the host's namespaces. `Privileged` allows all of these; what no nested cluster "
        "supports, such as persistent volumes, stays refused. A change applies at once to the new pods of running jobs. "
        "Default: `Baseline`.",
    )
    quota: Quantities | None = Field(
        None,
        description="Quota for the application, as in a ResourceQuota: `requests.cpu`, `limits.memory`, `pods` … The "
        "share of the cluster's own pods is added to it. Left out: no quota.",
    )
    default_resources: Resources | None = Field(
        None, description="Requests and limits of containers that set none (LimitRange). Left out: none."
    )


class NetworkPolicyModel(Model):
    """Where the application's pods may connect to, besides each other, their DNS and their own API server."""

    internet: Literal["Public", "None"] = Field(
        "Public",
        description="`Public`: addresses outside `privateRanges`, never the cloud's metadata address and the host's "
        "API server. `None`: none. Default: `Public`.",
    )
    private_ranges: list[Cidr] = Field(
        default=PRIVATE_RANGES,
        description="Address ranges that are closed to the application: an office or data centre "
        "network, and the host cluster's own. Default: the private ranges of RFC 1918 and RFC 6598.",
        max_length=64,
    )


class ExposePolicy(Model):
    """How jobs' targets are exposed, by an Ingress each."""

    domain: HostName | None = Field(
        None,
        description="Domain under which jobs get their host: `<job>-<namespace>.<domain>`, and their further targets "
        "`<service>--<job>-<namespace>.<domain>`: all are one label below it, so that a wildcard DNS entry and certificate for "
        "`*.<domain>` hold for all. Left out: only jobs that set `expose.host` are exposed, by their first target.",
    )
    allowed_hosts: list[HostPattern] = Field(
        default_factory=list,
        description="What jobs may ask for by `expose.host` besides hosts below `domain`: host names, or "
        "`*.example.com` for all hosts below example.com. Left out: none, or any host when there is no `domain` either.",
        max_length=64,
    )
    ingress_class_name: ObjectName | None = Field(
        None, description="IngressClass of the Ingresses. Left out: the host cluster's default."
    )
    tls_secret_name: ObjectName | None = Field(
        None,
        description="Secret in the operator's namespace, of type kubernetes.io/tls, for the Ingresses' hosts (usually a "
        "wildcard certificate for `domain`); it is copied into each job's namespace. Left out: no TLS, or by cert-manager's "
        "`annotations`.",
    )
    annotations: Annotated[dict[str, str], Field(max_length=64)] | None = Field(
        None,
        description="Annotations for the Ingresses, for example for the controller. Users cannot add any. Websockets need "
        "none to be opened; ingress-nginx ends those that are silent for a minute, unless "
        "`nginx.ingress.kubernetes.io/proxy-read-timeout` and `…/proxy-send-timeout` give more seconds, as '3600'. With "
        "`cert-manager.io/cluster-issuer` or `cert-manager.io/issuer` and without `tlsSecretName`, each exposed target gets a "
        "certificate of its own, in Secret `<Ingress>-tls` of the job's namespace.",
    )
    scheme: Literal["http", "https"] | None = Field(
        None,
        description="Scheme of the printed URL. Left out: `https` when there is TLS by `tlsSecretName` or cert-manager, "
        "else `http`.",
    )
    port: int | None = Field(
        None, description="Port of the printed URL, when the Ingress controller is not at its scheme's own.", ge=1, le=65535
    )
    from_: list[Peer] = Field(
        default_factory=list,
        alias="from",
        description="Where exposed pods may be reached from: where the Ingress controller "
        "runs. Left out: any namespace that is no job's. A controller on the host's network needs an `ipBlock`.",
        max_length=32,
    )


class RemotePolicy(Model):
    """Templates and charts that are not in the app image."""

    enabled: bool = Field(True, description="Whether steps may name a URL (`format: url`) or a remote Helm chart. Default: true.")
    allowed_hosts: list[HostPattern] = Field(
        default_factory=list,
        description="Hosts that such URLs may name: host names, or `*.example.com` for all hosts below "
        "example.com. Left out: any; never the node, the cloud's metadata address and the host cluster's API server.",
        max_length=64,
    )
    max_bytes: int = Field(
        16 * 2**20, description="Size that a downloaded template may have, in bytes. Default: 16 MiB.", ge=1024, le=2**30
    )


class TemplatesPolicy(Model):
    """What the steps of jobs may do."""

    remote: RemotePolicy = Field(default_factory=RemotePolicy, description="Templates from elsewhere.")


class NestedClassSpec(Model):
    """The policy."""

    cluster: ClusterPolicy = Field(description="Shape of the nested clusters.")
    namespace: NamespacePolicy = Field(default_factory=NamespacePolicy, description="The namespace that each job gets.")
    network: NetworkPolicyModel = Field(default_factory=NetworkPolicyModel, description="Where the application may connect to.")
    expose: ExposePolicy = Field(default_factory=ExposePolicy, description="How jobs are exposed.")
    templates: TemplatesPolicy = Field(default_factory=TemplatesPolicy, description="What the steps of jobs may do.")
