"""What both clusters hold, as the syncer last saw it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from nestor.api.policy import Policy
from nestor.kube import Api, Change, Informer, Kind, kinds
from nestor.kube.index import Index
from nestor.objects import Object, labels_of, spec_of
from nestor.translate.target import Target, nested_uid

_NOT_HELM = "type!=helm.sh/release.v1"
"""Helm's records are large, many, and nothing that a pod could want."""


class Caches:
    """An informer per kind and side. Host objects are this nested cluster's only, by their labels; nodes are all."""

    def __init__(self, host: Api, nested: Api, target: Target) -> None:
        self.nested_pods = Informer(nested, kinds.POD)
        self.nested_services = Informer(nested, kinds.SERVICE)
        self.nested_config_maps = Informer(nested, kinds.CONFIG_MAP)
        self.nested_secrets = Informer(nested, kinds.SECRET, fields=_NOT_HELM)
        self.nested_namespaces = Informer(nested, kinds.NAMESPACE)
        self.nested_nodes = Informer(nested, kinds.NODE)

        def synced(kind: Kind) -> Informer:
            return Informer(host, kind, target.namespace, labels=target.selector)

        self.host_pods = synced(kinds.POD)
        self.host_services = synced(kinds.SERVICE)
        self.host_config_maps = synced(kinds.CONFIG_MAP)
        self.host_secrets = synced(kinds.SECRET)
        self.host_nodes = Informer(host, kinds.NODE)
        self.host_cluster = Informer(host, kinds.NESTED_CLUSTER, target.namespace, fields=f"metadata.name={target.cluster}")
        self.host_events = Informer(host, kinds.EVENT, target.namespace, fields="involvedObject.kind=Pod")

        self.nested_by_uid = Index(self.nested_pods, lambda pod: str(pod["metadata"]["uid"]))
        self.nested_by_node = Index(self.nested_pods, lambda pod: str(pod["spec"].get("nodeName") or ""))
        self.host_by_uid = Index(self.host_pods, nested_uid)
        self.services_by_namespace = Index(self.nested_services, lambda service: str(service["metadata"]["namespace"]))
        self.pods_by_namespace = Index(self.nested_pods, lambda pod: str(pod["metadata"]["namespace"]))

    @property
    def host_side(self) -> list[Informer]:
        """Informers of the host cluster."""
        return [
            self.host_pods,
            self.host_services,
            self.host_config_maps,
            self.host_secrets,
            self.host_nodes,
            self.host_events,
            self.host_cluster,
        ]

    @property
    def nested_side(self) -> list[Informer]:
        """Informers of the nested cluster."""
        return [
            self.nested_pods,
            self.nested_services,
            self.nested_config_maps,
            self.nested_secrets,
            self.nested_namespaces,
            self.nested_nodes,
        ]

    @property
    def cluster(self) -> Object | None:
        """The NestedCluster itself: what is asked of us. None once it is gone."""
        return next(iter(self.host_cluster), None)

    @property
    def is_suspended(self) -> bool:
        """Whether the nested cluster's pods are to rest, by `spec.suspend`."""
        return _asks_for_rest(self.cluster)

    @property
    def policy(self) -> Policy:
        """What the class allows this cluster's pods, as of now."""
        return Policy.read(self.cluster)

    def on_suspend(self, handler: Callable[[], None]) -> None:
        """Have `handler` called whenever the cluster is suspended or resumed, and once at the start."""

        def check(change: Change) -> None:
            if change.old is None or _asks_for_rest(change.old) != _asks_for_rest(change.new):
                handler()

        self.host_cluster.on_change(check)

    def __iter__(self) -> Iterator[Informer]:
        yield from [*self.host_side, *self.nested_side]

    async def wait_for_sync(self) -> None:
        """Until every informer has its first list: before that, what seems to be gone may only not be known yet."""
        for informer in self:
            await informer.synced.wait()

    def namespace_labels(self) -> dict[str, dict[str, str]]:
        """The nested namespaces with their labels."""
        return {item["metadata"]["name"]: labels_of(item) for item in self.nested_namespaces}


def _asks_for_rest(cluster: Object | None) -> bool:
    return bool(spec_of(cluster).get("suspend"))


def silence(informers: Iterable[Informer]) -> float:
    """Seconds since the informer that is silent for longest heard from its server."""
    return max((informer.silence for informer in informers), default=0.0)
