"""The syncer's permissions in the host cluster, and the Secrets with the cluster's keys."""

from __future__ import annotations

import base64

from nestor.api import labels
from nestor.api.names import Part
from nestor.api.objects import Object
from nestor.cluster.home import Home

SYNCER_ROLE = "nestor-syncer"
NODES_ROLE = "nestor-syncer-nodes"
"""ClusterRoles of the chart."""

_RBAC = "rbac.authorization.k8s.io"


def build_service_account(home: Home) -> Object:
    return {"metadata": home.metadata(home.child(Part.SYNCER)), "automountServiceAccountToken": False}


def build_role_binding(home: Home) -> Object:
    """The syncer's permissions, limited to this namespace."""
    return {
        "metadata": home.metadata(home.child(Part.SYNCER)),
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": SYNCER_ROLE},
        "subjects": [_subject(home)],
    }


def build_nodes_binding(home: Home) -> Object:
    """Permission to read nodes, the only one outside the namespace."""
    metadata: Object = {"name": home.namespace, "labels": home.labels | {labels.CLUSTER: home.name}}
    if home.nodes_binding_owner:
        metadata["ownerReferences"] = [home.nodes_binding_owner]
    return {
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": NODES_ROLE},
        "subjects": [_subject(home)],
    }


def build_secret(metadata: Object, content: dict[str, bytes], *, annotations: dict[str, str] | None = None) -> Object:
    merged = {**metadata.get("annotations", {}), **(annotations or {})}
    return {"metadata": metadata | ({"annotations": merged} if merged else {}), "type": "Opaque", "data": encode(content)}


def encode(content: dict[str, bytes]) -> dict[str, str]:
    """The content of a Secret as its field `data` has it."""
    return {key: base64.b64encode(value).decode() for key, value in sorted(content.items())}


def _subject(home: Home) -> Object:
    return {"kind": "ServiceAccount", "name": home.child(Part.SYNCER), "namespace": home.namespace}
