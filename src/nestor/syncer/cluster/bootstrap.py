"""What the nested cluster must hold before its pods can work; made as soon as its API server takes writes."""

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
    """Make the basics at once and again whenever a tenant took them away, until cancelled."""
    retry = _RETRY_SECONDS
    while True:
        try:
            await ensure_basics(nested, target)
            delay, retry = _CHECK_SECONDS, _RETRY_SECONDS
        except ApiError as error:
            # Right after its start the server may not have made `kube-system` yet; a tenant's own policy may refuse for ever.
            log.info("cannot set up DNS in the nested cluster, retrying: %s", error)
            delay, retry = retry, min(2 * retry, _RETRY_LIMIT)
        await asyncio.sleep(delay)


async def ensure_basics(nested: Api, target: Target) -> None:
    """The DNS server's permissions, and its Service by the usual name."""
    await nested.apply(kinds.CLUSTER_ROLE, build_dns_role())
    await nested.apply(kinds.CLUSTER_ROLE_BINDING, build_dns_binding())
    await nested.apply(kinds.SERVICE, build_dns_service(target))


def build_dns_role() -> Object:
    """What CoreDNS' kubernetes plugin reads (with `pods verified`, pods too)."""

    def rule(group: str, *resources: str) -> Object:
        return {"apiGroups": [group], "resources": list(resources), "verbs": ["list", "watch"]}

    rules = [rule("", "endpoints", "services", "pods", "namespaces"), rule("discovery.k8s.io", "endpointslices")]
    return {"metadata": {"name": _DNS_NAME, "labels": {labels.MANAGED_BY: "nestor"}}, "rules": rules}


def build_dns_binding() -> Object:
    """Gives the role to the certificate that the operator minted for CoreDNS."""
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": _DNS_NAME, "labels": {labels.MANAGED_BY: "nestor"}},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": _DNS_NAME},
        "subjects": [{"apiGroup": group, "kind": "User", "name": _DNS_NAME}],
    }


def build_dns_service(target: Target) -> Object:
    """`kube-dns`, which some applications look for; it also keeps its address from being given to a nested Service."""
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]
    return {
        "metadata": {
            "name": "kube-dns",
            "namespace": "kube-system",
            "labels": {labels.MANAGED_BY: "nestor", "k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true"},
        },
        "spec": {"clusterIP": target.dns_ip, "ports": ports},
    }
