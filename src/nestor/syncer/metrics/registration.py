"""Makes the metrics API known in the nested cluster, and keeps it so."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass

from nestor.api import labels
from nestor.api.contracts.cluster import METRICS_HOST
from nestor.api.objects import Object, labels_of
from nestor.kube import Api, kinds
from nestor.syncer.translate.metrics import GROUP, VERSION

log = logging.getLogger(__name__)

NAME, NAMESPACE = METRICS_HOST.split(".")[:2]
_SERVICE_PORT = 443
_AUTHENTICATION = "extension-apiserver-authentication"
_OURS = {labels.MANAGED_BY: "nestor"}


@dataclass(frozen=True)
class Proxy:
    """How the nested API server shows who it is when it passes requests on."""

    authority: str
    """Of its certificate, PEM."""
    names: tuple[str, ...]
    """It has one of these; empty: any."""


async def read_proxy(nested: Api) -> Proxy | None:
    """As the API server says; None as long as it does not, or an admin has written something else. Raises `ApiError`."""
    found = await nested.find(kinds.CONFIG_MAP, _AUTHENTICATION, "kube-system")
    data = (found or {}).get("data") or {}
    authority = data.get("requestheader-client-ca-file")
    try:
        names = json.loads(data.get("requestheader-allowed-names") or "[]")
    except (ValueError, RecursionError):
        return None
    if (
        not authority
        or not authority.isascii()
        or not isinstance(names, list)
        or not all(isinstance(name, str) for name in names)
    ):
        return None
    return Proxy(authority, tuple(names))


async def register(nested: Api, address: str, port: int, authority: str) -> None:
    """Make or renew the objects. A tenant's own metrics-server is left alone. Raises `ApiError`.

    `authority`: PEM as base64, of this server's certificate.
    """
    found = await nested.find(kinds.API_SERVICE, f"{VERSION}.{GROUP}")
    if found is not None and labels_of(found).get(labels.MANAGED_BY) != "nestor":
        return
    await nested.apply(kinds.SERVICE, build_service())
    await nested.apply(kinds.ENDPOINT_SLICE, build_slice(address, port))
    await nested.apply(kinds.CLUSTER_ROLE, build_role())
    await nested.apply(kinds.API_SERVICE, build_api_service(authority))


def build_service() -> Object:
    """Headless, so that it takes no address, and without a selector."""
    meta = {"name": NAME, "namespace": NAMESPACE, "labels": _OURS}
    return {"metadata": meta, "spec": {"clusterIP": "None", "ports": [{"name": "https", "port": _SERVICE_PORT}]}}


def build_slice(address: str, port: int) -> Object:
    """Where the server is: the API server calls endpoints, not Services."""
    of = {"kubernetes.io/service-name": NAME, "endpointslice.kubernetes.io/managed-by": "nestor"}
    return {
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": _OURS | of},
        "addressType": "IPv6" if ":" in address else "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }


def build_role() -> Object:
    """Lets those who may view a namespace see what its pods use, as metrics-server's own role does."""
    aggregated = {f"rbac.authorization.k8s.io/aggregate-to-{role}": "true" for role in ("view", "edit", "admin")}
    rules = [{"apiGroups": [GROUP], "resources": ["pods", "nodes"], "verbs": ["get", "list"]}]
    return {"metadata": {"name": "system:aggregated-metrics-reader", "labels": _OURS | aggregated}, "rules": rules}


def build_api_service(authority: str) -> Object:
    """The group's entry in the API server."""
    return {
        "metadata": {"name": f"{VERSION}.{GROUP}", "labels": _OURS},
        "spec": {
            "group": GROUP,
            "version": VERSION,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "caBundle": authority,
            "service": {"name": NAME, "namespace": NAMESPACE, "port": _SERVICE_PORT},
        },
    }
