"""What a class allows of the host cluster: volumes, devices, Services that are reached from outside, and Argo CD."""

from typing import Annotated, Literal

from nestor.api.base import Cidr, NodeLabels, ObjectName, Quantity
from nestor.api.data import Limits, field, part

Retention = Literal["Delete", "Retain"]


@part()
class Storage:
    """The volumes that the claims of a nested cluster may get."""

    classes: Annotated[list[ObjectName], Limits(max_length=32)] = field(
        default_factory=list,
        description="StorageClasses of the host cluster that nested clusters have too, by name. The first is that of claims "
        "that name none, regardless of the host cluster's default. PersistentVolumeClaims of these classes get a volume of "
        "the host cluster; all others stay Pending, and so do their pods. If not set, there are no persistent volumes.",
    )
    block_volumes: bool = field(
        default=False,
        description="Whether claims may have `volumeMode: Block`: their pods then get a device of the node instead of a file "
        "system. Defaults to false.",
    )
    snapshot_classes: Annotated[list[ObjectName], Limits(max_length=32)] = field(
        default_factory=list,
        description="VolumeSnapshotClasses of the host cluster that nested clusters have too, by name; the first is that of "
        "VolumeSnapshots that name none. Claims may then be filled from VolumeSnapshots of their own namespace. Nested clusters "
        "get the definitions of VolumeSnapshots from the host cluster. If not set, no snapshots are made.",
    )

    @property
    def default_snapshot_class(self) -> str | None:
        """The VolumeSnapshotClass of snapshots that name none."""
        return next(iter(self.snapshot_classes), None)

    @property
    def default(self) -> str | None:
        """The StorageClass of claims that name none."""
        return next(iter(self.classes), None)


@part()
class ClassStorage(Storage):
    """The volumes of jobs. A change reaches running jobs at once, but claims that have a volume keep it."""

    retention: Retention = field(
        default="Delete",
        description="What happens to volumes when their job is deleted, or starts over without them: by `failurePolicy: "
        "Restart`, or by `nestor rerun` after it has ended. `Delete`: the claims are deleted, and their StorageClass's reclaim "
        "policy applies. `Retain`: the volumes of existing claims are kept as PersistentVolumes with the job's labels until an "
        "admin deletes them: `kubectl get pv -l nestor.dev/job-namespace=<namespace>,nestor.dev/job=<job>`; so are snapshots, as "
        "VolumeSnapshotContents. What users delete in the nested cluster is never kept. Defaults to `Delete`.",
    )
    retained_limit: Quantity | None = field(
        default=None,
        description="With `retention: Retain`: the total size of the volumes and snapshots that jobs of one namespace may "
        "leave behind, for example `1Ti`; each counts as at least 1Gi. While it is reached, jobs of this class neither start "
        "in that namespace nor start over without their volumes: they wait, and their status reports it. Volumes of running "
        "jobs are not counted. A volume no longer counts when an admin has deleted it or its label "
        "`nestor.dev/job-namespace`. Defaults to what one job may have, `requests.storage` in `namespace.quota`.",
    )


@part()
class JobStorage:
    """The volumes that the job wishes, within what the class allows."""

    size: Quantity | None = field(
        default=None,
        description="How much all volumes of the job may have together, for example `50Gi`: its quota `requests.storage`. Not "
        "more than the class or the machine allows. Defaults to what they allow.",
    )
    class_name: ObjectName | None = field(
        default=None,
        description="StorageClass of claims that name none, one of the class's `storage.classes`. Defaults to the class's.",
    )
    volumes_from: ObjectName | None = field(
        default=None,
        description="Name of a deleted job of this namespace, perhaps this job's own name: volumes that it left (`retention: "
        "Retain`) go to claims of the same name and namespace. If there are none, the job does not start. Immutable.",
    )


@part()
class Devices:
    """The devices that the ResourceClaims of a nested cluster may get."""

    classes: Annotated[list[ObjectName], Limits(max_length=32)] = field(
        default_factory=list,
        description="DeviceClasses of the host cluster that nested clusters have too, by name. ResourceClaims may request "
        "devices of these, and so may extended resources `deviceclass.resource.kubernetes.io/<name>`; never with admin access. "
        "If not set, pods with ResourceClaims are refused.",
    )
    parameters: bool = field(
        default=False,
        description="Whether ResourceClaims may have `spec.devices.config`: parameters that a driver of the host cluster "
        "reads, of which Kubernetes checks nothing. Defaults to false.",
    )


NODE_PORTS = "10"
"""How many a job may have by default, if its class allows them."""
LOAD_BALANCERS = "2"

LoadBalancerClass = Annotated[str, Limits(min_length=1, max_length=316)]


@part()
class ServicesPolicy:
    """Which Services of jobs may reach outside their nested cluster, or be reached from there."""

    node_ports: bool = field(
        default=False,
        description="Whether Services may be of type NodePort. The network policies then let traffic from anywhere in to the "
        "pods of such a Service, at its ports. NetworkPolicies of the nested cluster may close that, and open nothing else to "
        "the outside. Node ports come from the range that all of the host cluster shares: with this or `loadBalancers`, "
        f"`namespace.quota` has `services.nodeports: {NODE_PORTS}` as a default, not 0. Defaults to false.",
    )
    load_balancers: bool = field(
        default=False,
        description="Whether Services may be of type LoadBalancer. Their addresses are shown in the nested cluster, and the "
        "network policies allow traffic as for node ports, which load balancers have as well unless the Service says otherwise. "
        f"`namespace.quota` then has a default of `services.loadbalancers: {LOAD_BALANCERS}` instead of 0. Defaults to false.",
    )
    load_balancer_classes: list[LoadBalancerClass] = field(
        default_factory=list,
        description="What Services may have as `loadBalancerClass`, such as `example.com/internal`. Those that name none get the "
        "host cluster's default. If not set, none may name any.",
        max_length=32,
    )
    endpoint_ranges: list[Cidr] = field(
        default_factory=list,
        description="Addresses that Services without a selector may send traffic to, in addition to the cluster's own pods: "
        "users write them in EndpointSlices and Endpoints. Never allowed, even if a range contains them, are the addresses "
        "that `network` closes, and those of metadata services, of the host cluster's Services and its API server. If not "
        "set, there are none.",
        max_length=64,
    )


@part()
class AllowedServices(ServicesPolicy):
    """The same, resolved for one cluster."""

    closed_ranges: list[Cidr] = field(
        default_factory=list,
        description="What no Service may send traffic to, even if `endpointRanges` contain it. Not set if there are none.",
        max_length=256,
    )


NestedNamespace = Annotated[str, Limits(min_length=1, max_length=63, pattern=r"^([*]|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$")]


@part()
class ArgoCDAccess:
    """What Argo CD may do in a nested cluster."""

    namespaces: list[NestedNamespace] = field(
        default_factory=lambda: ["default"],
        description="The nested namespaces that Argo CD manages: it has all rights in these, and none elsewhere, within a minute "
        "of their creation. `*`: all namespaces, and what is in none, such as CustomResourceDefinitions: Argo CD is then admin "
        "of the nested cluster, as the job's user is. Defaults to `default` alone.",
        min_length=1,
        max_length=64,
        json_schema_extra={"default": ["default"]},  # a schema has no default that is made
    )

    @property
    def is_whole(self) -> bool:
        return "*" in self.namespaces


@part()
class ArgoCDPolicy(ArgoCDAccess):
    """Makes the nested clusters of jobs known to an Argo CD in the host cluster, so that ApplicationSets install into them."""

    namespace: ObjectName = field(
        description="The namespace of the host cluster in which Argo CD runs. The operator writes a cluster Secret for each job "
        "there, once the job's cluster is ready, and deletes it with the job. Users who can read Secrets there have access to "
        "the nested clusters. Pods in that namespace may connect to the nested API servers, regardless of `network.apiFrom`."
    )
    project: ObjectName | None = field(
        default=None,
        description="Argo CD project that the clusters belong to: only its Applications may be deployed to them. If not set, all "
        "whose projects allow it.",
    )
    labels: NodeLabels = field(
        default_factory=dict,
        description="Labels of the cluster Secrets, for the selectors of ApplicationSets. They also have "
        "`nestor.dev/class`, `nestor.dev/job` and `nestor.dev/job-namespace`. Keys of `nestor.dev`, `kubernetes.io` and "
        "`argoproj.io` have no effect.",
    )
