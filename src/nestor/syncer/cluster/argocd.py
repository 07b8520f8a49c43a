"""Argo CD's rights in the nested cluster: those that the class gives it, and no others."""

import contextlib

from nestor.api import labels
from nestor.api.allowances import ArgoCDAccess
from nestor.api.contracts.cluster import ARGOCD_USER
from nestor.api.objects import Object
from nestor.cluster.home import build_binding
from nestor.kube import Api, Change, Kind, NotFound, WorkQueue, kinds
from nestor.syncer.view.caches import Caches
from nestor.syncer.view.context import RETRY_LIMIT

CHECK_SECONDS = 600.0
"""The tenant may have deleted them."""
_MARK = f"{labels.MANAGED_BY}=nestor"


class ArgoCDRights:
    """Binds Argo CD's user in the namespaces that it manages. What an earlier policy gave it is taken away."""

    def __init__(self, nested: Api, caches: Caches) -> None:
        self._nested = nested
        self._caches = caches
        self.queue: WorkQueue[str] = WorkQueue(self._ensure, workers=1, name="argocd", max_delay=RETRY_LIMIT)
        caches.on_policy(lambda: self.queue.add(""))
        caches.nested(kinds.NAMESPACE).on_change(self._on_namespace)
        self.queue.add("")

    def _on_namespace(self, change: Change) -> None:
        """One that is made later gets its binding at once."""
        access = self._caches.policy.argo_cd
        if change.old is None and access is not None and change.key[1] in access.namespaces:
            self.queue.add("")

    async def _ensure(self, _: str) -> float | None:
        access = self._caches.policy.argo_cd
        wanted = build_bindings(access)
        kept = {(kind, body["metadata"].get("namespace", "")) for kind, body in wanted}
        for kind in (kinds.CLUSTER_ROLE_BINDING, kinds.ROLE_BINDING):
            for item in await self._nested.list(kind, labels=_MARK, fields=f"metadata.name={ARGOCD_USER}"):
                namespace = item["metadata"].get("namespace", "")
                if (kind, namespace) not in kept:
                    await self._nested.delete(kind, ARGOCD_USER, namespace or None)
        for kind, body in wanted:
            with contextlib.suppress(NotFound):  # the namespace does not exist yet
                await self._nested.apply(kind, body)
        return CHECK_SECONDS if access is not None else None


def build_bindings(access: ArgoCDAccess | None) -> list[tuple[Kind, Object]]:
    """The bindings of Argo CD's user. In a namespace, `cluster-admin` is all that is in it. Pure."""
    if access is None:
        return []
    if access.is_whole:
        return [(kinds.CLUSTER_ROLE_BINDING, _build())]
    return [(kinds.ROLE_BINDING, _build(namespace=namespace)) for namespace in sorted(set(access.namespaces))]


def _build(**where: str) -> Object:
    metadata = {"name": ARGOCD_USER, "labels": {labels.MANAGED_BY: "nestor"}, **where}
    return build_binding(metadata, "cluster-admin", {"kind": "User", "name": ARGOCD_USER})
