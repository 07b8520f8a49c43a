"""Caches of both clusters' objects."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import TypeVar, cast

from nestor.api.objects import Object, is_terminating, labels_of, spec_of, status_of, without_managers
from nestor.api.policy import Policy
from nestor.kube import Api, Change, Informer, Kind, kinds, pages
from nestor.kube.index import Index, Total
from nestor.kube.informer import Stream
from nestor.kube.optional import OptionalInformer
from nestor.pods.translate import config
from nestor.pods.translate.target import Target, nested_uid
from nestor.syncer.view.nodes import HostNodes
from nestor.syncer.view.trim import trim_optional, trim_policy

Cache = TypeVar("Cache", bound=Informer)

_NESTED_FIELDS = {kinds.SECRET: "type!=helm.sh/release.v1"}
"""Helm's records are large, many, and hardly what a pod could want. One that a pod names is asked for."""
CONTROLLER, OWN_CONTROLLER = "endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"
"""Label of EndpointSlices, and what it says of those that follow from a selector: the host makes its own."""
_NESTED_LABELS = {kinds.ENDPOINT_SLICE: f"{CONTROLLER}!={OWN_CONTROLLER}"}

_TRIMS = {kinds.NETWORK_POLICY: trim_policy}
"""Nested kinds of which large objects are trimmed to little."""


MOST = 2000
"""Objects of a kind in the nested cluster, several times what it may have in the host. An admin may have some kinds served by
a server of his own, which may say that there are millions."""


def _has_snapshots(policy: Policy) -> bool:
    return bool(policy.volumes.snapshot_classes)


def _has_devices(policy: Policy) -> bool:
    return bool(policy.allowed_devices.classes)


OPTIONAL: Mapping[Kind, Callable[[Policy], bool]] = {
    kinds.VOLUME_SNAPSHOT: _has_snapshots,
    kinds.VOLUME_SNAPSHOT_CLASS: _has_snapshots,
    kinds.VOLUME_SNAPSHOT_CONTENT: _has_snapshots,
    kinds.RESOURCE_CLAIM: _has_devices,
    kinds.DEVICE_CLASS: _has_devices,
}
"""Kinds that a cluster may not have, and that few classes ask for: whether a policy does."""


class Caches:
    """One informer per kind and cluster, created on first use, which must be before any of them runs.

    On the host side, namespaced kinds hold only this nested cluster's objects, by label, and nodes only those in use or shown;
    other cluster-scoped kinds hold all objects.
    """

    def __init__(self, host: Api, nested: Api, target: Target) -> None:
        self._apis = {"host": host, "nested": nested}
        self._target = target
        self._host: dict[Kind, Informer] = {}
        self._nested: dict[Kind, Informer] = {}
        self._given = self._policy = Policy()
        self._own_runtimes: Mapping[str, str] = {}
        self._policy_handlers: list[Callable[[], None]] = []
        self._is_sealed = False
        self._by_namespace: dict[Kind, Index[str]] = {}
        self.host_cluster.on_change(self._read_policy, first=True)

    @property
    def namespace(self) -> str:
        return self._target.namespace

    def nested(self, kind: Kind) -> Informer:
        if kind not in self._nested:
            self._check_open(kind)
            self._nested[kind] = self._make_nested(kind)
        return self._nested[kind]

    def _make_nested(self, kind: Kind) -> Informer:
        api = self._apis["nested"]
        if kind in OPTIONAL:
            return OptionalInformer(api.with_limit(pages.PAGE_BYTES), kind, trim=trim_optional, most=MOST)
        own, fields, kept = _NESTED_LABELS.get(kind, ""), _NESTED_FIELDS.get(kind, ""), _TRIMS.get(kind, without_managers)
        return Informer(api, kind, labels=own, fields=fields, trim=kept)

    def host(self, kind: Kind) -> Informer:
        """The host objects of this kind: those synced from this nested cluster, or all if the kind is cluster-scoped."""
        if kind == kinds.NODE:
            return self.host_nodes
        selector = self._target.selector if kind.namespaced else ""
        if kind not in OPTIONAL:
            return self._on_host(kind, made=Informer, labels=selector)
        made = self._on_host(kind, made=OptionalInformer, labels=selector)
        if kind.namespaced:  # it is wanted by the policy, or because the host has copies
            made.found = partial(self._want, OPTIONAL[kind])
        return made

    def seal(self) -> None:
        """Allow no new informers from here on: nobody would run them, so their caches would stay empty."""
        self._is_sealed = True

    @cached_property
    def host_cluster(self) -> Informer:
        return self._on_host(kinds.NESTED_CLUSTER, made=Informer, fields=f"metadata.name={self._target.cluster}")

    @cached_property
    def host_nodes(self) -> HostNodes:
        return self._on_host(kinds.NODE, made=HostNodes)

    @cached_property
    def host_events(self) -> Stream:
        """New events in the host namespace. They are told and not kept: there may be very many of them."""
        return self._on_host(kinds.EVENT, made=Stream)

    @cached_property
    def host_quotas(self) -> Informer:
        return self._on_host(kinds.RESOURCE_QUOTA, made=Informer)

    def _on_host(self, kind: Kind, *, made: type[Cache], labels: str = "", fields: str = "") -> Cache:
        if kind not in self._host:
            self._check_open(kind)
            namespace = self._target.namespace if kind.namespaced else None
            self._host[kind] = made(self._apis["host"], kind, namespace, labels=labels, fields=fields, trim=without_managers)
        return cast(Cache, self._host[kind])

    def _want(self, asks: Callable[[Policy], bool]) -> None:
        for informer in self:
            if isinstance(informer, OptionalInformer) and OPTIONAL[informer.kind] is asks:
                informer.want()

    def _check_open(self, kind: Kind) -> None:
        if self._is_sealed:
            raise RuntimeError(f"{kind.plural} requested after the informers started: the cache would stay empty")

    @cached_property
    def nested_by_uid(self) -> Index[str]:
        return Index(self.nested(kinds.POD), lambda pod: str(pod["metadata"]["uid"]))

    @cached_property
    def nested_by_node(self) -> Index[str]:
        return Index(self.nested(kinds.POD), lambda pod: pod["spec"].get("nodeName"))

    @cached_property
    def host_by_uid(self) -> Index[str]:
        """Host pods by the UID of the nested pod that each runs for."""
        return Index(self.host(kinds.POD), nested_uid)

    @cached_property
    def host_by_node(self) -> Index[str]:
        return Index(self.host(kinds.POD), lambda pod: pod["spec"].get("nodeName"))

    @cached_property
    def copied_bytes(self) -> Total:
        """Bytes of what this nested cluster has in the host: its pods, the data of ConfigMaps and Secrets, and whatever else is
        followed.
        """
        return Total([self.host(kind) for kind in (kinds.POD, kinds.CONFIG_MAP, kinds.SECRET)], _measure)

    def by_namespace(self, kind: Kind) -> Index[str]:
        if kind not in self._by_namespace:
            self._by_namespace[kind] = Index(self.nested(kind), lambda item: str(item["metadata"]["namespace"]))
        return self._by_namespace[kind]

    @property
    def host_side(self) -> list[Informer]:
        return list(self._host.values())

    @property
    def nested_side(self) -> list[Informer]:
        return list(self._nested.values())

    @property
    def cluster(self) -> Object | None:
        """The NestedCluster, which says what we must do. None once it is gone."""
        return next(iter(self.host_cluster), None)

    @property
    def is_suspended(self) -> bool:
        """Whether `spec.suspend` asks for the nested cluster's pods to end and wait."""
        return _asks_for_suspend(self.cluster)

    @property
    def is_ending(self) -> bool:
        return self.cluster is None or is_terminating(self.cluster)

    @property
    def policy(self) -> Policy:
        return self._policy

    def on_suspend(self, handler: Callable[[], None]) -> None:
        """Call `handler` whenever the cluster is suspended or resumed, and once at the start."""

        def check(change: Change) -> None:
            if change.old is None or _asks_for_suspend(change.old) != _asks_for_suspend(change.new):
                handler()

        self.host_cluster.on_change(check)

    def on_policy(self, handler: Callable[[], None]) -> None:
        self._policy_handlers.append(handler)

    def set_own_runtimes(self, own: Mapping[str, str]) -> None:
        """Let pods name these RuntimeClasses of the tenant's own, too: each stands for one of the host's."""
        self._own_runtimes = own
        self._update_policy()

    def _read_policy(self, change: Change) -> None:
        if change.new is None:
            return  # a deleted cluster keeps its policy, so that its pods can end normally
        if change.old is None or status_of(change.old).get("policy") != status_of(change.new).get("policy"):
            self._given = Policy.read(change.new)
            self._update_policy()

    def _update_policy(self) -> None:
        found = self._given.with_own_runtimes(self._own_runtimes)
        if found != self._policy:
            self._policy = found
            for asks in set(OPTIONAL.values()):
                if asks(found):
                    self._want(asks)
            for handler in self._policy_handlers:
                handler()

    def __iter__(self) -> Iterator[Informer]:
        yield from [*self.host_side, *self.nested_side]

    @property
    def needed(self) -> list[Informer]:
        """All but those of kinds that a cluster may not have."""
        return [item for item in self if not isinstance(item, OptionalInformer)]

    async def wait_for_sync(self) -> None:
        """Wait until every informer that is needed has its first list: before that, an object that seems gone may just not be
        known yet.
        """
        for informer in self.needed:
            await informer.synced.wait()


def _asks_for_suspend(cluster: Object | None) -> bool:
    return bool(spec_of(cluster).get("suspend"))


def _measure(copy: Object) -> int:
    """The EndpointSlices that the host makes for its Services have the labels of these, and are not the tenant's."""
    return 0 if labels_of(copy).get(CONTROLLER) == OWN_CONTROLLER else config.measure(copy)
