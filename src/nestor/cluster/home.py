"""`Home`: where a nested cluster's objects are in the host cluster, and what all of them share."""

from __future__ import annotations

from dataclasses import dataclass

from nestor import names
from nestor.api import labels
from nestor.names import Part
from nestor.objects import Object


@dataclass(frozen=True, kw_only=True)
class Home:
    """The place of one nested cluster. It is known before anything of the cluster is."""

    name: str
    """Of the NestedCluster."""
    namespace: str
    """In the host cluster: one of its own, or, for a cluster that a user made, the user's."""
    labels: dict[str, str]
    """Of the job (or only `managed-by`, for a cluster without one)."""
    owner: Object | None = None
    """Owner reference for the cluster's objects; None where they go with their namespace."""
    nodes_binding: str = ""
    """Name of the binding by which its syncer reads nodes, the one object outside the namespace."""
    nodes_binding_owner: Object | None = None
    """The Namespace, if it is the cluster's own: it takes the binding along."""
    kubeconfig: Object | None = None
    """Metadata of the Secret with the admin's kubeconfig; None: nobody gets one."""

    def child(self, part: Part) -> str:
        """The name of one of the cluster's objects, as `hello-k3s`."""
        return names.child(self.name, part)

    def metadata(self, name: str, *, component: str | None = None, annotations: dict[str, str] | None = None) -> Object:
        """Metadata of one of the cluster's objects."""
        found: Object = {
            "name": name,
            "namespace": self.namespace,
            "labels": self.labels | {labels.CLUSTER: self.name} | ({labels.COMPONENT: component} if component else {}),
        }
        if annotations:
            found["annotations"] = annotations
        if self.owner:
            found["ownerReferences"] = [self.owner]
        return found

    def pod_labels(self, component: str) -> dict[str, str]:
        """The labels that select the cluster's pods of one component."""
        return {labels.CLUSTER: self.name, labels.COMPONENT: component}
