"""Services: each nested Service that selects pods has a host Service with the same cluster IP.

Both clusters allocate addresses from the same range without knowing of each other. If the host has already allocated an address,
it picks a free one, and the nested Service is recreated with that.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable

from nestor.api import labels
from nestor.kube import ApiError, Change, Conflict, Invalid, RetryLater, kinds
from nestor.kube.informer import Key, key_of
from nestor.objects import Object, annotations_of, spec_of
from nestor.syncer import limits
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, annotation, fixed, mapping, value
from nestor.syncer.copies.references import References
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import service as translate
from nestor.syncer.view.context import Context
from nestor.translate.target import nested_uid

log = logging.getLogger(__name__)

_RELEASE_SECONDS = 5


class ServiceRow(Row):
    """Services with a selector and an address."""

    kind = kinds.SERVICE
    refused = "ServiceNotSynced"
    fields = (
        LABELS,
        ANNOTATIONS,
        annotation(labels.SUCCESSOR),
        *(value(f"spec.{name}") for name in translate.FIELDS),
        value("spec.ports"),
        mapping("spec.selector"),
        fixed("spec.clusterIP"),
    )

    def __init__(self, context: Context, references: References) -> None:
        super().__init__(context, references)
        self._released: dict[str, float] = {}
        self._behind: set[Key] = set()
        """Services whose selector waits for their pods' labels."""

    def is_wanted(self, key: Key, source: Object) -> bool:
        """False for Services that exist only in the nested cluster and its DNS."""
        return translate.decide_fate(source) == "Synced"

    def find_refusal(self, source: Object) -> str | None:
        """Services without a selector are refused."""
        return translate.NO_SELECTOR if translate.decide_fate(source) == "Refused" else None

    def find_ignored(self, source: Object) -> str | None:
        """Whatever should reach outside the cluster."""
        return "; ".join(translate.find_ignored(source)) or None

    def find_excess(self, copy: Object | None, desired: Object) -> str | None:
        """The limit is on the number of host Services: all of the host cluster share their addresses."""
        return limits.find_surplus(len(self.copies.store)) if copy is None else None

    def build(self, source: Object) -> Object:
        """The host Service, with the nested Service's address."""
        desired = translate.build_service(source, self.context.target, source["spec"]["clusterIP"])
        key, spec = key_of(source), desired["spec"]
        there = self.copies.get(desired["metadata"]["name"], desired["metadata"]["namespace"])
        self._behind.discard(key)
        if there is not None and (old := spec_of(there).get("selector")) not in (None, spec["selector"]):
            pods = self.context.caches.host(kinds.POD)
            spec["selector"] = translate.choose_selector(old, wanted := spec["selector"], source, pods)
            if spec["selector"] != wanted:
                self._behind.add(key)
        return desired

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again at all when the class allows other labels, and at those with an outdated selector when pods change."""

        def on_policy() -> None:
            for found in self.context.caches.nested(kinds.SERVICE):
                look_at(key_of(found))

        def on_pod(_: Change) -> None:
            for key in self._behind:
                look_at(key)

        self.context.caches.on_policy(on_policy)
        self.context.caches.host(kinds.POD).on_change(on_pod)

    def build_substitute(self, source: Object, error: ApiError) -> Object:
        """If the address is taken, let the host choose one."""
        if not _is_taken(error):
            raise error
        if self._is_being_released(source["spec"]["clusterIP"]):
            raise RetryLater(0.1, "the host has not released the address yet")
        return translate.build_service(source, self.context.target, None)

    def copy_gone(self, copy: Object) -> None:
        """Remember its address, which the host releases a moment later."""
        self._forget_released()
        self._released[copy["spec"].get("clusterIP", "")] = time.monotonic()

    def _is_being_released(self, address: str) -> bool:
        self._forget_released()
        return address in self._released

    def _forget_released(self) -> None:
        due = time.monotonic() - _RELEASE_SECONDS
        self._released = {key: when for key, when in self._released.items() if when > due}

    async def settle(self, source: Object, copy: Object) -> bool:
        """The addresses differ: recreate the nested Service with the host's choice, unless its owner has recreated it already."""
        meta = copy["metadata"]
        if nested_uid(copy) != source["metadata"]["uid"]:
            await self.context.host.delete(kinds.SERVICE, meta["name"], meta["namespace"], uid=meta["uid"])
            return True
        own, address = source["metadata"], copy["spec"]["clusterIP"]
        log.info("changing the cluster IP of Service %s to %s: the old one is taken in the host cluster", own["name"], address)
        # The host Service stores the successor meanwhile, because this process may end here.
        note = json.dumps(translate.build_successor(source, address), separators=(",", ":"))
        patch = {"metadata": {"uid": meta["uid"], "annotations": {labels.SUCCESSOR: note}}}
        await self.context.host.patch(kinds.SERVICE, meta["name"], meta["namespace"], patch)
        await self.context.nested.delete(kinds.SERVICE, own["name"], own["namespace"], uid=own["uid"])
        return True

    async def after_end(self, copy: Object) -> bool:
        """The nested Service is gone, for good or because we are recreating it."""
        note = annotations_of(copy).get(labels.SUCCESSOR)
        if note is None:
            return False
        successor, meta = json.loads(note), copy["metadata"]
        try:
            await self.context.nested.create(kinds.SERVICE, successor)
        except Conflict:
            pass
        except Invalid as error:
            if not _is_taken(error):
                raise
            # Free on the host, but taken in the nested cluster: let both choose again, the nested cluster first.
            del successor["spec"]["clusterIP"]
            await self.context.host.delete(kinds.SERVICE, meta["name"], meta["namespace"], uid=meta["uid"])
            await self.context.nested.create(kinds.SERVICE, successor)
        return True


def _is_taken(error: ApiError) -> bool:
    """True if the server refused a cluster IP because it is taken or outside its range."""
    return "failed to allocate IP" in error.message or "provided IP" in error.message


ROWS = (ServiceRow,)
