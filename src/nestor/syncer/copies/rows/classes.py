"""PriorityClasses and RuntimeClasses that the class lets pods name: without them, the nested API server takes no such pod.

A tenant's own class of the same name is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from nestor.api import labels
from nestor.api.objects import Object, labels_of
from nestor.api.placement import Names
from nestor.kube import Change, kinds
from nestor.kube.informer import Key
from nestor.syncer.copies.fields import LABELS, fixed, value
from nestor.syncer.copies.row import Row


class _NamedRow(Row):
    direction = "Up"
    sources = None
    follows_policy = True
    workers = 1

    def set_up(self) -> None:
        self._hosts = self.caches.host(self.kind)
        self._hosts.on_change(self._on_host)

    @property
    def names(self) -> Names:
        raise NotImplementedError

    def find_source(self, key: Key) -> Object | None:
        """The host object, if the class allows it and the host has it."""
        return self._hosts.get(key[1]) if key[1] in self.names.allowed else None

    def _on_host(self, change: Change) -> None:
        if change.key[1] in self.names.allowed:
            self.wake(change.key)

    def wake_all(self, _: Change | None = None) -> None:
        self.wake_each(self.copies)
        for name in self.names.allowed:
            self.wake(("", name))


class PriorityClassRow(_NamedRow):
    kind = kinds.PRIORITY_CLASS
    fields = (LABELS, fixed("value"), fixed("preemptionPolicy"), value("description"))

    @property
    def names(self) -> Names:
        return self.policy.places.priority_classes

    def build(self, source: Object) -> Object:
        return build_priority_class(source)


class RuntimeClassRow(_NamedRow):
    kind = kinds.RUNTIME_CLASS
    fields = (LABELS, fixed("handler"), value("overhead"))

    @property
    def names(self) -> Names:
        return self.policy.places.runtime_classes

    def set_up(self) -> None:
        """Find the tenant's own ones too, which may stand for those that are allowed."""
        super().set_up()

        def find_own(_: Change | None = None) -> None:
            self.caches.set_own_runtimes(find_own_runtimes(self.names.allowed, self._hosts, self.copies))

        self._hosts.on_change(find_own, first=True)
        self.copies.on_change(find_own, first=True)
        self.caches.on_policy(find_own)

    def build(self, source: Object) -> Object:
        return build_runtime_class(source)


ROWS = (PriorityClassRow, RuntimeClassRow)


_HIGHEST = 1_000_000_000
"""Above it are the priorities of Kubernetes' own classes, which no other class may have."""


def build_priority_class(host: Object) -> Object:
    """The nested PriorityClass. It is no default: pods that name none get what the class says on the host alone."""
    copy = _build(host) | {"value": min(host["value"], _HIGHEST), "globalDefault": False}
    return copy | {key: host[key] for key in ("description", "preemptionPolicy") if host.get(key)}


def build_runtime_class(host: Object) -> Object:
    """The nested RuntimeClass. Without `scheduling`: the nested API server would make it a wish of the pod's owner. The host adds
    it to the host pod by itself.
    """
    copy = _build(host) | {"handler": host["handler"]}
    return copy | ({"overhead": host["overhead"]} if host.get("overhead") else {})


def find_own_runtimes(allowed: Iterable[str], hosts: Iterable[Object], nested: Iterable[Object]) -> dict[str, str]:
    """The RuntimeClasses of the tenant's own that stand for one of the host's, by their names: those with the handler of an
    `allowed` one, which is all that runs them.
    """
    handlers = {item["metadata"]["name"]: item["handler"] for item in hosts}
    names = {handlers[name]: name for name in reversed([*allowed]) if name in handlers}
    own = [item for item in nested if labels_of(item).get(labels.MANAGED_BY) != "nestor"]
    return {item["metadata"]["name"]: names[item["handler"]] for item in own if item["handler"] in names}


def _build(host: Object) -> Object:
    metadata = {"name": host["metadata"]["name"], "labels": {labels.MANAGED_BY: "nestor"}}
    return {"apiVersion": host["apiVersion"], "kind": host["kind"], "metadata": metadata}
