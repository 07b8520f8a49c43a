"""The virtual nodes of an OverflowBackend: its kinds of machines, and what all of its nodes have in common."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from nestor.api.base import LabelKey, LabelValue, NodeLabels, Quantities, immutable, list_map
from nestor.api.model import Model
from nestor.api.words import DEFAULT_TAINT

NAME_LIMIT = 40
"""Maximum length of a backend's name: it is part of the names of its nodes, and of user names in certificates."""
SHAPE_LIMIT = 64
"""Maximum number of shapes of one backend."""
DEFAULT_SHAPE = "default"
"""The shape of a backend that has only one. Its node has no suffix in its name."""
DEFAULT_LABELS = {"type": "virtual-kubelet"}

ShapeName = Annotated[str, StringConstraints(min_length=1, max_length=40, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]


class Taint(Model):
    """A taint of a node: only pods that tolerate it run there."""

    key: LabelKey = Field(description="Taint key.")
    value: LabelValue = Field("", description="Taint value. Defaults to the empty string.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(
        "NoSchedule", description="What happens to pods that do not tolerate the taint. Defaults to `NoSchedule`."
    )


Taints = Annotated[list[Taint], Field(max_length=32)]


class Shape(Model):
    """Machines of one kind at a backend. Each shape has its own virtual node, so that the scheduler sees its real capacity."""

    name: ShapeName = Field(
        DEFAULT_SHAPE, description="Name of the shape, and the suffix of its node's name; a shape named `default` has none."
    )
    capacity: Quantities = Field(
        description="What all machines of the shape offer together, by resource name: `cpu`, `memory`, `pods`, and extended "
        "resources such as `nvidia.com/gpu`."
    )
    labels: NodeLabels = Field(default_factory=dict, description="Labels of its node.")
    taints: Taints = Field(default_factory=list, description="Taints of its node, in addition to those in `spec.node.taints`.")
    machines: int | None = Field(None, description="Number of machines, if known.", ge=0)


Shapes = Annotated[list[Shape], Field(max_length=SHAPE_LIMIT, json_schema_extra=list_map("name"))]


class NodeTemplate(Model):
    """What the backend's virtual nodes have in common."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=NAME_LIMIT, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")] | (
        None
    ) = Field(
        None,
        description="Name of the node of shape `default`; the others are `<name>-<shape>`. Defaults to the backend's name. "
        "No machine may join with such a name later. A shape that the backend reports gets no node if its name begins with "
        "another backend's. Immutable.",
        json_schema_extra=immutable("node.name"),
    )
    labels: NodeLabels = Field(
        default_factory=lambda: dict(DEFAULT_LABELS), description="Labels of the nodes. Defaults to `type: virtual-kubelet`."
    )
    taints: Taints | None = Field(
        None,
        description="Taints of the nodes, so that only pods run there that tolerate them. Defaults to "
        "`virtual-kubelet.io/provider=<backend>`, with the effects `NoSchedule` and `PreferNoSchedule`; because of the "
        "second, pods that may run there use the host cluster's own nodes first. An empty list lets any pod run there, except "
        "those of DaemonSets, which stay Pending there regardless of the taints. Nodes without a taint that is `NoSchedule` or "
        "`NoExecute` need `operator.allowOpenNodes: true` in the values of Nestor's chart.",
    )
    pods: int = Field(
        1000, description="Maximum number of pods on each node whose shape sets no number. Defaults to 1000.", ge=1, le=100000
    )

    def list_taints(self, backend: str) -> list[Taint]:
        """The taints of all nodes of the backend of this name."""
        if self.taints is None:
            # No pod tolerates the second one: of nodes that a pod may use, the scheduler prefers those without it, which counts
            # three times as much as how full a node is.
            return [
                Taint(key=DEFAULT_TAINT, value=backend, effect="NoSchedule"),
                Taint(key=DEFAULT_TAINT, value=backend, effect="PreferNoSchedule"),
            ]
        return list(self.taints)
