"""`Home`: where a nested cluster's objects live in the host cluster, what they have in common, and the simplest of them."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass

from nestor.api import labels, names
from nestor.api.names import Part
from nestor.api.objects import Object, labels_of


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

    def owns(self, obj: Object | None) -> bool:
        return labels_of(obj).get(labels.JOB_UID) == self.labels[labels.JOB_UID]

    def has_made(self, obj: Object) -> bool:
        """Whether it was made for this job, or in this home before that had a job."""
        return labels_of(obj).get(labels.JOB_UID) in (self.labels[labels.JOB_UID], self.namespace)

    def child(self, part: Part) -> str:
        """The name of one of the cluster's objects, such as `hello-k3s`."""
        return names.child(self.name, part)

    @property
    def server_host(self) -> str:
        """DNS name of the API server in the host cluster."""
        return f"{self.child(Part.SERVER)}.{self.namespace}.svc"

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


SYNCER_ROLE = "nestor-syncer"
NODES_ROLE = "nestor-syncer-nodes"
"""ClusterRoles of the chart."""

_RBAC = "rbac.authorization.k8s.io"

LOCKED: Object = {
    "runAsNonRoot": True,
    "runAsUser": 65532,
    "runAsGroup": 65532,
    "readOnlyRootFilesystem": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
}
"""Security context of a container that needs nothing of its node."""


def probe(path: str, port: int, *, after: int = 0, every: int, within: int, failures: int) -> Object:
    """A probe by HTTP; all but the number of failures in seconds."""
    times = {"periodSeconds": every, "timeoutSeconds": within, "failureThreshold": failures}
    begin = {"initialDelaySeconds": after} if after else {}
    return {"httpGet": {"path": path, "port": port, "scheme": "HTTP"}} | begin | times


def secret_volume(name: str, secret: str, keys: Iterable[str]) -> Object:
    """A volume with some keys of a Secret, as files of the same names."""
    return {"name": name, "secret": {"secretName": secret, "items": [{"key": key, "path": key} for key in keys]}}


def build_service_account(home: Home) -> Object:
    return {"metadata": home.metadata(home.child(Part.SYNCER)), "automountServiceAccountToken": False}


def build_role_binding(home: Home) -> Object:
    """The syncer's permissions, limited to this namespace."""
    return build_binding(home.metadata(home.child(Part.SYNCER)), SYNCER_ROLE, _subject(home))


def build_nodes_binding(home: Home) -> Object:
    """Permission to read nodes, the only one outside the namespace."""
    metadata: Object = {"name": home.namespace, "labels": home.labels | {labels.CLUSTER: home.name}}
    if home.nodes_binding_owner:
        metadata["ownerReferences"] = [home.nodes_binding_owner]
    return build_binding(metadata, NODES_ROLE, _subject(home))


def build_binding(metadata: Object, role: str, subject: Object) -> Object:
    """Gives a ClusterRole to a ServiceAccount, or to a user or group, in the whole cluster or in one namespace."""
    is_account = subject["kind"] == "ServiceAccount"
    subjects = [subject if is_account else {"apiGroup": _RBAC, **subject}]
    return {"metadata": metadata, "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role}, "subjects": subjects}


def build_secret(metadata: Object, content: dict[str, bytes], *, annotations: dict[str, str] | None = None) -> Object:
    merged = {**metadata.get("annotations", {}), **(annotations or {})}
    return {"metadata": metadata | ({"annotations": merged} if merged else {}), "type": "Opaque", "data": encode(content)}


def encode(content: dict[str, bytes]) -> dict[str, str]:
    """The content of a Secret as its field `data` has it."""
    return {key: base64.b64encode(value).decode() for key, value in sorted(content.items())}


def _subject(home: Home) -> Object:
    return {"kind": "ServiceAccount", "name": home.child(Part.SYNCER), "namespace": home.namespace}
