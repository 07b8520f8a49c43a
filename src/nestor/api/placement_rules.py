"""Where pods may run: what a class says in addition to `Placement`, what a job wishes, and what Kueue has assigned."""

from typing import Annotated, Any

from pydantic import Field

from nestor.api.base import NodeLabels, ObjectName, Quota, list_map, rule, rules
from nestor.api.data import Limits, field, part
from nestor.api.model import Model
from nestor.api.placement import Count, GpuPlace, OverflowMode, Placement
from nestor.api.taints import Tolerated, read_toleration


class Machine(Model):
    """A kind of machine that jobs may ask for: a pool of nodes, and how much of it one job gets."""

    name: ObjectName = Field(description="Name, as in a job's `machine`.")
    description: Annotated[str, Limits(max_length=1024)] = Field(
        "", description="What it offers, in words for users. Shown where a job asks for an unknown machine."
    )
    node_selector: NodeLabels = Field(
        default_factory=dict, description="Labels of the pool's nodes. They are added to those of `placement.nodeSelector`."
    )
    tolerations: Annotated[list[Tolerated], Limits(max_length=16)] = Field(
        default_factory=list, description="Taints of the pool's nodes, which its jobs tolerate, as in `placement.tolerations`."
    )
    quota: Quota | None = Field(
        None,
        description="How much of the pool one job gets: what its pods may have in all, by the keys of `namespace.quota`, over "
        "which it takes precedence: `cpu`, `memory`, `storage`, `pods`, `nvidia.com/gpu` and so on.",
    )


@part(
    rules(
        rule(
            "!has(self.defaultMachine) || (has(self.machines) && self.machines.exists(m, m.name == self.defaultMachine))",
            "`defaultMachine` must be one of the machines in `machines`",
        ),
        rule(
            "!has(self.overflow) || has(self.overflow.backends) || (self.overflow.mode == 'Never' && "
            "self.overflow.gpu != 'Backend')",
            "`overflow.backends` must be set unless `overflow.mode` is 'Never' and `overflow.gpu` is not 'Backend'",
        ),
    )
)
class ClassPlacement(Placement):
    """Where the pods of jobs may run. It reaches running jobs at once, but pods that have a node stay there."""

    machines: Annotated[list[Machine], Limits(max_length=64, json_schema_extra=list_map("name"))] = field(
        default_factory=list, description="Machines that jobs may ask for with `machine`. If not set, there are none."
    )
    default_machine: ObjectName | None = field(
        default=None,
        description="Machine of jobs that ask for none. If not set, they run wherever the class's other rules allow.",
    )


class JobOverflow(Model):
    """Which of the job's pods run at a backend. It can only narrow what the class's `overflow` says."""

    mode: OverflowMode | None = Field(
        None,
        description="`Never`: no pod runs at a backend, unless `gpu` says otherwise. `WhenFull`: those for which the host "
        "cluster's own nodes have no room. `Always`: all. The class's mode, or one before it in this order. Defaults to the "
        "class's.",
    )
    gpu: GpuPlace | None = Field(
        None,
        description="Where pods run that request a GPU: `Host`, on the host cluster's own nodes; `Backend`; or `Any`, as `mode` "
        "says. The class's own, unless that is `Any`; `Backend` not if the class's mode is `Never`. Defaults to the class's.",
    )
    backends: Annotated[list[ObjectName], Limits(min_length=1, max_length=16)] | None = Field(
        None, description="Names of the backends that may be used, of those that the class allows. Defaults to all of them."
    )
    completions_trigger: Count | None = Field(
        None,
        description="Number of `completions` from which on all pods of a nested Job run at a backend. 0: no number does that. "
        "Not lower than the class's, unless its mode is `Always`. Defaults to the class's.",
    )
    local_parallelism: Count | None = Field(
        None,
        description="How many pods of one nested Job with `completions` run on the host cluster's own nodes at a time, if pods "
        "may overflow. 0: no limit. Not higher than the class's; where the class says `WhenFull`, no other one, unless this "
        "job's mode is `Never`. Defaults to the class's.",
    )
    backend_parallelism: Count | None = Field(
        None,
        description="How many pods of one nested Job with `completions` run at backends at a time. 0: no limit. Not higher than "
        "the class's. Defaults to the class's.",
    )


class JobPlacement(Model):
    """Where the job's pods should run, within what the class allows."""

    node_selector: NodeLabels = Field(
        default_factory=dict,
        description="Labels that nodes of the host cluster must have for the job's pods to run there. The keys must be "
        "among the class's `allowedNodeLabels`, if it has any, and the values may not contradict it.",
    )
    tolerations: Annotated[list[Tolerated], Limits(max_length=16)] = Field(
        default_factory=list,
        description="Taints that all of the job's pods tolerate, as kubectl writes them: `pool=batch:NoSchedule`. They must be "
        "among the class's `allowedTolerations`.",
    )
    scheduler_name: ObjectName | None = Field(
        None, description="Scheduler for pods that name none, one of the class's `schedulers`. Defaults to the class's default."
    )
    priority_class_name: ObjectName | None = Field(
        None,
        description="PriorityClass for pods that name none, one of the class's `priorityClasses`. Defaults to the class's "
        "default.",
    )
    runtime_class_name: ObjectName | None = Field(
        None,
        description="RuntimeClass for pods that name none, one of the class's `runtimeClasses`. Defaults to the class's default.",
    )
    overflow: JobOverflow | None = Field(
        None, description="Which pods run at a backend. If not set, the class's `overflow` decides."
    )


class AssignedNodes(Model):
    """Nodes for pods."""

    node_selector: NodeLabels = Field(default_factory=dict, description="Labels that the nodes must have.")
    tolerations: Annotated[list[Tolerated], Field(max_length=64)] = Field(
        default_factory=list, description="Taints of the nodes, which the pods tolerate."
    )

    def to_pod(self) -> dict[str, Any]:
        """The fields of a pod's spec that say so; none if there is nothing to say."""
        found = {"nodeSelector": self.node_selector, "tolerations": [read_toleration(item) for item in self.tolerations]}
        return {key: value for key, value in found.items() if value}


class Assigned(AssignedNodes):
    """What Kueue has assigned to a job that runs."""

    workload: str = Field(description="Name of the job's Workload that Kueue admitted.", max_length=253)
