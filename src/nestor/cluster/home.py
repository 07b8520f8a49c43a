"""`Home`: where a nested cluster's objects live in the host cluster, and what they have in common."""

from __future__ import annotations

from dataclasses import dataclass

from nestor.api import labels, names
from nestor.api.names import Part
from nestor.api.objects import Object


@dataclass(frozen=True, kw_only=True)
class Home:
    """Where one nested cluster lives. Known before anything else about the cluster."""

    name: str
    """Name of the NestedCluster."""
    namespace: str
    """The cluster's own namespace in the host cluster: its objects are deleted with it. The binding that lets its syncer read
    nodes, the only object outside, has the same name.
    """
    labels: dict[str, str]
    """The job's labels."""
    nodes_binding_owner: Object | None = None
    """The Namespace, once it is made: that binding is deleted with it."""
    rotation: str = ""
    """Which set of access keys the user wants, by the annotation's value; empty: any."""
    kubeconfig: Object | None = None
    """Metadata of the Secret with the admin kubeconfig; None: there is no such Secret."""

    def child(self, part: Part) -> str:
        """The name of one of the cluster's objects, such as `hello-k3s`."""
        return names.child(self.name, part)

    def metadata(self, name: str, *, component: str | None = None, annotations: dict[str, str] | None = None) -> Object:
        found: Object = {
            "name": name,
            "namespace": self.namespace,
            "labels": self.labels | {labels.CLUSTER: self.name} | ({labels.COMPONENT: component} if component else {}),
        }
        if annotations:
            found["annotations"] = annotations
        return found

    def pod_labels(self, component: str) -> dict[str, str]:
        """The labels that select the cluster's pods of one component."""
        return {labels.CLUSTER: self.name, labels.COMPONENT: component}
