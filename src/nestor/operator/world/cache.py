"""The operator's view of the host cluster: our resources from kopf's events, everything else from informers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator

from nestor.api import labels
from nestor.kube import Api, Informer, Kind, kinds
from nestor.kube.index import Index
from nestor.kube.informer import Key, key_of
from nestor.kube.pages import Trim
from nestor.objects import Object, labels_of
from nestor.operator.world.kept import find_fault
from nestor.operator.world.trim import TRIMS, trim_object

log = logging.getLogger(__name__)

GONE_REMEMBERED = 1000
"""How many dropped objects a store remembers: more than the number of requests that can be in flight."""


class Store:
    """The latest state of all objects of one kind, fed from outside. Never goes back to an older version."""

    def __init__(self, trim: Trim = trim_object) -> None:
        self.trim = trim
        """What is kept of each object."""
        self._objects: dict[Key, Object] = {}
        self._gone: dict[str, None] = {}
        """The UIDs of the objects dropped last, oldest first."""
        self._handlers: list[Callable[[Object | None, Object | None], None]] = []
        self.last_contact = time.monotonic()
        """When the server last said anything of this kind."""

    def on_change(self, handler: Callable[[Object | None, Object | None], None]) -> None:
        """Have this called with an object as it was and as it is, None where there was or is none."""
        self._handlers.append(handler)

    def put(self, obj: Object) -> bool:
        """Store a state, unless a newer one is known: our own writes may be ahead of the watch.

        They may also be behind it. False: the object is known to be gone and is not stored, as nothing would drop it again.
        """
        key = key_of(obj)
        if obj["metadata"].get("uid") in self._gone:
            return False
        known = self._objects.get(key)
        if known is None or known["metadata"].get("uid") != obj["metadata"].get("uid") or _version(obj) >= _version(known):
            self._objects[key] = kept = self.trim(obj)
            if (fault := find_fault(kept)) and fault != find_fault(known):
                log.warning("%s %s: %s", kept.get("kind", "object"), "/".join(key), fault)
            self._tell(known, kept)
        return True

    def drop(self, obj: Object) -> None:
        """Remove an object that is gone for good. A successor with the same name, which may already be known, stays."""
        self._gone[obj["metadata"]["uid"]] = None
        if len(self._gone) > GONE_REMEMBERED:
            del self._gone[next(iter(self._gone))]
        known = self._objects.get(key_of(obj))
        if known is not None and known["metadata"].get("uid") == obj["metadata"].get("uid"):
            del self._objects[key_of(obj)]
            self._tell(known, None)

    def _tell(self, old: Object | None, new: Object | None) -> None:
        for handler in self._handlers:
            handler(old, new)

    @property
    def silence(self) -> float:
        """Seconds since then."""
        return time.monotonic() - self.last_contact

    def note_contact(self) -> None:
        """The server has just said something of this kind."""
        self.last_contact = time.monotonic()

    def get(self, name: str, namespace: str = "") -> Object | None:
        """The object, or None. Do not modify it."""
        return self._objects.get((namespace, name))

    def __iter__(self) -> Iterator[Object]:
        return iter(list(self._objects.values()))


class Cache:
    """All stores and informers, each with what is read of its objects. Informers see objects with our label, and all Ingresses,
    because others claim hosts too. Of nodes and certificate requests, those of backends.
    """

    def __init__(self, api: Api, namespace: str = "nestor-system") -> None:
        """`namespace`: the operator's own."""
        self.jobs = Store(TRIMS[kinds.NESTED_APP_JOB])
        self.clusters = Store(TRIMS[kinds.NESTED_CLUSTER])
        self.classes = Store(TRIMS[kinds.NESTED_CLASS])
        self.apps = Store(TRIMS[kinds.NESTED_APP])
        self.backends = Store(TRIMS[kinds.OVERFLOW_BACKEND])
        self.stores = {
            kinds.NESTED_APP_JOB: self.jobs,
            kinds.NESTED_CLUSTER: self.clusters,
            kinds.NESTED_CLASS: self.classes,
            kinds.NESTED_APP: self.apps,
            kinds.OVERFLOW_BACKEND: self.backends,
        }
        ours = f"{labels.MANAGED_BY}=nestor"
        watched = (kinds.POD, kinds.SERVICE, kinds.STATEFUL_SET, kinds.ENDPOINT_SLICE, kinds.PERSISTENT_VOLUME_CLAIM)
        self.informers = {kind: Informer(api, kind, labels=ours, trim=TRIMS[kind]) for kind in watched}
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


def _version(obj: Object) -> int:
    """Resource versions of one kind only grow and can be compared as numbers (documented since Kubernetes 1.35)."""
    text = str(obj["metadata"].get("resourceVersion", ""))
    return int(text) if text.isdigit() else 0
