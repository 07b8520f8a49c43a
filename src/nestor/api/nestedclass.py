"""`NestedClass`: the admins' policy for nested clusters and how jobs are exposed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from nestor.api.access import Access
from nestor.api.argocd import ArgoCDPolicy
from nestor.api.base import (
    DNS_NAME,
    Cidr,
    Conditions,
    DefaultResources,
    HostName,
    HostPattern,
    Image,
    ImagePrefix,
    KubernetesVersion,
    LabelPattern,
    Model,
    ObjectName,
    Quantities,
    Quota,
    Resources,
    limited,
    list_map,
    rule,
    rules,
)
from nestor.api.devices import Devices
from nestor.api.notices import NoticesPolicy
from nestor.api.placement_rules import ClassPlacement
from nestor.api.policies import IpBlock, Persistence
from nestor.api.policy import PodSecurity
from nestor.api.queue import ClassQueue
from nestor.api.selectors import LabelSelector
from nestor.api.services import ServicesPolicy
from nestor.api.storage import ClassStorage

PRIVATE_RANGES = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"]
DEFAULT_QUOTA: dict[str, str] = {
    "pods": "100",
    "count/pods": "1000",
    "services": "50",
    "services.nodeports": "0",
    "services.loadbalancers": "0",
    "configmaps": "200",
    "secrets": "200",
    "persistentvolumeclaims": "20",
    "requests.storage": "100Gi",
    "count/networkpolicies.networking.k8s.io": "100",
}
"""What a job may use up in the host, unless its class says otherwise: whatever all tenants share and one could exhaust."""
SNAPSHOTS_QUOTA = {"count/volumesnapshots.snapshot.storage.k8s.io": "20"}
"""In addition, where the class allows snapshots."""
DEVICES_QUOTA = {"count/resourceclaims.resource.k8s.io": "100"}
"""In addition, where the class allows devices."""
ENDED_PODS = 10
"""How many pods there may be by default, with those that have ended, for each that may run."""
DEFAULT_EPHEMERAL_STORAGE = "10Gi"
"""Limit for containers that set none."""
DEFAULT_CORE_DNS_IMAGE = "docker.io/coredns/coredns:1.15.0"


class VersionEntry(Model):
    """A Kubernetes version on offer, and its image."""

    version: KubernetesVersion = Field(description="Kubernetes version as major.minor, for example `v1.36`.")
    image: Image = Field(description="K3s image for this version, for example `docker.io/rancher/k3s:v1.36.2-k3s1`.")


class ClusterPolicy(Model):
    """The nested clusters: their versions, server and data."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.defaultVersion) || self.versions.exists(v, v.version == self.defaultVersion)",
                "`defaultVersion` must be one of the versions in `versions`",
            ),
            rule(
                "(has(self.nodes) && self.nodes == 'Selected') == has(self.nodeSelector)",
                "`nodeSelector` must be set if `nodes` is `Selected`, and only then",
            ),
        )
    )

    versions: list[VersionEntry] = Field(
        description="The Kubernetes versions on offer. A job that asks for another one is refused; the message lists these.",
        min_length=1,
        max_length=50,
        json_schema_extra=list_map("version"),
    )
    default_version: KubernetesVersion | None = Field(
        None, description="Version for jobs that do not ask for one. Defaults to the highest of `versions`."
    )
    app_def_version: Literal["NearestNewer", "Exact"] = Field(
        "NearestNewer",
        description="What an AppDef gets that asks for a version that is not in `versions`. `NearestNewer`: the nearest newer "
        "one, with a warning. `Exact`: its jobs are refused. A job's own `kubernetesVersion` is always exact. Defaults to "
        "`NearestNewer`.",
    )
    resources: Resources | None = Field(
        None,
        description="Resources of the K3s server's container. Defaults to requests of 200m CPU and 512Mi, and limits "
        "of 2 CPUs and 2Gi.",
    )
    allow_images: bool = Field(
        False,
        description="Whether NestedClusters that users create may name a K3s image of their own. Its containers run beside the "
        "syncer, which has rights in their namespace. A cluster that already runs keeps its image. Defaults to false.",
    )
    core_dns_image: Image = Field(
        DEFAULT_CORE_DNS_IMAGE,
        alias="coreDNSImage",
        description=f"Image of the nested cluster's CoreDNS. Defaults to `{DEFAULT_CORE_DNS_IMAGE}`.",
    )
    start_timeout_seconds: int = Field(
        300,
        description="Seconds until a cluster that is still not ready is reported as ProvisioningFailed. Nestor keeps "
        "trying. Defaults to 300.",
        ge=10,
        le=86400,
    )
    persistence: Persistence | None = Field(
        None,
        description="Volume for each cluster's data. With it, the data survives the loss of the server's pod, and the "
        "server of a suspended job is stopped. If not set, the data lives in the pod. Changes apply only to new clusters.",
    )
    nodes: Literal["InUse", "All", "Selected"] = Field(
        "InUse",
        description="Which of the host cluster's nodes the nested clusters of jobs show. `InUse`: those that run their pods; so "
        "there is none before the first pod, and no DaemonSet starts any. `All`: from the beginning, all on which `placement` "
        "lets pods run, without the virtual nodes of backends. `Selected`: of these, those with the labels of `nodeSelector`. "
        "Users see names, labels, taints, addresses and sizes of these nodes. With many nodes, each nested cluster costs more: "
        "it follows all that it shows. NestedClusters that users create always show those in use. A change applies at once. "
        "Defaults to `InUse`.",
    )
    node_selector: LabelSelector | None = Field(
        None, description="Labels of the nodes to show, if `nodes` is `Selected`. Those in use are always shown."
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
    pod_selector: LabelSelector | None = Field(None, description="Pods in the selected namespaces.")
    ip_block: IpBlock | None = Field(None, description="Address range, for an Ingress controller on the host network.")


class NamespacePolicy(Model):
    """The namespace that each job gets in the host cluster."""

    pod_security: PodSecurity = Field(
        "Baseline",
        description="Pod Security level of the application's pods. `Baseline` refuses whatever gives access to the node: "
        "privileged containers, host paths, host ports, the host's namespaces. A pod without a seccomp profile gets that of the "
        "container runtime. `Privileged` allows all of these; whoever may "
        "use the class is then root on the nodes: give it only to people whom you trust with the nodes, and run the operator on "
        "other nodes. What no nested cluster supports is still refused. A change applies at once to "
        "new pods of running jobs. NestedClusters that users create always have `Baseline`. Defaults to `Baseline`.",
    )
    allowed_labels: list[LabelPattern] | None = Field(
        None,
        description="Label keys that the application's pods keep in the host cluster, for example for its monitoring: keys such "
        "as `team` or `example.com/team`, or `example.com/*` for all keys of a domain. All others are renamed to "
        "`tenant.nestor.dev/…`, in selectors alike, so that no policy, webhook or Service of the host cluster acts on what users "
        "write. Keys of Kubernetes and Nestor (`kubernetes.io`, `k8s.io`, `x-k8s.io`, `nestor.dev`) are always renamed, except "
        "those of `app.kubernetes.io` other than `managed-by`. A change applies at once; pods that run keep labels that are no "
        "longer allowed. If not set, all are renamed.",
        max_length=64,
    )
    quota: Quota | None = Field(
        None,
        description="Quota for the application, with the keys of a ResourceQuota: `requests.cpu`, `limits.memory`, "
        "`pods` and so on. What the nested cluster's own objects need is added to it. These keys have a default, which "
        f"applies even if others are set: {', '.join(f'`{key}: {value}`' for key, value in DEFAULT_QUOTA.items())}. CPU and "
        "memory have none, nor has `services.nodeports` where `expose.annotations` ask cert-manager for certificates: the "
        "Services with which it proves a host usually have node ports. A quota only limits new objects: what a job already "
        "has stays. `count/pods` counts pods that have ended too; its default is at least ten times `pods`. Where "
        "`storage.snapshotClasses` or `devices` is set, there is one more for each: "
        f"{', '.join(f'`{key}: {value}`' for key, value in (SNAPSHOTS_QUOTA | DEVICES_QUOTA).items())}.",
    )
    default_resources: DefaultResources | None = Field(
        None,
        description="Requests and limits for containers that set none (LimitRange). Defaults to a limit of "
        f"{DEFAULT_EPHEMERAL_STORAGE} of ephemeral-storage, or of the default request if that is higher, without a request; that "
        "default applies even if others are set. A container that requests more than the default limit, and sets no limit, gets "
        "its request as the limit.",
    )
    max_resources: Quantities | None = Field(
        None,
        description="The most that a container may have, by resource name (LimitRange): `cpu`, `memory`, `ephemeral-storage`. A "
        "container that sets no limit has this one, unless `defaultResources` has a lower one; one that sets a higher limit is "
        "refused, with an event on its pod. The limit is never below those of the nested cluster's own containers, by default 2 "
        "CPUs and 2Gi of memory. A change applies to new pods. If not set, there is no limit. Extended resources are limited by "
        "`quota`.",
        # API servers make the most that a container may have its default as well.
        json_schema_extra=limited("limits"),
    )


class NetworkPolicyModel(Model):
    """What the application may connect to, besides its own pods, its DNS and its own API server; and who may connect to that."""

    internet: Literal["Public", "None"] = Field(
        "Public",
        description="`Public`: any address outside `privateRanges`, except the cloud's metadata address and the "
        "host's API server. `None`: no address outside the nested cluster, and no names from outside. Only the nested API "
        "server still looks up names in the host's DNS, such as those in the URLs of webhooks: whoever is admin of the nested "
        "cluster can send a little data out that way. Defaults to `Public`.",
    )
    private_ranges: list[Cidr] = Field(
        default=PRIVATE_RANGES,
        description="Address ranges that the application may not connect to, such as the office or data centre "
        "network and the host cluster's own. Defaults to the private ranges of RFC 1918 and RFC 6598.",
        max_length=64,
    )
    api_from: list[Peer] = Field(
        default_factory=list,
        description="From where the nested API servers may be reached, besides their own pods and by `kubectl port-forward`. "
        "Users whose machines have a route to the host's Services need an `ipBlock`. If not set, they may be reached from any "
        "namespace that does not belong to a job.",
        max_length=32,
    )
    unenforced: Literal["Refuse", "Warn", "Accept"] = Field(
        "Warn",
        description="What a job gets on a host cluster that does not enforce NetworkPolicies, where nothing keeps it from other "
        "jobs, the host's API server and the cloud's metadata. The class's condition `NetworkEnforced` says what the operator's "
        "probe has found. `Refuse`: no job is admitted until the cluster is known to enforce them, hence none at all without "
        "the probe (`operator.networkProbe: false` in the chart's values); jobs that run stay. `Warn`: condition "
        "`Admitted` of each job says so, with the reason `NetworkNotEnforced`. `Accept`: nothing more is said. "
        "Defaults to `Warn`.",
    )


ISSUERS = ("cert-manager.io/cluster-issuer", "cert-manager.io/issuer")
"""Annotations of Ingresses by which cert-manager makes certificates for their hosts."""


AnnotationKey = Annotated[
    str,
    Field(
        min_length=1,
        max_length=316,
        json_schema_extra=rules(
            rule(
                f"self.matches('^({DNS_NAME[1:-1]}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$')".replace("\\", "\\\\"),
                "must be the whole key of an annotation, such as 'nginx.ingress.kubernetes.io/proxy-body-size'",
            )
        ),
    ),
]


class HttpsBackends(Model):
    """Targets that speak HTTPS themselves: those at port 443, or at a port of a Service that is named `https` or `https-…`, or
    has the `appProtocol` https. An `appProtocol` goes before a name, and that before the number.
    """

    annotations: Annotated[dict[str, str], Field(max_length=64)] = Field(
        default_factory=dict,
        description="Annotations for the Ingresses of these targets, besides those of `expose.annotations`. For ingress-nginx: "
        "`nginx.ingress.kubernetes.io/backend-protocol: HTTPS`.",
    )


class GatewayRef(Model):
    """A Gateway of the host cluster."""

    name: ObjectName = Field(description="Name of the Gateway.")
    namespace: ObjectName = Field(description="Its namespace.")
    section_name: ObjectName | None = Field(None, description="Listener of the Gateway. If not set, all that take the host.")


class ExposePolicy(Model):
    """How the targets of jobs are exposed: one Ingress per target, or one HTTPRoute."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.tlsSecretName) || !has(self.controllerCertificate) || !self.controllerCertificate",
                "`tlsSecretName` and `controllerCertificate` are mutually exclusive: the certificate is in a Secret, or with the "
                "Ingress controller",
            ),
            rule(
                "!has(self.gateway) || !(has(self.tlsSecretName) || has(self.ingressClassName))",
                "`gateway` may not be set together with `tlsSecretName` or `ingressClassName`: the Gateway has a class and "
                "certificates of its own; with `controllerCertificate: true`, URLs are https",
            ),
        )
    )

    domain: HostName | None = Field(
        None,
        description="Domain for the hosts of jobs: `<job>-<namespace>.<domain>`, and "
        "`<service>--<job>-<namespace>.<domain>` for further targets. All lie one label below the domain, so one wildcard DNS "
        "entry and certificate for `*.<domain>` cover them. If not set, only jobs that request one of `allowedHosts` with "
        "`expose.host` are exposed, and of these only the first target.",
    )
    allowed_hosts: list[HostPattern] = Field(
        default_factory=list,
        description="Hosts that jobs may request with `expose.host` in addition to those below `domain`: host names, "
        "or `*.example.com` for all hosts below example.com. If not set, there are no others.",
        max_length=64,
    )
    ingress_class_name: ObjectName | None = Field(
        None, description="IngressClass of the Ingresses. Defaults to the host cluster's default class."
    )
    gateway: GatewayRef | None = Field(
        None,
        description="Gateway (`gateway.networking.k8s.io/v1`) that serves the hosts, instead of an Ingress controller: each "
        "target gets an HTTPRoute instead of an Ingress. The Gateway must take routes of the jobs' namespaces, which have the "
        "label `nestor.dev/job`. It has the certificates: set `controllerCertificate` if the URLs are https. `annotations` go to "
        "the HTTPRoutes; cert-manager's have no effect there. Hosts of other people's HTTPRoutes are not checked: of several, "
        "Gateways prefer the oldest.",
    )
    tls_secret_name: ObjectName | None = Field(
        None,
        description="Secret of type kubernetes.io/tls, in the operator's namespace, for the Ingresses' hosts: usually "
        "a wildcard certificate for `domain`. It is copied into each job's namespace, private key included: whoever gets into "
        "one of them can pass for all jobs. Prefer `controllerCertificate`, or an issuer. If none of them is set, there is no "
        "TLS.",
    )
    controller_certificate: bool = Field(
        False,
        description="Whether the Ingress controller has a certificate for the hosts itself, such as a wildcard certificate for "
        "`domain`: ingress-nginx by its `--default-ssl-certificate`, Traefik by the default TLSStore, HAProxy and others alike. "
        "The Ingresses then ask for TLS and name no Secret, so that no private key is copied into the jobs' namespaces. May not "
        "be set together with `tlsSecretName`. Defaults to false.",
    )
    annotations: Annotated[dict[str, str], Field(max_length=64)] | None = Field(
        None,
        description="Annotations for the Ingresses, for example for the controller, or for authentication in front of all URLs. "
        "In values, `$(job)`, `$(namespace)`, `$(class)` and `$(host)` stand for the job's name, its namespace, its class, and "
        "the URL's host. Users can add those of `allowedAnnotations`. Websockets "
        "work without any, but ingress-nginx closes those that are idle for a minute unless "
        "`nginx.ingress.kubernetes.io/proxy-read-timeout` and `…/proxy-send-timeout` are raised, for example to '3600'. With "
        "`cert-manager.io/cluster-issuer` or `cert-manager.io/issuer`, and without `tlsSecretName`, each exposed target gets "
        "its own certificate in Secret `<Ingress>-tls` of the job's namespace.",
    )
    https_backends: HttpsBackends = Field(
        default_factory=HttpsBackends,
        description="How the controller reaches targets that speak HTTPS themselves. Without it, that is up to the controller: "
        "Traefik knows them by their ports, ingress-nginx does not.",
    )
    allowed_annotations: Annotated[list[AnnotationKey], Field(max_length=64)] = Field(
        default_factory=list,
        description="Keys of annotations that jobs may set on their Ingresses with `expose.annotations`; theirs replace those of "
        "`annotations`. Their values are whatever users write, and configure a controller that all share: list none that takes "
        "code, such as snippets, paths, or names of Secrets and Services. If not set, none are allowed.",
    )
    scheme: Literal["http", "https"] | None = Field(
        None,
        description="Scheme of the URLs in the jobs' status. Defaults to `https` if `tlsSecretName`, `controllerCertificate` or "
        "cert-manager provides TLS, otherwise to `http`.",
    )
    port: int | None = Field(
        None,
        description="Port of the URLs in the jobs' status, if the Ingress controller does not listen on the scheme's "
        "default port.",
        ge=1,
        le=65535,
    )
    from_: list[Peer] = Field(
        default_factory=list,
        alias="from",
        description="Where traffic to exposed pods may come from, that is, where the Ingress controller runs. A controller "
        "on the host network needs an `ipBlock`. If not set, traffic may come from any namespace that does not belong to a job.",
        max_length=32,
    )

    @property
    def has_tls(self) -> bool:
        """Whether the Ingresses ask for TLS."""
        return bool(self.tls_secret_name) or self.controller_certificate or self.has_issuer

    @property
    def has_issuer(self) -> bool:
        """Whether the annotations ask cert-manager for a certificate."""
        return self.gateway is None and any((self.annotations or {}).get(name) for name in ISSUERS)


class ImagesPolicy(Model):
    """Which images jobs may use, and how they are pulled."""

    allowed: Annotated[list[ImagePrefix], Field(max_length=64)] | None = Field(
        None,
        description="Registries, or registries with a path, of the images that jobs may use, such as "
        "`registry.example.com/team-a`: that image, and all whose path continues after it. Images without a registry are those "
        "of `docker.io`, and those without an owner of `docker.io/library`. It holds for app images, those of NestedApps "
        "included, and for all images that pods name, volumes and debug containers included; in NestedClusters that users "
        "create, too. Not for images that this class or Nestor names. Pods on the host name their images by the whole names that "
        "are compared. A job whose app image is not allowed is refused before it starts; a pod waits, with an event. A change "
        "reaches new pods and images; what runs goes on. An empty list allows none. If not set, all are allowed.",
    )

    always_pull: bool = Field(
        False,
        description="Whether every image that a job or a user's NestedCluster names, app images included, is pulled with "
        "`imagePullPolicy: Always`, whatever its pods say. Otherwise a pod may start from a copy on its node that somebody else "
        "pulled with credentials of their own. Set it where tenants have private images and nodes run a kubelet older than 1.35, "
        "or one without `KubeletEnsureSecretPulledImages`: since 1.35, kubelets make sure of it by themselves. Images that are "
        "only on the nodes and in no registry then cannot be used. A change applies to new pods. Defaults to false.",
    )

    pull_secret_names: Annotated[list[ObjectName], Field(max_length=8)] = Field(
        default_factory=list,
        description="Secrets of the operator's namespace, of type kubernetes.io/dockerconfigjson, with which images of jobs are "
        "pulled, app images included, besides those that a job, a NestedApp or a pod names itself. So users need none for the "
        "registries of the house. They are copied into each job's namespace, where users cannot read them, but their pods can "
        "use every image that these Secrets give access to: `allowed` says which of them. Pods that may run at a backend do not "
        "get them, because a backend could read them: the class names Secrets for these in `imagePullSecrets` of the backend. "
        "Nor do NestedClusters that users create. A change applies to new pods. If not set, there are none.",
    )

    @property
    def pull_policy(self) -> Literal["Always", "IfNotPresent"]:
        """For images that users name."""
        return "Always" if self.always_pull else "IfNotPresent"


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


class NestedClassSpec(Model):
    """The policy."""

    cluster: ClusterPolicy = Field(description="The nested clusters: their versions, server and data.")
    namespace: NamespacePolicy = Field(
        default_factory=NamespacePolicy, description="The namespace that each job gets in the host cluster."
    )
    network: NetworkPolicyModel = Field(default_factory=NetworkPolicyModel, description="What the application may connect to.")
    services: ServicesPolicy = Field(
        default_factory=ServicesPolicy, description="What Services of jobs may do besides connecting their own pods."
    )
    expose: ExposePolicy = Field(default_factory=ExposePolicy, description="How jobs are exposed.")
    templates: TemplatesPolicy = Field(default_factory=TemplatesPolicy, description="What the steps may do.")
    max_jobs_per_namespace: int | None = Field(
        None,
        description="How many jobs of the class one namespace may have, finished ones included. Further jobs wait until one is "
        "deleted, in the order of their creation. Jobs that were admitted before the limit was set or lowered keep running. "
        "If not set, there is no limit.",
        ge=0,
        le=100_000,
    )
    queue: ClassQueue = Field(
        default_factory=ClassQueue, description="How many jobs run at a time, and in which order the others wait."
    )
    access: Access = Field(
        "Everyone",
        description="Who may write jobs of the class, and NestedClusters of their own. `Everyone`: whoever may write such "
        "objects. `Permitted`: of these, who has the verb `use` on this NestedClass, in the cluster or in the object's "
        "namespace. The chart's ValidatingAdmissionPolicy asks it of whoever creates or changes the object; the operator cannot "
        "know later. So who loses the right keeps what runs, and objects from before the class asked for it go on. A job must "
        "then name the class: it is not given to jobs that leave out `className`. Defaults to `Everyone`.",
    )
    max_active_deadline_seconds: int | None = Field(
        None,
        description="For how many seconds a job may run. A job with a longer `activeDeadlineSeconds` is refused. Other than "
        "that, this counts all that a job has run, also before it was suspended or run again; only a rerun of a job that has "
        "ended begins anew, for it waits in the queue like a new one. A change applies to running jobs, too. If not set, there "
        "is no limit.",
        ge=1,
        le=315_360_000,
    )
    images: ImagesPolicy = Field(default_factory=ImagesPolicy, description="Which images jobs may use, and how they are pulled.")
    placement: ClassPlacement | None = Field(
        None,
        description="Where the pods of jobs may run. If not set: on all nodes without taints, as they ask, and on no backend.",
    )
    storage: ClassStorage | None = Field(
        None, description="The persistent volumes of jobs, and of NestedClusters that users create. If not set, there are none."
    )
    devices: Devices | None = Field(
        None,
        description="The devices that jobs may have by dynamic resource allocation (ResourceClaims). Hosts of Kubernetes 1.34 "
        "and later have it. If not set, there are none.",
    )
    notices: NoticesPolicy = Field(default_factory=NoticesPolicy, description="Who is told when jobs become ready or end.")
    argo_cd: ArgoCDPolicy | None = Field(
        None,
        alias="argoCD",
        description="Makes jobs' nested clusters known to an Argo CD in the host cluster. A change applies to running jobs. "
        "If not set, Argo CD does not know them.",
    )


class NestedClassStatus(Model):
    """What the operator found out that matters to jobs of the class. Only the operator writes it."""

    conditions: Conditions = Field(
        default_factory=list,
        description="`NetworkEnforced`: whether the host cluster enforces NetworkPolicies, which keep jobs apart from each other "
        "and from the host. `False` with reason `UnenforcedAccepted` where `network.unenforced` accepts that it does not.",
    )
    observed_generation: int | None = Field(None, description="The `metadata.generation` that this status describes.", ge=0)
