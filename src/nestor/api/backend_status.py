"""What is observed of an OverflowBackend."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from nestor.api.backend_nodes import Shapes
from nestor.api.base import list_map
from nestor.api.model import Conditions, Model

LEFT_LIMIT = 100
"""Maximum number of pods in `status.unconfirmedPods`."""


class NodeStatus(Model):
    """One virtual node of the backend."""

    name: str = Field(description="Name of the Node.", max_length=253)
    shape: str = Field("", description="Its shape.", max_length=63)
    state: Literal["Ready", "NotReady", "Draining", "Refused"] = Field(
        "NotReady",
        description="`Ready`, `NotReady`, `Draining` (its shape is gone, so it is being removed), or `Refused` (the name is that "
        "of a node that does not belong to the backend).",
    )
    drain_time: str | None = Field(None, description="When its removal began (RFC 3339).", max_length=64)


ContainerNames = Annotated[list[Annotated[str, StringConstraints(max_length=63)]], Field(max_length=1024)]


class UnconfirmedPod(Model):
    """A pod that should have ended, which the backend has not confirmed: it may still run there."""

    uid: str = Field(description="UID of the host pod, which identifies it at the backend.", max_length=128)
    namespace: str = Field(description="Namespace of the host pod.", max_length=63)
    name: str = Field(description="Name of the host pod.", max_length=253)
    node: str = Field("", description="The virtual node that it was on.", max_length=253)
    containers: ContainerNames = Field(default_factory=list, description="Names of its containers.")
    init_containers: ContainerNames = Field(default_factory=list, description="Names of its init containers.")
    since: str = Field("", description="When it was first noted here (RFC 3339).", max_length=64)


class OverflowBackendStatus(Model):
    """What was observed. `shapes`, `unconfirmedPods`, `Reachable` and `Certified` are written by the virtual nodes' process, the
    rest by the operator: each by server-side apply, with its own field manager.
    """

    conditions: Conditions = Field(
        default_factory=list,
        description="`Ready`: the backend's nodes take pods. `Reachable`: the backend answers. `Certified`: only there, and "
        "False, while the cluster does not issue a certificate that the nodes need.",
    )
    observed_generation: int | None = Field(None, description="The `metadata.generation` that this status describes.", ge=0)
    shapes: Shapes | None = Field(
        None, description="The shapes that the nodes are made from: those in `spec.shapes`, or those discovered."
    )
    nodes: Annotated[list[NodeStatus], Field(max_length=1024, json_schema_extra=list_map("name"))] = Field(
        default_factory=list, description="The backend's virtual nodes."
    )
    unconfirmed_pods: Annotated[list[UnconfirmedPod], Field(max_length=LEFT_LIMIT, json_schema_extra=list_map("uid"))] = Field(
        default_factory=list,
        description="Pods that should have ended, which the backend has not confirmed: they may still run there. Their host pods "
        "may be gone. The oldest come first, 100 at most; each is asked to end for a day.",
    )
    ready_nodes: str | None = Field(
        None, description="How many nodes are ready, of how many there should be, such as `2/3`.", max_length=32
    )
