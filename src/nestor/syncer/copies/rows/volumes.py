"""PersistentVolumes: the nested cluster has one for each of its claims that has a volume in the host, so that its own binder
binds the claim to it. Nobody reads the host's: what there is to know is in the host's claim.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from nestor.api import names
from nestor.api.objects import Object, spec_of
from nestor.kube import Change, NotFound, kinds
from nestor.kube.index import Index
from nestor.kube.informer import Key
from nestor.pods.translate.target import nested_key, nested_uid
from nestor.syncer.copies.fields import LABELS, fixed, mapping
from nestor.syncer.copies.references import References
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import storage
from nestor.syncer.view.context import Context


class VolumeRow(Row):
    """The key is the name of the volume, the same in both clusters; the source is computed from the host's claim."""

    kind = kinds.PERSISTENT_VOLUME
    direction = "Up"
    sources = None
    fields = (LABELS, mapping("spec.capacity"), fixed("spec.claimRef.uid"))

    def __init__(self, context: Context, references: References) -> None:
        super().__init__(context, references)
        self._claims = context.caches.nested(kinds.PERSISTENT_VOLUME_CLAIM)
        self._hosts = context.caches.host(kinds.PERSISTENT_VOLUME_CLAIM)
        self._by_volume: Index[str] = Index(self._hosts, lambda claim: spec_of(claim).get("volumeName"))

    def find_source(self, key: Key) -> Object | None:
        """The host's claim for the volume, while the host has both."""
        found = self._by_volume.get(key[1])
        return found if found is not None and storage.is_bound(found) else None

    def is_wanted(self, key: Key, source: Object) -> bool:
        """While the nested claim is there."""
        namespace, name = nested_key(source)
        claim = self._claims.get(name, namespace)
        return claim is not None and claim["metadata"]["uid"] == nested_uid(source)

    def build(self, source: Object) -> Object:
        """The nested volume."""
        return storage.build_volume(source)

    async def after_end(self, copy: Object) -> bool:
        """If its claim is still there, the volume is lost. With its finalizer it would stay as long as the claim, and
        nobody would know.
        """
        meta, ref = copy["metadata"], spec_of(copy).get("claimRef") or {}
        claim = self._claims.get(ref.get("name", ""), ref.get("namespace", ""))
        if claim is None or claim["metadata"]["uid"] != ref.get("uid"):
            return False
        if spec_of(claim).get("volumeName") not in (None, "", meta["name"]):  # none: the news of its binding may be late
            return False
        await self.context.nested.delete(self.kind, meta["name"], uid=meta["uid"])
        with contextlib.suppress(NotFound):
            gone = {"metadata": {"uid": meta["uid"], "finalizers": None}}
            await self.context.nested.patch(self.kind, meta["name"], None, gone)
        return True

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again when either claim changes."""

        def on_host(change: Change) -> None:
            for claim in (change.old, change.new):
                if name := spec_of(claim).get("volumeName"):
                    look_at(("", name))

        def on_claim(change: Change) -> None:
            namespace, name = change.key
            host = self._hosts.get(names.host_name(name, namespace), self.context.target.namespace)
            if host is not None and (volume := spec_of(host).get("volumeName")):
                look_at(("", volume))

        self._hosts.on_change(on_host)
        self._claims.on_change(on_claim)


ROWS = (VolumeRow,)
