"""Classes of the host that pods and claims may name, under the same names: without them, the nested API server takes no such pod.

A tenant's own class of such a name is left alone.
"""

from collections.abc import Collection, Iterable

from nestor.api import labels
from nestor.api.objects import Object, labels_of
from nestor.kube import Change, kinds
from nestor.kube.informer import Key
from nestor.syncer.copies.fields import LABELS, annotation, fixed, value
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import snapshots, storage


class _ClassRow(Row):
    direction = "Up"
    follows_policy = True

    @property
    def allowed(self) -> Collection[str]:
        raise NotImplementedError

    def is_wanted(self, key: Key, source: Object) -> bool:
        return key[1] in self.allowed

    def may_be_uncached(self, key: Key, copy: Object | None) -> bool:
        """The cache has all of the host's."""
        return False


class PriorityClassRow(_ClassRow):
    kind = kinds.PRIORITY_CLASS
    fields = (LABELS, fixed("value"), fixed("preemptionPolicy"), value("description"))

    @property
    def allowed(self) -> Collection[str]:
        return self.policy.places.priority_classes.allowed

    def build(self, source: Object) -> Object:
        return build_priority_class(source)


class RuntimeClassRow(_ClassRow):
    kind = kinds.RUNTIME_CLASS
    fields = (LABELS, fixed("handler"), value("overhead"))

    @property
    def allowed(self) -> Collection[str]:
        return self.policy.places.runtime_classes.allowed

    def set_up(self) -> None:
        """Find the tenant's own ones too, which may stand for those that are allowed."""
        hosts = self.caches.host(self.kind)

        def find_own(_: Change | None = None) -> None:
            self.caches.set_own_runtimes(find_own_runtimes(self.allowed, hosts, self.copies))

        hosts.on_change(find_own, first=True)
        self.copies.on_change(find_own, first=True)
        self.caches.on_policy(find_own)

    def build(self, source: Object) -> Object:
        return build_runtime_class(source)


class StorageClassRow(_ClassRow):
    """Claims that have a volume do not need it any more."""

    kind = kinds.STORAGE_CLASS
    fields = (
        LABELS,
        annotation(storage.DEFAULT_CLASS),
        annotation(storage.HOST_PROVISIONER),
        fixed("provisioner"),
        fixed("reclaimPolicy"),
        fixed("volumeBindingMode"),
        value("allowVolumeExpansion"),
    )

    @property
    def allowed(self) -> Collection[str]:
        return self.policy.volumes.classes

    def build(self, source: Object) -> Object:
        return storage.build_class(source, self.policy.volumes)


class SnapshotClassRow(_ClassRow):
    kind = kinds.VOLUME_SNAPSHOT_CLASS
    fields = (
        LABELS,
        annotation(snapshots.DEFAULT_CLASS),
        annotation(storage.HOST_PROVISIONER),
        fixed("driver"),
        fixed("deletionPolicy"),
    )

    @property
    def allowed(self) -> Collection[str]:
        return self.policy.volumes.snapshot_classes

    def build(self, source: Object) -> Object:
        return snapshots.build_class(source, self.policy.volumes)


class DeviceClassRow(_ClassRow):
    kind = kinds.DEVICE_CLASS
    fields = (LABELS,)

    @property
    def allowed(self) -> Collection[str]:
        return self.policy.allowed_devices.classes

    def build(self, source: Object) -> Object:
        """A name. Which devices there are of it, and with which parameters, is known to the host alone."""
        return _build(source) | {"spec": {}}


ROWS = (PriorityClassRow, RuntimeClassRow, StorageClassRow, SnapshotClassRow, DeviceClassRow)


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
    metadata = {"name": host["metadata"]["name"], "labels": dict(storage.UP)}
    return {"apiVersion": host["apiVersion"], "kind": host["kind"], "metadata": metadata}
