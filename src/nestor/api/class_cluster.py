"""What a class says about nested clusters: the versions on offer, the server, its data, the nodes that it shows."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from nestor.api.base import Image, KubernetesVersion, Resources, list_map, rule, rules
from nestor.api.model import Model
from nestor.api.policies import Persistence
from nestor.api.selectors import LabelSelector

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
        "it follows all that it shows. A change applies at once. Defaults to `InUse`.",
    )
    node_selector: LabelSelector | None = Field(
        None, description="Labels of the nodes to show, if `nodes` is `Selected`. Those in use are always shown."
    )
