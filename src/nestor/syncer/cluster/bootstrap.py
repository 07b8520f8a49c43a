"""Creates what pods of the nested cluster need (DNS), as soon as its API server accepts writes."""

from __future__ import annotations

import asyncio
import logging

from nestor.api import labels
from nestor.kube import Api, ApiError, kinds
from nestor.objects import Object
from nestor.translate.target import Target

log = logging.getLogger(__name__)

_CHECK_SECONDS = 60.0
_RETRY_SECONDS = 0.2
_RETRY_LIMIT = 10.0
_DNS_NAME = "nestor:coredns"


async def keep_basics(nested: Api, target: Target) -> None:
    """Create the basics, and restore them if a tenant deletes them, until cancelled."""
    retry = _RETRY_SECONDS
    while True:
        try:
            await ensure_basics(nested, target)
            delay, retry = _CHECK_SECONDS, _RETRY_SECONDS
        except ApiError as error:
            # A fresh server may not have created `kube-system` yet; a tenant's admission policy may refuse for good.
            log.info("cannot set up DNS in the nested cluster, retrying: %s", error)
            delay, retry = retry, min(2 * retry, _RETRY_LIMIT)
        await asyncio.sleep(delay)


async def ensure_basics(nested: Api, target: Target) -> None:
    """Apply the DNS server's permissions, and a Service with the usual name for it."""
    await nested.apply(kinds.CLUSTER_ROLE, build_dns_role())
    await nested.apply(kinds.CLUSTER_ROLE_BINDING, build_dns_binding())
    await nested.apply(kinds.SERVICE, build_dns_service(target))


def build_dns_role() -> Object:
    """Permissions for the kubernetes plugin of CoreDNS (`pods verified` needs pods too)."""

    def rule(group: str, *resources: str) -> Object:
        return {"apiGroups": [group], "resources": list(resources), "verbs": ["list", "watch"]}

    rules = [rule("", "endpoints", "services", "pods", "namespaces"), rule("discovery.k8s.io", "endpointslices")]
    return {"metadata": {"name": _DNS_NAME, "labels": {labels.MANAGED_BY: "nestor"}}, "rules": rules}


def build_dns_binding() -> Object:
    """Binds the role to the user in the certificate that the operator issued to CoreDNS."""
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": _DNS_NAME, "labels": {labels.MANAGED_BY: "nestor"}},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": _DNS_NAME},
        "subjects": [{"apiGroup": group, "kind": "User", "name": _DNS_NAME}],
    }


def build_dns_service(target: Target) -> Object:
    """`kube-dns`, which some applications look for. It also reserves the address, so that no nested Service gets it."""
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]
    return {
        "metadata": {
            "name": "kube-dns",
            "namespace": "kube-system",
            "labels": {labels.MANAGED_BY: "nestor", "k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true"},
        },
        "spec": {"clusterIP": target.dns_ip, "ports": ports},
    }
