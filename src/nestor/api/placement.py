"""Where the pods of a nested cluster may run: what a class says, and what of it holds for one cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from nestor.api.base import LabelKey, LabelPattern, LabelValue, NodeLabels, ObjectName, Resources, list_map, rule, rules
from nestor.api.data import Limits, field, part
from nestor.api.taints import Tolerated
from nestor.api.words import HOST

GangScheduler = Literal["Nestor", "Kubernetes"]
GangSource = Literal["Annotation", "PodGroup", "JobSet", "IndexedJob"]

DEFAULT_GROUPS: tuple[GangSource, ...] = ("Annotation", "PodGroup", "JobSet")
GANG_LIMIT = 500


@part()
class Gang:
    """Pods that belong together: of one gang, all get nodes, in one place, or none does."""

    scheduler: GangScheduler = field(
        default="Nestor",
        description="What schedules gangs. `Nestor`: it holds the pods by a scheduling gate until one place, the host cluster's "
        "own nodes or one backend, has room for all of them. `Kubernetes`: the host cluster's scheduler, with the feature gates "
        "GenericWorkload and GangScheduling; Nestor makes a PodGroup of group scheduling.k8s.io for each gang. Pods of such a "
        "gang do not overflow if the host cluster's own nodes are full. Defaults to `Nestor`.",
    )
    groups: Annotated[list[GangSource], Limits(min_length=1, max_length=4)] = field(
        default_factory=lambda: list(DEFAULT_GROUPS),
        description="Which pods are a gang. `Annotation`: those with the same annotation (or label) `nestor.dev/gang` in a "
        "namespace, as many as `nestor.dev/gang-size` says, or as their Job runs at a time. `PodGroup`: those of a PodGroup of "
        "group scheduling.k8s.io in the nested cluster. `JobSet`: those of a JobSet without an exclusive topology. "
        "`IndexedJob`: those of an Indexed Job that runs all of them at a time. Defaults to all but `IndexedJob`.",
    )


@part()
class Names:
    """Names of the host cluster that pods get, or may choose."""

    default: ObjectName | None = field(
        default=None, description="Name of what pods get that choose none of `allowed`. Defaults to the host's default."
    )
    allowed: Annotated[list[ObjectName], Limits(max_length=64)] = field(
        default_factory=list, description="Names that pods may choose. If not set, they may choose none."
    )

    def with_own(self, own: Mapping[str, str]) -> Names:
        """The same, with names of the tenant's own that stand for names of the host cluster. They are not written anywhere."""
        return _WithOwn(default=self.default, allowed=self.allowed, own=own)

    def find(self, name: str | None) -> str | None:
        """What a pod gets that says `name`; None for the host's default."""
        return self._list().get(name or "", self.default)

    def allows(self, name: str) -> bool:
        return name in self._list()

    def _list(self) -> dict[str, str]:
        """What each name that pods may choose stands for."""
        return {name: name for name in self.allowed}


@dataclass(frozen=True, kw_only=True)
class _WithOwn(Names):
    own: Mapping[str, str]

    def _list(self) -> dict[str, str]:
        return {**self.own, **super()._list()}


ResourcePattern = Annotated[str, Limits(min_length=1, max_length=316, pattern=r"^[-a-z0-9.*]+/[-A-Za-z0-9_.*]+$")]
"""Name of an extended resource; `*` stands for any characters."""
Count = Annotated[int, Limits(ge=0, le=2**31 - 1)]
OverflowMode = Literal["Never", "WhenFull", "Always"]
GpuPlace = Literal["Host", "Backend", "Any"]

GPU_RESOURCES = ("*gpu*/*", "*/*gpu*", "nvidia.com/mig-*")
"""Extended resources that are GPUs; `*` stands for any characters."""
DEFAULT_COMPLETIONS_TRIGGER = 6
DEFAULT_LOCAL_PARALLELISM = 2
DEFAULT_BACKEND_PARALLELISM = 50


@part(
    rules(
        rule(
            "self.operator in ['Exists', 'DoesNotExist'] ? !has(self.values) : has(self.values) && self.values.size() > 0",
            "`values` must be set for all operators but 'Exists' and 'DoesNotExist'",
        ),
        rule(
            "!(self.operator in ['Gt', 'Lt']) || (has(self.values) && self.values.size() == 1)",
            "`values` must be one whole number for the operators 'Gt' and 'Lt'",
        ),
    )
)
class NodeRequirement:
    """A requirement that labels of a node must meet."""

    key: LabelKey = field(description="Label key.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] = field(
        description="How the label's value relates to `values`. `Gt` and `Lt` compare whole numbers."
    )
    values: Annotated[list[LabelValue], Limits(max_length=64)] | None = field(
        default=None, description="Values to compare with. `Gt` and `Lt` take one."
    )


@part()
class ResourceRule:
    """Where pods run that request an extended resource."""

    name: ResourcePattern = field(
        description="Name of the resource, for example `nvidia.com/gpu`. `*` stands for any characters, as in `nvidia.com/*`."
    )
    tolerations: Annotated[list[Tolerated], Limits(max_length=32)] = field(
        default_factory=list, description="Taints of the nodes that have the resource: these pods tolerate them."
    )
    node_selector: NodeLabels = field(
        default_factory=dict, description="Labels that nodes of the host cluster must have for these pods to run there."
    )


@part()
class Backend:
    """A backend that pods may overflow to: its virtual nodes."""

    name: ObjectName = field(
        description="Name of the OverflowBackend, or any name for virtual nodes that are not Nestor's.",
        json_schema_extra=rules(rule(f"self != '{HOST}'", f"must not be '{HOST}': that is the host cluster itself")),
    )
    weight: int = field(
        default=50, description="How strongly it is preferred to the other backends. Defaults to 50.", ge=1, le=100
    )
    node_selector: NodeLabels = field(
        default_factory=dict,
        description="Labels of its virtual nodes. Defaults to `nestor.dev/backend: <name>`, which those of an "
        "OverflowBackend have.",
    )
    tolerations: Annotated[list[Tolerated], Limits(max_length=32)] | None = field(
        default=None,
        description="Taints of its virtual nodes, which pods tolerate. Defaults to those that the OverflowBackend of this name "
        "says its nodes have, and to `virtual-kubelet.io/provider=<name>:NoSchedule` if there is none.",
    )
    image_pull_secrets: Annotated[list[ObjectName], Limits(max_length=8)] = field(
        default_factory=list,
        description="Secrets of the operator's namespace, of type kubernetes.io/dockerconfigjson, for pulling images of pods "
        "that may run there, in addition to those that a pod names. Every backend that such a pod may go to can read them.",
    )


@part()
class Overflow:
    """Which pods run at a backend instead of the host cluster's own nodes."""

    mode: OverflowMode = field(
        default="WhenFull",
        description="`Never`: none, unless `gpu` says otherwise. `WhenFull`: those for which the host cluster's own nodes have "
        "no room. `Always`: all. Pods of DaemonSets never do. Defaults to `WhenFull`.",
    )
    gpu: GpuPlace = field(
        default="Any",
        description="Where pods run that request a GPU: `Host`, on the host cluster's own nodes; `Backend`; or `Any`, as `mode` "
        "says. Defaults to `Any`.",
    )
    backends: Annotated[list[Backend], Limits(max_length=16, json_schema_extra=list_map("name"))] = field(
        default_factory=list, description="The backends that may be used. If not set, none."
    )
    completions_trigger: Count = field(
        default=DEFAULT_COMPLETIONS_TRIGGER,
        description="Number of `completions` from which on all pods of a nested Job run at a backend, unless `mode` is `Never` "
        f"or `gpu` says otherwise. 0: no number does that. Defaults to {DEFAULT_COMPLETIONS_TRIGGER}.",
    )
    local_parallelism: Count = field(
        default=DEFAULT_LOCAL_PARALLELISM,
        description="How many pods of one nested Job with `completions` run on the host cluster's own nodes at a time, unless "
        "`mode` is `Never`. With `WhenFull`, further ones overflow; otherwise they wait. 0: no limit. Defaults to "
        f"{DEFAULT_LOCAL_PARALLELISM}.",
    )
    backend_parallelism: Count = field(
        default=DEFAULT_BACKEND_PARALLELISM,
        description="How many pods of one nested Job with `completions` run at backends at a time; further ones wait. 0: no "
        f"limit. Defaults to {DEFAULT_BACKEND_PARALLELISM}.",
    )
    backend_resources: Resources | None = field(
        default=None,
        description="Requests and limits, at a backend, of containers that set none. In pods that may also run here, "
        "`namespace.defaultResources` comes first; only CPU, memory and ephemeral-storage are added, and no quota counts them.",
    )
    pending_seconds: int = field(
        default=0,
        description="Seconds within which a backend must start a pod. After that the pod fails, so that its controller makes "
        "another one, which may run elsewhere; a pod without a controller is not replaced. 0: no limit. Defaults to 0.",
        ge=0,
        le=604_800,
    )


DEFAULT_SCHEDULER = "default-scheduler"
"""The host cluster's own. The API server writes it into every pod that names none."""
MOST = 128
"""Labels and tolerations of one placement, those of a machine and a job included."""


@part()
class Placement:
    """Where pods may run. What it does not mention is as without it: no taint is tolerated but those of lost nodes, and no pod
    overflows.
    """

    node_selector: Annotated[dict[str, LabelValue], Limits(max_length=MOST)] = field(
        default_factory=dict,
        description="Labels that nodes of the host cluster must have for pods to run there; those of backends need not. "
        "A pod whose own node selector contradicts them is refused.",
    )
    tolerations: Annotated[list[Tolerated], Limits(max_length=MOST)] = field(
        default_factory=list,
        description="Taints that all pods tolerate, for nodes that are reserved for them, as kubectl writes them: `pool=batch`, "
        "`gpu:NoSchedule`; `*` for all. Without a value or an effect, those with any.",
    )
    allowed_tolerations: Annotated[list[Tolerated], Limits(max_length=32)] = field(
        default_factory=list,
        description="Taints that pods may tolerate with their own tolerations, written as in `tolerations`; all other "
        "tolerations have no effect. `node.kubernetes.io/not-ready` and `…/unreachable` are always allowed.",
    )
    allowed_node_labels: Annotated[list[LabelPattern], Limits(max_length=64)] | None = field(
        default=None,
        description="Keys of node labels that pods may use in their node selectors and node affinities: keys such as `team` or "
        "`example.com/team`, or `example.com/*` for all keys of a domain. A pod that uses another one is refused. If not set, "
        "they may use all but Nestor's own, such as `nestor.dev/backend`.",
    )
    schedulers: Annotated[list[ObjectName], Limits(max_length=64)] = field(
        default_factory=list,
        description="Schedulers that pods may choose; those that choose none get the first, which may be `default-scheduler`. A "
        "`schedulerName` of a pod that is not among them has no effect.",
    )
    priority_classes: Names = field(
        default_factory=Names,
        description="PriorityClasses. Pods of a higher priority may end those of other tenants. The nested cluster has those "
        "that are allowed, with the priority that they have in the host cluster; a `priorityClassName` of a pod that is not "
        "allowed has no effect.",
    )
    runtime_classes: Names = field(
        default_factory=Names,
        description="RuntimeClasses, such as one that isolates pods better. The nested cluster has those that are allowed, "
        "and one of its own stands for an allowed one if it has the same handler; a pod whose `runtimeClassName` is another one "
        "is refused.",
    )
    disruption_budgets: bool = field(
        default=False,
        description="Whether PodDisruptionBudgets are in effect in the host cluster too: draining a node there then waits "
        "until the budgets allow it, which may be never. Otherwise they apply only to evictions in the nested cluster, and "
        "an event reports it. Defaults to false.",
    )
    extended_resources: Annotated[list[ResourceRule], Limits(max_length=32, json_schema_extra=list_map("name"))] = field(
        default_factory=list,
        description="Where pods run that request extended resources, such as GPUs. `namespace.quota` limits how many a job may "
        "have at a time, for example by `requests.nvidia.com/gpu: 2`.",
    )
    overflow: Overflow | None = field(
        default=None, description="Which pods run at a backend. Jobs may narrow it. If not set, none."
    )
    gang: Gang | None = field(
        default=None, description="How pods that belong together get their nodes: all or none. If not set, each pod gets its own."
    )

    @property
    def scheduler_names(self) -> Names:
        allowed = [name for name in self.schedulers if name != DEFAULT_SCHEDULER]
        return Names(default=next(iter(self.schedulers), None), allowed=allowed)
