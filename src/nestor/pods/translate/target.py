"""What all host objects of one nested cluster have in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nestor.api import labels, names
from nestor.api.contracts.syncer import KUBELET_PORT
from nestor.api.objects import Object, annotations_of, labels_of


@dataclass(frozen=True)
class Target:
    """Where one nested cluster's objects go in the host cluster, and how they are labeled there."""

    namespace: str
    cluster: str
    labels: Mapping[str, str]
    """Labels of the job, set on each of its objects."""
    owner: Mapping[str, Any]
    """Owner reference to the NestedCluster: deleting it deletes all synced objects."""
    api_ip: str
    """ClusterIP of the nested API server's Service."""
    dns_ip: str
    """ClusterIP of the nested DNS server's Service."""
    quota_class: str = ""
    """The NestedClass whose quota limits the namespace."""
    allowed_labels: tuple[str, ...] = ()
    """Keys of the tenant's labels that its host objects keep, or `<domain>/*`; all others are renamed."""
    has_hostname_override: bool = False
    """Whether the host takes `hostnameOverride`."""
    kubelet_port: int = KUBELET_PORT
    """Port of the syncer's kubelet API, which nested nodes advertise."""

    @property
    def selector(self) -> str:
        """Selects everything synced from this nested cluster, but not the objects that make up the cluster itself."""
        return f"{labels.CLUSTER}={self.cluster},{labels.NESTED_UID}"

    def scope(self, namespace: str | None) -> dict[str, str]:
        """Labels that identify this cluster's objects, or those of one nested namespace unless `namespace` is None."""
        mine = {labels.CLUSTER: self.cluster}
        return mine if namespace is None else mine | {labels.NESTED_NAMESPACE: namespace}

    def metadata(self, nested: Object, *, name: str | None = None) -> Object:
        """The metadata of the host object for `nested`, without the tenant's own labels."""
        meta = nested["metadata"]
        namespace, uid = meta["namespace"], meta.get("uid", "")
        marks = self.scope(namespace) | {labels.COMPONENT: labels.COMPONENT_APP, labels.NESTED_UID: uid}
        return {
            "name": name or names.host_name(meta["name"], namespace),
            "namespace": self.namespace,
            "labels": {**self.labels, labels.MANAGED_BY: "nestor", **marks},
            "annotations": {labels.NESTED_NAME: meta["name"], labels.NESTED_NAMESPACE: namespace, labels.NESTED_UID: uid},
            "ownerReferences": [dict(self.owner)],
        }


def nested_uid(host: Object) -> str:
    uid: str = labels_of(host).get(labels.NESTED_UID, "")
    return uid


def nested_key(host: Object) -> tuple[str, str]:
    """Namespace and name of the nested object that a host object belongs to; empty if none."""
    annotations = annotations_of(host)
    return annotations.get(labels.NESTED_NAMESPACE, ""), annotations.get(labels.NESTED_NAME, "")
