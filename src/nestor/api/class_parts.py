"""Parts of a class: nested clusters, images, the namespaces of jobs, and the network."""

from typing import Annotated, Literal

from pydantic import Field

from nestor.api.base import (
    Cidr,
    DefaultResources,
    ImagePrefix,
    KubernetesVersion,
    LabelPattern,
    ObjectName,
    Quantities,
    Quota,
    Resources,
    checked,
    limited,
)
from nestor.api.model import BY_PROFILE, Model
from nestor.api.policies import Persistence
from nestor.api.policy import PodSecurity


class ClusterPolicy(Model):
    """The nested clusters: their versions, server and data."""

    versions: Annotated[list[KubernetesVersion], Field(min_length=1, max_length=50)] | None = Field(
        None,
        description="The Kubernetes versions on offer, as major.minor, of those for which the operator has an image of K3s "
        "(`k3s` in the chart's values). The first is for jobs that ask for none. A job that asks for another one is refused; an "
        "AppDef that does gets the nearest newer one, with a warning. If not set, all are offered, and the highest comes first.",
    )
    resources: Resources | None = Field(
        None,
        description="Resources of the K3s server's container. A smaller request of CPU than 400m is raised to that until the "
        "job's steps are applied. Defaults to requests of 20m CPU and 320Mi, and limits of 2 CPUs and 2Gi.",
    )
    persistence: Persistence | None = Field(
        None,
        description="Volume for each cluster's data. With it, the data survives the loss of the server's pod, and the "
        "server of a job that has ended or is suspended is stopped at once. If not set, the data lives in the pod. Changes "
        "apply only to new clusters.",
    )
    stop_ended_after_seconds: int = Field(
        600,
        description="Without `persistence`: how many seconds after the end of a job its server is stopped. Until then, users can "
        "look at what the job has left in its nested cluster; its status and the log of its runner stay. A job that is kept "
        "for inspection after a failed step keeps its server, also while it is suspended. A change applies to servers that still "
        "run. Defaults to 600.",
        ge=0,
        le=315_360_000,
    )
    stop_suspended_after_seconds: int | None = Field(
        None,
        description="Without `persistence`: how many seconds after a job was suspended, or evicted by Kueue, its server is "
        "stopped. The objects of its nested cluster are then lost: when the job runs again, its steps are applied to an empty "
        "cluster, where claims of the same name get their old volumes. A change applies to servers that still run. If not set, "
        "the server keeps running, except for jobs that Kueue starts: theirs stops at once, because Kueue counts it as free.",
        ge=0,
        le=315_360_000,
    )
    nodes: Literal["InUse", "All"] = Field(
        "InUse",
        description="Which of the host cluster's nodes the nested clusters of jobs show. `InUse`: those that run their pods; so "
        "there is none before the first pod, and no DaemonSet starts any. `All`: from the beginning, all on which `placement` "
        "lets pods run, without the virtual nodes of backends. "
        "Users see names, labels, taints, addresses and sizes of these nodes. With many nodes, each nested cluster costs more: "
        "it follows all that it shows. A change applies at once. Defaults to `InUse`.",
    )


class ImagesPolicy(Model):
    """Which images jobs may use, and how they are pulled."""

    allowed: Annotated[list[ImagePrefix], Field(max_length=64)] | None = Field(
        None,
        description="Registries, or registries with a path, of the images that jobs may use, such as "
        "`registry.example.com/team-a`: that image, and all whose path continues after it. Images without a registry are "
        "those of `docker.io`, and those without an owner of `docker.io/library`. This applies to app images, including "
        "those of NestedApps, and to all images of pods, including volumes and debug containers. It does not apply to images "
        "that this class or Nestor names. Pods on the host have the full names of their images. A job whose app image is not "
        "allowed is refused before it starts; a pod waits, with an event. A change applies to new pods and images; running "
        "pods are not affected. An empty list allows none. If not set, all are allowed.",
    )

    always_pull: bool = Field(
        False,
        description="Whether every image that a job names, app images included, is pulled with `imagePullPolicy: Always`, "
        "regardless of its pods' policy. Otherwise, a pod may start from a copy on its node that another user pulled with "
        "other credentials. It is not needed where all nodes run a kubelet of 1.35 or later with "
        "`KubeletEnsureSecretPulledImages`, which prevents that. Images that are only on the nodes and in no registry then "
        "cannot be used. A change applies to new pods. Defaults to true under `profile: Tenants`, and otherwise to false.",
        json_schema_extra=BY_PROFILE,
    )

    pull_secret_names: Annotated[list[ObjectName], Field(max_length=8)] = Field(
        default_factory=list,
        description="Secrets of the operator's namespace, of type kubernetes.io/dockerconfigjson, for pulling images of "
        "jobs, app images included, in addition to those that a job, a NestedApp or a pod names. Users then need no "
        "credentials for your internal registries. They are copied into each job's namespace, where users cannot read them, "
        "but their pods can use every image that these Secrets give access to: `allowed` says which of them. Pods that may "
        "run at a backend do not get them, because a backend could read them: the class names Secrets for these in "
        "`imagePullSecrets` of the backend. A change applies to new pods. If not set, there are none.",
    )

    @property
    def pull_policy(self) -> Literal["Always", "IfNotPresent"]:
        """For images that users name."""
        return "Always" if self.always_pull else "IfNotPresent"


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
SMALL_REQUESTS = {"cpu": "100m", "memory": "128Mi"}
"""What containers that request nothing count as where a quota counts that: it would refuse them otherwise."""


class NamespacePolicy(Model):
    """The namespace that each job gets in the host cluster."""

    pod_security: PodSecurity = Field(
        "Baseline",
        description="Pod Security level of the application's pods. `Baseline` refuses all that gives access to the node: "
        "privileged containers, host paths, host ports, the host's namespaces. A pod without a seccomp profile gets that of "
        "the container runtime. `Privileged` allows all of these; users of the class are then root on the nodes: give it "
        "only to people whom you trust with the nodes, and run the operator on other nodes. What no nested cluster supports "
        "is still refused. A change applies at once to new pods of running jobs. Defaults to `Baseline`, and under `profile: "
        "Trusted` to `Privileged`.",
        json_schema_extra=BY_PROFILE,
    )
    allowed_labels: list[LabelPattern] | None = Field(
        None,
        description="Label keys that the application's pods keep in the host cluster, for example for its monitoring: keys such "
        "as `team` or `example.com/team`, or `example.com/*` for all keys of a domain. All others are renamed to "
        "`tenant.nestor.dev/…`, also in selectors, so that no policy, webhook or Service of the host cluster acts on what users "
        "write. Keys of Kubernetes and Nestor (`kubernetes.io`, `k8s.io`, `x-k8s.io`, `nestor.dev`) are always renamed, except "
        "those of `app.kubernetes.io` other than `managed-by`. A change applies at once, and Services may be without their pods "
        "for some seconds meanwhile; pods that run keep labels that are no longer allowed. If not set, all are renamed.",
        max_length=64,
    )
    quota: Quota | None = Field(
        None,
        description="What the pods of one job may have in all, with the keys of a ResourceQuota: `cpu`, `memory`, `storage` (of "
        "volumes), `nvidia.com/gpu`, `pods`, `limits.memory` and so on. `cpu` is short for `requests.cpu`, and so on. What the "
        "nested cluster's own objects need is added to it. A quota of CPU or memory counts containers that request none as if "
        f"they requested {SMALL_REQUESTS['cpu']} and {SMALL_REQUESTS['memory']}, unless `defaultResources` says otherwise; what "
        "they use beyond their requests is up to `limits.cpu` and `limits.memory`. These keys have a default, which "
        f"applies even if others are set: {', '.join(f'`{key}: {value}`' for key, value in DEFAULT_QUOTA.items())}; and, "
        "under `profile: Tenants`, `cpu: 8` and `memory: 32Gi`; under `Trusted`, `storage: 1Ti`. There is none of "
        "`services.nodeports` where `expose.annotations` ask cert-manager for certificates: the "
        "Services that it uses to prove a host usually have node ports. A quota only limits new objects: what a job already "
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


PRIVATE_RANGES = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"]


ANYWHERE = "*"
"""Namespaces of the host cluster that belong to no job."""
Peer = Annotated[
    str,
    checked(
        "self == '*' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') || isCIDR(self)",
        "must be a namespace such as 'ingress-nginx', an address range such as '10.0.0.0/8', or '*' for all namespaces that "
        "belong to no job",
        63,
    ),
]
"""From where traffic may come."""


class NetworkPolicyModel(Model):
    """What the application may connect to, besides its own pods, its DNS and its own API server; and who may connect to that."""

    internet: Literal["Public", "None"] = Field(
        "Public",
        description="`Public`: any address outside `privateRanges`, except the cloud's metadata address and the "
        "host's API server. `None`: no address outside the nested cluster, and no names from outside. Only the nested API "
        "server still looks up names in the host's DNS, such as those in the URLs of webhooks: the admin of the nested "
        "cluster can send a little data out that way. Defaults to `Public`.",
    )
    private_ranges: list[Cidr] = Field(
        default=PRIVATE_RANGES,
        description="Address ranges that the application may not connect to, such as the office or data center network and "
        "the host cluster's own. Defaults to the private ranges of RFC 1918 and RFC 6598, and under `profile: Trusted` to "
        "only the host cluster's own.",
        max_length=64,
        json_schema_extra=BY_PROFILE,
    )
    api_from: list[Peer] = Field(
        default_factory=list,
        description="From where the nested API servers may be reached, in addition to their own pods and `kubectl "
        "port-forward`: namespaces, by name; address ranges, such as that of users' machines which have a route to the "
        "host's Services; and `*` for all namespaces that belong to no job. Defaults to `*` alone.",
        max_length=32,
    )
    unenforced: Literal["Refuse", "Warn", "Accept"] = Field(
        "Warn",
        description="What happens to a job on a host cluster that does not enforce NetworkPolicies, where nothing isolates "
        "it from other jobs, the host's API server and the cloud's metadata. The class's condition `NetworkEnforced` says "
        "what the operator's probe has found. `Refuse`: no job is admitted until the cluster is known to enforce them, hence "
        "none at all without the probe (`operator.networkProbe: false` in the chart's values); jobs that run stay. `Warn`: "
        "condition `Admitted` of each job reports it, with the reason `NetworkNotEnforced`. `Accept`: no report. Defaults to "
        "`Refuse`; to `Warn` under `profile: Evaluation`, and `Accept` under `Trusted`.",
        json_schema_extra=BY_PROFILE,
    )
