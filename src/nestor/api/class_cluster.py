"""What a class says about nested clusters: the versions on offer, the server, its data, the nodes that it shows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nestor.api.base import KubernetesVersion, Resources
from nestor.api.model import Model
from nestor.api.policies import Persistence


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
        description="Resources of the K3s server's container. Defaults to requests of 200m CPU and 512Mi, and limits "
        "of 2 CPUs and 2Gi.",
    )
    persistence: Persistence | None = Field(
        None,
        description="Volume for each cluster's data. With it, the data survives the loss of the server's pod, and the "
        "server of a suspended job is stopped. If not set, the data lives in the pod. Changes apply only to new clusters.",
    )
    nodes: Literal["InUse", "All"] = Field(
        "InUse",
        description="Which of the host cluster's nodes the nested clusters of jobs show. `InUse`: those that run their pods; so "
        "there is none before the first pod, and no DaemonSet starts any. `All`: from the beginning, all on which `placement` "
        "lets pods run, without the virtual nodes of backends. "
        "Users see names, labels, taints, addresses and sizes of these nodes. With many nodes, each nested cluster costs more: "
        "it follows all that it shows. A change applies at once. Defaults to `InUse`.",
    )
