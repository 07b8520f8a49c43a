"""VolumeSnapshots: the host makes them of the volumes that its own claims have, and the nested ones say how far it is."""

import logging
from collections.abc import Iterable

from nestor.api import labels, names, times
from nestor.api.objects import Object, annotations_of, is_terminating, spec_of
from nestor.kube import Conflict, WorkQueue, kinds
from nestor.kube.index import Index
from nestor.kube.informer import Key
from nestor.pods.translate.target import nested_key, nested_uid
from nestor.syncer.copies.fields import LABELS, fixed, value
from nestor.syncer.copies.rows.storage import OWN, LastingRow, ShadowRow
from nestor.syncer.translate import snapshots, storage
from nestor.syncer.view.context import RETRY_LIMIT, Context

log = logging.getLogger(__name__)

KINDS = (kinds.VOLUME_SNAPSHOT_CLASS, kinds.VOLUME_SNAPSHOT_CONTENT, kinds.VOLUME_SNAPSHOT)
_APPROVED = "api-approved.kubernetes.io"
"""Annotation without which API servers take no definition in a group of Kubernetes'."""


class SnapshotRow(LastingRow):
    """Snapshots of claims that have a copy in the host."""

    kind = kinds.VOLUME_SNAPSHOT
    refused = "SnapshotRefused"
    fields = OWN

    def set_up(self) -> None:
        super().set_up()
        self._claims = self.caches.nested(kinds.PERSISTENT_VOLUME_CLAIM)
        self._hosts = self.caches.host(kinds.PERSISTENT_VOLUME_CLAIM)
        self._classes = self.caches.nested(kinds.VOLUME_SNAPSHOT_CLASS)
        of_claim: Index[Key] = Index(
            self.caches.nested(self.kind), lambda found: (found["metadata"]["namespace"], snapshots.find_claim(found))
        )
        self._classes.on_change(self.wake_all)
        self._claims.on_change(lambda change: self.wake_each(of_claim.all(change.key)))
        self._hosts.on_change(lambda change: self.wake_each(of_claim.all(nested_key(change.latest))))

    def is_wanted(self, key: Key, source: Object) -> bool:
        """Once the host has the claim. One that is being deleted gets no new copy."""
        if self.find_own_copy(source) is not None:
            return True
        return not is_terminating(source) and self._has_claim(key[0], snapshots.find_claim(source))

    def _has_claim(self, namespace: str, name: str) -> bool:
        """Whether the host's claim of that name is the copy of this very one."""
        claim = self._claims.get(name, namespace)
        host = self._hosts.get(names.host_name(name, namespace), self.context.target.namespace)
        return claim is not None and host is not None and nested_uid(host) == claim["metadata"]["uid"]

    def judge(self, source: Object) -> Iterable[str]:
        is_own = storage.is_tenants(self._classes.get(spec_of(source).get("volumeSnapshotClassName") or ""))
        found = [*snapshots.find_refusals(source, self.policy.volumes, is_own_class=is_own)]
        claim = snapshots.find_claim(source)
        if not found and self._claims.get(claim, source["metadata"]["namespace"]) is None:
            found.append(f"there is no PersistentVolumeClaim '{claim}'")
        return found

    def find_ignored(self, source: Object) -> Iterable[str]:
        return snapshots.find_ignored(source)

    def build(self, source: Object) -> Object:
        default = self.policy.volumes.default_snapshot_class
        return snapshots.build_snapshot(source, self.context.target, {labels.NESTED_DATA: self.read_data()}, default)

    async def align(self, source: Object, copy: Object) -> None:
        """Say which class one has that named none, as the snapshot controller of an ordinary cluster does."""
        meta, chosen = source["metadata"], spec_of(copy).get("volumeSnapshotClassName")
        if chosen and not spec_of(source).get("volumeSnapshotClassName") and not is_terminating(source):
            patch = {"metadata": {"uid": meta["uid"]}, "spec": {"volumeSnapshotClassName": chosen}}
            await self.context.nested.patch(self.kind, meta["name"], meta["namespace"], patch)

    def lift(self, source: Object, copy: Object) -> Object | None:
        return snapshots.lift_status(source, copy, self.context.target)


class SnapshotContentRow(ShadowRow):
    """A content for each snapshot that has one in the host."""

    kind = kinds.VOLUME_SNAPSHOT_CONTENT
    owner = kinds.VOLUME_SNAPSHOT
    fields = (LABELS, fixed("spec.volumeSnapshotRef.uid"), value("status"))

    def find_name(self, owner: Object) -> str | None:
        return snapshots.find_content(owner)

    def build(self, source: Object) -> Object:
        return snapshots.build_content(source)

    async def after_end(self, copy: Object) -> bool:
        """If its snapshot is still there, the host has lost it, and the snapshot says so."""
        ref, name = spec_of(copy).get("volumeSnapshotRef") or {}, copy["metadata"]["name"]
        found = self._owners.get(ref.get("name", ""), ref.get("namespace", ""))
        if found is not None and not is_terminating(found) and snapshots.find_content(found) == name:
            meta = found["metadata"]
            patch = {"metadata": {"uid": meta["uid"]}} | snapshots.build_lost(times.timestamp())
            await self.context.nested.patch(kinds.VOLUME_SNAPSHOT, meta["name"], meta["namespace"], patch, subresource="status")
        return False


ROWS = (SnapshotRow, SnapshotContentRow)


class Definitions:
    """The definitions of VolumeSnapshots in the nested cluster, as the host cluster has them, where the class allows snapshots.

    What is missing is created, and what there is is left alone: somebody may have installed it.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self.queue: WorkQueue[str] = WorkQueue(self._create, workers=1, name="definitions", max_delay=RETRY_LIMIT)
        context.caches.on_policy(lambda: self.queue.add(""))

    async def _create(self, _: str) -> None:
        """Fails as long as the host does not have them."""
        for kind in KINDS if self._context.caches.policy.volumes.snapshot_classes else ():
            name = f"{kind.plural}.{kind.group}"
            if await self._context.nested.find(kinds.CRD, name) is None:
                found = await self._context.host.get(kinds.CRD, name)
                try:
                    await self._context.nested.create(kinds.CRD, build_definition(found))
                except Conflict:
                    log.debug("%s was created meanwhile", name)


def build_definition(host: Object) -> Object:
    """The nested definition: that of the host with the one version that Nestor reads, and so without a conversion, which might
    call a webhook of the host's. Pure.
    """
    spec = host["spec"]
    notes = {key: text for key, text in annotations_of(host).items() if key == _APPROVED}
    return {
        "apiVersion": kinds.CRD.api_version,
        "kind": kinds.CRD.name,
        "metadata": {"name": host["metadata"]["name"], "labels": {labels.MANAGED_BY: "nestor"}, "annotations": notes},
        "spec": {
            "group": spec["group"],
            "names": spec["names"],
            "scope": spec["scope"],
            "versions": [item | {"storage": True} for item in spec["versions"] if item["name"] == KINDS[0].version],
        },
    }
