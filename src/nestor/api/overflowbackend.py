"""`OverflowBackend`: a place outside the host cluster where pods can run; it appears in the host cluster as virtual nodes."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from nestor.api.backend_kinds import Interlink, RemoteCluster, Tls
from nestor.api.base import LabelKey, LabelValue, NodeLabels, Quantities, Resources, immutable, list_map, rule
from nestor.api.model import Conditions, Model, SecretKey, ruled
from nestor.api.words import DEFAULT_TAINT

NAME_LIMIT = 40
"""Maximum length of a backend's name: it is part of the names of its nodes, and of user names in certificates."""
SHAPE_LIMIT = 64
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


class OverflowBackendSpec(Model):
    """The backend."""

    model_config = ruled(
        rule(
            "has(self.interlink) == (self.type == 'Interlink') && has(self.kubernetes) == (self.type == 'Kubernetes')",
            "exactly the section of the `type` must be set: `interlink` or `kubernetes`",
        ),
        rule(
            "has(self.shapes) || !has(self.interlink) || !has(self.interlink.discovery) || self.interlink.discovery != 'None'",
            "`shapes` must be set if `interlink.discovery` is `None`: otherwise there would be no nodes",
        ),
        rule(
            "(has(self.node) && has(self.node.name)) == (has(oldSelf.node) && has(oldSelf.node.name))",
            "`node.name` may not be added or removed: delete the object and create it again",
        ),
    )

    type: Literal["Interlink", "Kubernetes"] = Field(
        description="What the backend is: an interLink API server (or plugin), or another Kubernetes cluster. Immutable.",
        json_schema_extra=immutable("type"),
    )
    interlink: Interlink | None = Field(None, description="The backend, if `type` is `Interlink`.")
    kubernetes: RemoteCluster | None = Field(None, description="The backend, if `type` is `Kubernetes`.")
    shapes: Shapes | None = Field(
        None, description="The shapes, if the backend cannot tell them, or must not decide. If not set, they are discovered."
    )
    node: NodeTemplate = Field(default_factory=NodeTemplate, description="The backend's virtual nodes.")
    price: int | None = Field(
        None,
        description="Price in any unit that all backends share. It becomes the label `nestor.dev/price` of the nodes, which "
        "affinities can compare. Defaults to none.",
        ge=0,
    )
    resources: Resources | None = Field(
        None,
        description="Resources of the container of the virtual nodes' process. Defaults to requests of 50m CPU and 160Mi, and a "
        "limit of 512Mi of memory.",
    )
    drain_seconds: int = Field(
        300,
        description="How long pods may take to leave a node that is removed. After that they are deleted, and an event names "
        "what may be left at the backend. Defaults to 300.",
        ge=0,
        le=86400,
    )

    def secret_names(self) -> list[str]:
        """The Secrets in the operator's namespace that the virtual nodes' process reads, sorted."""
        found: set[str] = set()
        for part in (self.interlink, self.kubernetes):
            _collect_secrets(part, found)
        return sorted(found)


def _collect_secrets(part: object, found: set[str]) -> None:
    if isinstance(part, SecretKey):
        found.add(part.name)
    elif isinstance(part, Model):
        for child in vars(part).values():
            _collect_secrets(child, found)
    if isinstance(part, Tls) and part.client_certificate_secret_name:
        found.add(part.client_certificate_secret_name)


LEFT_LIMIT = 100


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
