"""What the operator knows of the host cluster: our resources by kopf's events, everything else by informers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from nestor.api import labels
from nestor.kube import Api, Change, Informer, Kind, kinds
from nestor.kube.client import Object
from nestor.kube.informer import Key, key_of

GONE_REMEMBERED = 1000
"""How many dropped objects a store remembers: more than requests can be on their way at once."""


class Store:
    """The newest state of all objects of one kind, fed from outside. Never steps back to an older version."""

    def __init__(self) -> None:
        self._objects: dict[Key, Object] = {}
        self._gone: dict[str, None] = {}
        """The UIDs that were dropped last."""

    def put(self, obj: Object) -> bool:
        """Take a state, unless a newer one is known: our own write may be ahead of the watch.

        It may be behind it as well. False: the object is known to be gone, and is not taken, for nobody would drop it again.
        """
        key = key_of(obj)
        if obj["metadata"].get("uid") in self._gone:
            return False
        known = self._objects.get(key)
        if known is None or known["metadata"].get("uid") != obj["metadata"].get("uid") or _version(obj) >= _version(known):
            self._objects[key] = obj
        return True

    def drop(self, obj: Object) -> None:
        """The object is gone for good (a successor of the same name, which may be known already, is another one)."""
        self._gone[obj["metadata"]["uid"]] = None
        if len(self._gone) > GONE_REMEMBERED:
            del self._gone[next(iter(self._gone))]
        known = self._objects.get(key_of(obj))
        if known is not None and known["metadata"].get("uid") == obj["metadata"].get("uid"):
            del self._objects[key_of(obj)]

    def get(self, name: str, namespace: str = "") -> Object | None:
        """The object, or None. Do not modify it."""
        return self._objects.get((namespace, name))

    def __iter__(self) -> Iterator[Object]:
        return iter(list(self._objects.values()))


class Index:
    """The objects of one informer by a key of their own."""

    def __init__(self, informer: Informer, key: Callable[[Object], Key | None]) -> None:
        self._key = key
        self._found: dict[Key, dict[Key, Object]] = defaultdict(dict)
        informer.on_change(self._update)

    def get(self, namespace: str, name: str = "") -> list[Object]:
        """The objects with that key."""
        return list(self._found.get((namespace, name), {}).values())

    def _update(self, change: Change) -> None:
        key = self._key(change.latest)
        if key is None:
            return
        if change.new is not None:
            self._found[key][change.key] = change.new
        elif key in self._found:
            self._found[key].pop(change.key, None)
            if not self._found[key]:
                del self._found[key]


class World:
    """All of it. Informers see what carries our label, and all Ingresses, because hosts are claimed by others too."""

    def __init__(self, api: Api) -> None:
        self.jobs = Store()
        self.clusters = Store()
        self.classes = Store()
        self.apps = Store()
        ours = f"{labels.MANAGED_BY}=nestor"
        watched = (
            kinds.POD,
            kinds.SERVICE,
            kinds.NAMESPACE,
            kinds.STATEFUL_SET,
            kinds.ENDPOINT_SLICE,
            kinds.PERSISTENT_VOLUME_CLAIM,
        )
        self.informers = {kind: Informer(api, kind, labels=ours) for kind in watched}
        self.informers[kinds.INGRESS] = Informer(api, kinds.INGRESS)
        self.ingresses_by_namespace = Index(self.informers[kinds.INGRESS], lambda item: (item["metadata"]["namespace"], ""))
        self.pods_by_namespace = Index(self.informers[kinds.POD], lambda item: (item["metadata"]["namespace"], ""))
        self.slices_by_service = Index(self.informers[kinds.ENDPOINT_SLICE], _service_of)

    def find(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        """One watched object, or None."""
        return self.informers[kind].get(name, namespace)

    @property
    def is_synced(self) -> bool:
        """Whether every informer has seen its first list."""
        return all(informer.synced.is_set() for informer in self.informers.values())


def _service_of(item: Object) -> Key | None:
    service = (item["metadata"].get("labels") or {}).get("kubernetes.io/service-name")
    return (item["metadata"]["namespace"], service) if service else None


def _version(obj: Object) -> int:
    """Resource versions of one kind grow, and may be compared as numbers (Kubernetes 1.35 promises what was always so)."""
    text = str(obj["metadata"].get("resourceVersion", ""))
    return int(text) if text.isdigit() else 0
