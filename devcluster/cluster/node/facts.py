"""The nodes' fixed facts, and how many of them are wanted. Pure."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from devcluster.cluster import settings


@dataclass(frozen=True)
class Node:
    """One node. The first shares its network namespace with the control plane, the second has its own."""

    number: int
    ip: str
    pod_cidr: str
    """Its share of `settings.POD_CIDR`, part of the Node object from the start, since the CNI plugin must know it."""

    @property
    def name(self) -> str:
        """Name of the Node object."""
        return self._numbered(settings.NAME)

    @property
    def store(self) -> str:
        """Name of containerd's folder in the cache."""
        return self._numbered("containerd")

    @property
    def cgroup(self) -> str:
        """Cgroup of the node's pods. No node's may begin with another's, or a kubelet's cAdvisor watches the pods of both."""
        return f"{settings.CGROUP}/node-{self.number}"

    def _numbered(self, name: str) -> str:
        return name if self.number == 1 else f"{name}-{self.number}"


PLUGIN = "plugin"
"""Name of the interLink plugin, which is no node, but has a containerd of its own as nodes have."""
FIRST = Node(1, settings.CONTROL_PLANE_IP, "10.42.0.0/24")
SECOND = Node(2, "10.40.0.6", "10.42.1.0/24")
ALL = (FIRST, SECOND)


def wanted(environment: Mapping[str, str] = os.environ) -> tuple[Node, ...]:
    """The nodes of a new cluster: as many as `NODES` says, else all. Raises `RuntimeError` for another number."""
    given = environment.get("NODES") or str(len(ALL))
    numbers = [str(node.number) for node in ALL]
    if given not in numbers:
        raise RuntimeError(f"NODES must be {' or '.join(numbers)}, not '{given}'")
    return ALL[: int(given)]


def node_object(node: Node) -> dict[str, object]:
    """The Node, to be created before its kubelet registers; else the controller-manager gives pod ranges by order of arrival."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name},
        "spec": {"podCIDR": node.pod_cidr, "podCIDRs": [node.pod_cidr]},
    }
