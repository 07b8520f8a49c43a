"""The operator's view of the host cluster, kept by watches."""

from __future__ import annotations

from nestor.api import labels
from nestor.api.objects import Object, labels_of
from nestor.kube import Api, Informer, Kind, kinds
from nestor.kube.index import Index
from nestor.kube.informer import Key
from nestor.operator.world.trim import TRIMS

OWN = (kinds.NESTED_APP_JOB, kinds.NESTED_CLUSTER, kinds.NESTED_CLASS, kinds.NESTED_APP, kinds.OVERFLOW_BACKEND)


class Cache:
    """All informers, each with what is read of its objects. Of others' kinds, they see objects with our label, and all Ingresses,
    because others claim hosts too. Of nodes and certificate requests, those of backends.
    """

    def __init__(self, api: Api, namespace: str = "nestor-system") -> None:
        """`namespace`: the operator's own."""
        own = {kind: Informer(api, kind, trim=TRIMS[kind]) for kind in OWN}
        self.jobs, self.clusters, self.classes, self.apps, self.backends = own.values()
        ours = f"{labels.MANAGED_BY}=nestor"
        watched = (kinds.POD, kinds.SERVICE, kinds.STATEFUL_SET, kinds.ENDPOINT_SLICE, kinds.PERSISTENT_VOLUME_CLAIM)
        self.informers = own | {kind: Informer(api, kind, labels=ours, trim=TRIMS[kind]) for kind in watched}
        # All of them: which ones there are decides whether a job's default host is its own.
        self.informers[kinds.NAMESPACE] = Informer(api, kinds.NAMESPACE, trim=TRIMS[kinds.NAMESPACE])
        self.informers[kinds.INGRESS] = Informer(api, kinds.INGRESS, trim=TRIMS[kinds.INGRESS])
        for kind in (kinds.NODE, kinds.CERTIFICATE_REQUEST):
            self.informers[kind] = Informer(api, kind, labels=labels.BACKEND, trim=TRIMS[kind])
        self.informers[kinds.DEPLOYMENT] = Informer(api, kinds.DEPLOYMENT, namespace, labels=ours, trim=TRIMS[kinds.DEPLOYMENT])
        self.exposing = {kinds.INGRESS: Index(self.informers[kinds.INGRESS], _namespace_of)}
        """By namespace, the objects by which hosts are claimed."""
        self.pods_by_namespace = Index(self.informers[kinds.POD], _namespace_of)
        self.slices_by_service = Index(self.informers[kinds.ENDPOINT_SLICE], _service_of)

    def add_exposing(self, informer: Informer) -> None:
        """Have another kind by which jobs are exposed."""
        self.informers[informer.kind] = informer
        self.exposing[informer.kind] = Index(informer, _namespace_of)

    def find_exposing(self, namespace: str) -> list[tuple[Kind, Object]]:
        """What claims hosts in a namespace."""
        return [(kind, item) for kind, index in self.exposing.items() for item in index.all(namespace)]

    @property
    def virtual_nodes(self) -> dict[str, Object]:
        """The nodes of backends, by name."""
        return {name: node for (_, name), node in self.informers[kinds.NODE].store.items()}

    def find(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        """One watched object, or None."""
        return self.informers[kind].get(name, namespace)


def _namespace_of(item: Object) -> str:
    return str(item["metadata"]["namespace"])


def _service_of(item: Object) -> Key | None:
    service = labels_of(item).get("kubernetes.io/service-name")
    return (item["metadata"]["namespace"], service) if service else None
