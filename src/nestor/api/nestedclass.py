"""`NestedClass`: the admins' policy for nested clusters and how jobs are exposed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from nestor.api.access import Access
from nestor.api.argocd import ArgoCDPolicy
from nestor.api.base import HostPattern
from nestor.api.class_cluster import ClusterPolicy
from nestor.api.class_images import ImagesPolicy
from nestor.api.class_namespace import NamespacePolicy
from nestor.api.class_network import NetworkPolicyModel
from nestor.api.devices import Devices
from nestor.api.expose import ExposePolicy
from nestor.api.model import BY_PROFILE, Conditions, Model
from nestor.api.notices import Sinks
from nestor.api.placement_rules import ClassPlacement
from nestor.api.queue import ClassQueue
from nestor.api.services import ServicesPolicy
from nestor.api.storage import ClassStorage


class NestedClassSpec(Model):
    """The policy."""

    profile: Literal["Evaluation", "Tenants", "Trusted"] = Field(
        "Tenants",
        description="For whom the class is: what is right for them is the default of other fields. What the class says itself "
        "goes first, in maps such as `namespace.quota` key by key; `status.effective` shows what comes of it. `Tenants`: people "
        "who need not trust each other. A job has 8 CPUs and 32Gi of memory, runs for 7 days at most, and always pulls its "
        "images; a namespace has 20 jobs; where NetworkPolicies are not enforced, there is none. `Evaluation`: to try Nestor on "
        "any host, without limits of CPU, memory and time. `Trusted`: people whom you trust with the nodes. Pods may be "
        "privileged and connect to private addresses; volumes may have 1Ti. Defaults to `Tenants`.",
    )
    cluster: ClusterPolicy = Field(
        default_factory=ClusterPolicy, description="The nested clusters: their versions, server and data."
    )
    namespace: NamespacePolicy = Field(
        default_factory=NamespacePolicy, description="The namespace that each job gets in the host cluster."
    )
    network: NetworkPolicyModel = Field(default_factory=NetworkPolicyModel, description="What the application may connect to.")
    services: ServicesPolicy = Field(
        default_factory=ServicesPolicy, description="What Services of jobs may do in addition to connecting their own pods."
    )
    expose: ExposePolicy = Field(default_factory=ExposePolicy, description="How jobs are exposed.")
    template_hosts: Annotated[list[HostPattern], Field(max_length=64)] | None = Field(
        None,
        description="Hosts from which steps may take templates (`format: url`) and Helm charts: host names, or "
        "`*.example.com` for all hosts below example.com. The node, the cloud's metadata address and the host cluster's API "
        "server are never allowed. This is no boundary: scripts (type `custom`) and the application's own pods connect to "
        "all that `network` allows. An empty list allows none. If not set, all are allowed.",
    )
    max_jobs_per_namespace: int = Field(
        50,
        description="How many jobs of the class one namespace may have, finished ones included. Further jobs wait until one is "
        "deleted, in the order of their creation. Jobs that were admitted before the limit was set or lowered keep running. "
        "Defaults to 20; to 50 under `profile: Evaluation`, and 200 under `Trusted`.",
        ge=0,
        le=100_000,
        json_schema_extra=BY_PROFILE,
    )
    queue: ClassQueue = Field(
        default_factory=ClassQueue, description="How many jobs run at a time, and in which order the others wait."
    )
    access: Access = Field(
        "Everyone",
        description="Who may create and change jobs of this class. `Everyone`: all users who may write jobs. `Permitted`: "
        "only those of them who also have the verb `use` on this NestedClass, in the cluster or in the object's namespace. "
        "The chart's ValidatingAdmissionPolicy checks this when the object is created or changed, and not later: users who "
        "lose the right keep what runs, as do objects from before the class required it. A job must then name the class: it "
        "is not given to jobs that leave out `className`. Defaults to `Everyone`.",
    )
    max_active_deadline_seconds: int | None = Field(
        None,
        description="For how many seconds a job may run. A job with a longer `activeDeadlineSeconds` is refused. Unlike "
        "`activeDeadlineSeconds`, this counts the whole time that a job has run, also before it was suspended or rerun, and "
        "while it is kept for inspection after a failed step; only the rerun of a job that has ended starts from zero, "
        "because it waits in the queue like a new one. Pods of a stopped job have ten more minutes to end, regardless of "
        "their grace period. A change applies to running jobs, too. Defaults to 604800, 7 days; under `profile: Evaluation` "
        "and `Trusted`, there is no limit.",
        ge=1,
        le=315_360_000,
    )
    images: ImagesPolicy = Field(default_factory=ImagesPolicy, description="Which images jobs may use, and how they are pulled.")
    placement: ClassPlacement | None = Field(
        None,
        description="Where the pods of jobs may run. If not set: on all nodes without taints that suit them, and on no backend.",
    )
    storage: ClassStorage | None = Field(None, description="The persistent volumes of jobs. If not set, there are none.")
    devices: Devices | None = Field(
        None,
        description="The devices that jobs may have by dynamic resource allocation (ResourceClaims). Hosts of Kubernetes 1.34 "
        "and later have it. If not set, there are none.",
    )
    notices: Sinks = Field(
        default_factory=list, description="Servers that are notified when jobs become ready or end. If not set, there are none."
    )
    argo_cd: ArgoCDPolicy | None = Field(
        None,
        alias="argoCD",
        description="Registers jobs' nested clusters with an Argo CD in the host cluster. A change applies to running jobs. "
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
    effective: dict[str, Any] | None = Field(
        None,
        description="The whole class: the fields of `spec`, with what its profile and the operator say where it says nothing.",
    )
