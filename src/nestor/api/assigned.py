"""The nodes that a queue has assigned to a job."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from nestor.api.base import NodeLabels
from nestor.api.model import Model
from nestor.api.taints import Tolerated, read_toleration


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
