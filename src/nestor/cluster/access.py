"""What the syncer may do in the host cluster, and the Secrets with the cluster's keys."""

from __future__ import annotations

import base64

from nestor.api import labels
from nestor.cluster.shape import Shape
from nestor.objects import Object

SYNCER_ROLE = "nestor-syncer"
NODES_ROLE = "nestor-syncer-nodes"
"""ClusterRoles of the chart."""

_RBAC = "rbac.authorization.k8s.io"


def build_service_account(shape: Shape) -> Object:
    """The syncer's identity."""
    return {"metadata": shape.metadata(shape.child("syncer")), "automountServiceAccountToken": False}


def build_role_binding(shape: Shape) -> Object:
    """The syncer's rights: in this namespace only."""
    return {
        "metadata": shape.metadata(shape.child("syncer")),
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": SYNCER_ROLE},
        "subjects": [_subject(shape)],
    }


def build_nodes_binding(shape: Shape, name: str, owner: Object | None) -> Object:
    """Reading nodes, the one right outside the namespace; `owner` is the Namespace, which takes it along when it goes."""
    metadata: Object = {"name": name, "labels": shape.labels | {labels.CLUSTER: shape.name}}
    if owner:
        metadata["ownerReferences"] = [owner]
    return {
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": NODES_ROLE},
        "subjects": [_subject(shape)],
    }


def build_secret(metadata: Object, content: dict[str, bytes], *, annotations: dict[str, str] | None = None) -> Object:
    """A Secret with this content."""
    merged = {**metadata.get("annotations", {}), **(annotations or {})}
    data = {key: base64.b64encode(value).decode() for key, value in sorted(content.items())}
    return {"metadata": metadata | ({"annotations": merged} if merged else {}), "type": "Opaque", "data": data}


def _subject(shape: Shape) -> Object:
    return {"kind": "ServiceAccount", "name": shape.child("syncer"), "namespace": shape.namespace}
