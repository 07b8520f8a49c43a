"""PersistentVolumeClaims and PersistentVolumes. The host's claim is what gets a volume; the nested cluster has a
shadow of that volume, so that its own binder binds the nested claim to it.
"""

import contextlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar

from nestor.api import labels, names
from nestor.api.objects import Object, is_terminating, spec_of
from nestor.kube import Change, Informer, Invalid, Kind, NotFound, RetryLater, kinds
from nestor.kube.index import Index
from nestor.kube.informer import Key, key_of
from nestor.pods.translate import fields
from nestor.pods.translate.fields.volumes import CLAIM_SPEC
from nestor.pods.translate.target import nested_key, nested_uid
from nestor.pods.translate.volumes import find_claims
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, Field, exact, fixed, value
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import snapshots, storage

OWN = (LABELS, ANNOTATIONS, Field(("metadata", "labels", labels.NESTED_UID), "Fixed"))
"""The fields that say whose copy it is."""


class OwnRow(Row):
    """A copy belongs to one very object; a later one of the same name gets nothing of it. The policy counts until it is there."""

    follows_policy = True

    def is_wanted(self, key: Key, source: Object) -> bool:
        """What is being deleted gets no new copy."""
        return not is_terminating(source) or self.find_own_copy(source) is not None

    def find_refusal(self, source: Object) -> str | None:
        if self.find_own_copy(source) is not None:
            return None
        return "; ".join(self.judge(source)) or None

    def judge(self, source: Object) -> Iterable[str]:
        """Why the policy allows no copy: a message for each reason."""
        raise NotImplementedError

    def find_own_copy(self, source: Object) -> Object | None:
        """The copy that this very object has."""
        found = self.find_copy(key_of(source))
        is_own = found is not None and self.is_ours(found) and nested_uid(found) == source["metadata"]["uid"]
        return found if is_own else None

    async def settle(self, source: Object, copy: Object) -> bool:
        """The copy is that of an earlier object, and has to go first."""
        meta = copy["metadata"]
        if not is_terminating(copy):
            await self.context.host.delete(self.kind, meta["name"], meta["namespace"], uid=meta["uid"])
        raise RetryLater(0.5, f"an earlier {self.kind.name} is being deleted")


class LastingRow(OwnRow):
    """Copies hold data: nothing but the end of the nested object deletes a copy. Neither a stricter policy does, nor the loss of
    the nested cluster's data, after which an object of the same name gets its copy again, and no other does.
    """

    def set_up(self) -> None:
        self._namespaces = self.caches.nested(kinds.NAMESPACE)

    async def settle(self, source: Object, copy: Object) -> bool:
        """Unless the nested cluster has lost its data: then the object takes the copy over."""
        if is_terminating(copy) or not storage.is_of_lost_data(copy, self.read_data()):
            return await super().settle(source, copy)
        own, meta = self.build(source)["metadata"], copy["metadata"]
        patch = {"metadata": {"uid": meta["uid"], "labels": own["labels"], "annotations": own["annotations"]}}
        await self.context.host.patch(self.kind, meta["name"], meta["namespace"], patch)
        return True

    async def after_end(self, copy: Object) -> bool:
        """Keep what a nested cluster that has lost its data does not know of: only a deletion asks for an end."""
        return storage.is_of_lost_data(copy, self.read_data())

    def find_own_copy(self, source: Object) -> Object | None:
        """Or one that it may take over."""
        found, data = self.find_copy(key_of(source)), self._find_data()
        if found is not None and self.is_ours(found) and (data is None or storage.is_of_lost_data(found, data)):
            return found
        return super().find_own_copy(source)

    def read_data(self) -> str:
        """Identifies the nested cluster's data. Raises `RetryLater` as long as that is not known."""
        if (found := self._find_data()) is None:
            raise RetryLater(0.5, "waiting for namespace kube-system")
        return found

    def _find_data(self) -> str | None:
        found = self._namespaces.get("kube-system")
        return str(found["metadata"]["uid"]) if found is not None else None


class ClaimRow(LastingRow):
    """Claims of StorageClasses that the class allows."""

    kind = kinds.PERSISTENT_VOLUME_CLAIM
    refused = "ClaimRefused"
    fields = (*OWN, value("spec.resources.requests.storage"))

    def set_up(self) -> None:
        super().set_up()
        self._snapshots = self.caches.host(kinds.VOLUME_SNAPSHOT)
        self._classes = self.caches.nested(kinds.STORAGE_CLASS)
        self._classes.on_change(self._on_class)
        self._snapshots.on_change(partial(self._on_content, snapshots.find_source_name))
        self.copies.on_change(partial(self._on_content, storage.find_source_claim))

    def judge(self, source: Object) -> Iterable[str]:
        is_own = storage.is_tenants(self._classes.get(spec_of(source).get("storageClassName") or ""))
        found = [*storage.find_refusals(source, self.policy.volumes, is_own_class=is_own)]
        source_refused = snapshots.find_refusal_of_source(source, self._find_snapshot(source)) or self._find_refusal_of_claim(
            source
        )
        return found if found or not source_refused else [source_refused]

    def _find_snapshot(self, source: Object) -> Object | None:
        name, target = snapshots.find_source_name(source), self.context.target
        return self._snapshots.get(names.host_name(name, source["metadata"]["namespace"]), target.namespace) if name else None

    def find_ignored(self, source: Object) -> Iterable[str]:
        return fields.find_unknown("spec", source["spec"], CLAIM_SPEC)

    def _find_refusal_of_claim(self, source: Object) -> str | None:
        """A claim is filled from another one of its own cluster."""
        wanted = storage.find_source_claim(source)
        if wanted is None or self.find_copy((source["metadata"]["namespace"], wanted)) is not None:
            return None
        return f"it is to be filled from claim '{wanted}', which has no volume of the host cluster"

    def build(self, source: Object) -> Object:
        return storage.build_claim(source, self.context.target, self.read_data(), self.find_own_copy(source))

    async def settle(self, source: Object, copy: Object) -> bool:
        if storage.is_of_lost_data(copy, self.read_data()) and (why := storage.find_misfit(source, copy)):
            raise Invalid(422, "Invalid", why)
        return await super().settle(source, copy)

    def lift(self, source: Object, copy: Object) -> Object | None:
        """Size, and how far a change of it has come."""
        return storage.lift_status(source, copy, self.context.target)

    def _on_class(self, change: Change) -> None:
        claims = self.caches.nested(self.kind)
        self.wake_each(found for found in claims if spec_of(found).get("storageClassName") == change.key[1])

    def _on_content(self, find_name: Callable[[Object], str | None], change: Change) -> None:
        """Look at the claims that are to be filled from a snapshot or a claim of the host."""
        namespace, name = nested_key(change.latest)
        claims = self.caches.by_namespace(self.kind).all(namespace)
        self.wake_each(found for found in claims if find_name(found) == name)

    def find_needs(self, pod: Object) -> Iterable[Key]:
        return [(pod["metadata"]["namespace"], name) for name in find_claims(pod)]

    def missing(self, key: Key) -> None:
        """No pod may be created before its claims. Those of ephemeral volumes come after the pod."""
        self.patience.wait(key, f"claim {key[1]}")
        raise NotFound(404, "NotFound", f'persistentvolumeclaim "{key[1]}" not found')


class ShadowRow(Row):
    """What the nested cluster is told of something in the host that nobody reads. The key is its name, the same in both clusters.
    The source is the host's object that it belongs to, which has all that there is to know.
    """

    direction = "Up"
    is_computed = True
    owner: ClassVar[Kind]
    """The kind that it belongs to, in both clusters."""

    def set_up(self) -> None:
        self._owners, self._hosts = self.caches.nested(self.owner), self.caches.host(self.owner)
        self._by_name: Index[str] = Index(self._hosts, self.find_name)
        self._hosts.on_change(self._on_host)
        self._owners.on_change(self._on_nested)

    def find_name(self, owner: Object) -> str | None:
        raise NotImplementedError

    @property
    def read(self) -> Iterable[Informer]:
        return (self.copies, self._owners, self._hosts)

    def find_source(self, key: Key) -> Object | None:
        return self._by_name.get(key[1])

    def is_wanted(self, key: Key, source: Object) -> bool:
        namespace, name = nested_key(source)
        found = self._owners.get(name, namespace)
        return found is not None and found["metadata"]["uid"] == nested_uid(source)

    def _on_host(self, change: Change) -> None:
        for found in (change.old, change.new):
            if found is not None and (name := self.find_name(found)):
                self.wake(("", name))

    def _on_nested(self, change: Change) -> None:
        namespace, name = change.key
        host = self._hosts.get(names.host_name(name, namespace), self.context.target.namespace)
        if host is not None and (found := self.find_name(host)):
            self.wake(("", found))


class VolumeRow(ShadowRow):
    """The volumes of claims."""

    kind = kinds.PERSISTENT_VOLUME
    owner = kinds.PERSISTENT_VOLUME_CLAIM
    fields = (LABELS, exact("spec.capacity"), fixed("spec.claimRef.uid"))

    def find_name(self, owner: Object) -> str | None:
        return spec_of(owner).get("volumeName")

    def find_source(self, key: Key) -> Object | None:
        """The host's claim for the volume, while the host has both."""
        found = super().find_source(key)
        return found if found is not None and storage.is_bound(found) else None

    def build(self, source: Object) -> Object:
        return storage.build_volume(source)

    async def after_end(self, copy: Object) -> bool:
        """If its claim is still there, the volume is lost. With its finalizer it would stay as long as the claim, and
        nobody would know.
        """
        meta, ref = copy["metadata"], spec_of(copy).get("claimRef") or {}
        claim = self._owners.get(ref.get("name", ""), ref.get("namespace", ""))
        if claim is None or claim["metadata"]["uid"] != ref.get("uid"):
            return False
        if spec_of(claim).get("volumeName") not in (None, "", meta["name"]):  # none: the news of its binding may be late
            return False
        await self.context.nested.delete(self.kind, meta["name"], uid=meta["uid"])
        with contextlib.suppress(NotFound):
            gone = {"metadata": {"uid": meta["uid"], "finalizers": None}}
            await self.context.nested.patch(self.kind, meta["name"], None, gone)
        return True


ROWS = (ClaimRow, VolumeRow)
