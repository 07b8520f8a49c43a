"""Creates what users and pods of the nested cluster need (the admin's rights, DNS), once its API server accepts writes."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from nestor.api import labels
from nestor.api.contracts.cluster import ADMIN_GROUP, COREDNS_USER
from nestor.api.objects import Object
from nestor.cluster.home import build_binding
from nestor.kube import Api, ApiError, kinds
from nestor.kube.tasks import together
from nestor.pods.translate.target import Target

log = logging.getLogger(__name__)

_CHECK_SECONDS = 60.0
_RETRY_SECONDS = 0.2
_RETRY_LIMIT = 10.0
_GRANT_SECONDS = 0.02
_GRANT_TRIES = 100


async def keep_basics(nested: Api, target: Target, on_rights: Callable[[], None], on_admin: Callable[[str], None]) -> None:
    """Create the basics, and restore them if a tenant deletes them, until cancelled.

    `on_rights` is called whenever the DNS server has its rights, `on_admin` with why the admin could not be given any, or empty.
    One does not wait for the other: a tenant's admission policy may refuse either for good.
    """
    # The group and the user are those in the certificates that the operator issues to the cluster's admins, and to CoreDNS.
    ours = {"labels": {labels.MANAGED_BY: "nestor"}}
    dns_binding = build_binding(ours | {"name": COREDNS_USER}, COREDNS_USER, {"kind": "User", "name": COREDNS_USER})
    admin_binding = build_binding(ours | {"name": ADMIN_GROUP}, "cluster-admin", {"kind": "Group", "name": ADMIN_GROUP})
    retry = _RETRY_SECONDS
    while True:
        role, binding, admin = await together(
            _try(nested.apply(kinds.CLUSTER_ROLE, build_dns_role())),
            _try(nested.apply(kinds.CLUSTER_ROLE_BINDING, dns_binding)),
            _try(nested.apply(kinds.CLUSTER_ROLE_BINDING, admin_binding)),
        )
        on_admin(admin)
        problems = [role, binding, admin, await _try(_await_dns_rights(nested, on_rights, is_applied=not role and not binding))]
        problems.append(await _try(nested.apply(kinds.SERVICE, build_dns_service(target))))
        if problem := next(filter(None, problems), ""):
            # A fresh server may not have created `kube-system` yet.
            log.info("cannot set up rights and DNS in the nested cluster, retrying: %s", problem)
            delay, retry = retry, min(2 * retry, _RETRY_LIMIT)
        else:
            delay, retry = _CHECK_SECONDS, _RETRY_SECONDS
        await asyncio.sleep(delay)


async def _try(work: Coroutine[Any, Any, Any]) -> str:
    """What the API server refused; empty if nothing."""
    try:
        await work
    except ApiError as error:
        return error.message or str(error)
    return ""


async def _await_dns_rights(nested: Api, on_rights: Callable[[], None], *, is_applied: bool) -> None:
    """Call `on_rights` once the rights of the DNS server are in force: since before, if they are refused now."""
    # The API server's authorizer learns of a binding a moment later, and a DNS server that is refused waits for a second.
    for _ in range(_GRANT_TRIES if is_applied else 1):
        if await _may_list_services(nested):
            break
        await asyncio.sleep(_GRANT_SECONDS)
    else:
        if not is_applied:
            return
    on_rights()


async def _may_list_services(nested: Api) -> bool:
    spec = {"user": COREDNS_USER, "resourceAttributes": {"verb": "list", "resource": "services"}}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = await nested.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", None, review)
    return bool((answer.get("status") or {}).get("allowed"))


def build_dns_role() -> Object:
    """Permissions for the kubernetes plugin of CoreDNS (`pods verified` needs pods too)."""

    def rule(group: str, *resources: str) -> Object:
        return {"apiGroups": [group], "resources": list(resources), "verbs": ["list", "watch"]}

    rules = [rule("", "endpoints", "services", "pods", "namespaces"), rule("discovery.k8s.io", "endpointslices")]
    return {"metadata": {"name": COREDNS_USER, "labels": {labels.MANAGED_BY: "nestor"}}, "rules": rules}


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
