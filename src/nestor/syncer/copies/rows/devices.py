"""DeviceClasses that the class allows, and ResourceClaims, which the host's scheduler allocates for host pods."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from nestor.api.objects import Object, is_terminating, spec_of, status_of
from nestor.kube import Change, NotFound, RetryLater, kinds
from nestor.kube.informer import Key, key_of
from nestor.pods.translate import device_claims
from nestor.pods.translate.status import is_terminal
from nestor.pods.translate.target import nested_uid
from nestor.syncer import limits
from nestor.syncer.copies.fields import LABELS
from nestor.syncer.copies.lasting import OWN
from nestor.syncer.copies.memory import Recent
from nestor.syncer.copies.references import References
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import devices, storage
from nestor.syncer.view.context import Context

_PATIENCE = 20
"""How often a pod looks for its claim before that counts as missing: those from templates come after the pod."""
_PATIENCE_SECONDS = 0.1
_MOST_WAITING = 1000


class DeviceClassRow(Row):
    """A DeviceClass of the tenant's own that has such a name is left alone."""

    kind = kinds.DEVICE_CLASS
    direction = "Up"
    workers = 1
    fields = (LABELS,)

    def is_wanted(self, key: Key, source: Object) -> bool:
        """While the class lists it."""
        return key[1] in self.context.caches.policy.allowed_devices.classes

    def build(self, source: Object) -> Object:
        """The nested DeviceClass."""
        return devices.build_class(source)

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again at all when the policy changes."""

        def on_policy() -> None:
            for found in self.context.caches.host(self.kind):
                look_at(("", found["metadata"]["name"]))

        self.context.caches.on_policy(on_policy)


class ResourceClaimRow(Row):
    """Those of pods' own, and those that the nested cluster has made from templates."""

    kind = kinds.RESOURCE_CLAIM
    refused = "ClaimRefused"
    fields = OWN

    def __init__(self, context: Context, references: References) -> None:
        super().__init__(context, references)
        self._misses: Recent[Key, int] = Recent(_MOST_WAITING)
        self._classes = context.caches.nested(kinds.DEVICE_CLASS)
        self._pods = context.caches.host(kinds.POD)

    def is_wanted(self, key: Key, source: Object) -> bool:
        """A claim that is being deleted gets no new copy."""
        return not is_terminating(source) or self._has_copy(source)

    def find_refusal(self, source: Object) -> str | None:
        """By the policy, as long as there is no copy."""
        if self._has_copy(source):
            return None
        own = [item["metadata"]["name"] for item in self._classes if not storage.is_ours(item)]
        return devices.find_refusal(source, self.context.caches.policy.allowed_devices, own)

    def _has_copy(self, source: Object) -> bool:
        namespace, name = self.copy_key(key_of(source))
        found = self.copies.get(name, namespace)
        return found is not None and self.is_ours(found) and nested_uid(found) == source["metadata"]["uid"]

    def find_ignored(self, source: Object) -> str | None:
        """Fields that are newer than this version of Nestor."""
        return devices.find_ignored(source)

    def find_excess(self, copy: Object | None, desired: Object) -> str | None:
        """On their number and on the size of each."""
        surplus = limits.find_surplus_of_resource_claims(len(self.copies.store)) if copy is None else None
        too_large = limits.find_excess_of_object(self.kind.name, len(json.dumps(desired)))
        return surplus or too_large or super().find_excess(copy, desired)

    def build(self, source: Object) -> Object:
        """The host's claim."""
        return devices.build_claim(source, self.context.target)

    async def settle(self, source: Object, copy: Object) -> bool:
        """The copy is that of an earlier claim. The host keeps it as long as pods have its devices."""
        meta = copy["metadata"]
        if not is_terminating(copy):
            await self.context.host.delete(self.kind, meta["name"], meta["namespace"], uid=meta["uid"])
        raise RetryLater(0.5, "the devices of an earlier claim are being released")

    def lift(self, source: Object, copy: Object) -> Object | None:
        """What the host's scheduler has allocated, and for which pods."""
        return devices.lift_status(source, copy, list(self._find_pods(copy)))

    def _find_pods(self, copy: Object) -> Iterable[Object]:
        """The nested pods that it is reserved for. Those that have ended are left out, as the nested cluster does."""
        for item in status_of(copy).get("reservedFor") or []:
            host = self._pods.get(item.get("name", ""), self.context.target.namespace)
            if item.get("resource") != kinds.POD.plural or host is None or host["metadata"]["uid"] != item.get("uid"):
                continue
            nested = self.context.caches.nested_by_uid.get(nested_uid(host))
            if nested is not None and not is_terminal(nested):
                yield nested

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again at all when the policy or a class changes, and at those of a host pod that appears."""

        def look_at_all(_: Change | None = None) -> None:
            for found in self.context.caches.nested(self.kind):
                look_at(key_of(found))

        def on_pod(change: Change) -> None:
            for item in spec_of(change.new).get("resourceClaims") or [] if change.old is None else ():
                copy = self.copies.get(item.get("resourceClaimName") or "", self.context.target.namespace)
                if copy is not None and (key := self.source_key(copy)) is not None:
                    look_at(key)

        self.context.caches.on_policy(look_at_all)
        self._classes.on_change(look_at_all)
        self._pods.on_change(on_pod)

    def find_needs(self, pod: Object) -> Iterable[Key]:
        """The claims of the pod. Raises `RetryLater`, and `NotFound` in the end, while one is still to be made."""
        if unmade := device_claims.find_unmade(pod):
            meta = pod["metadata"]
            self._wait((meta["namespace"], f"{meta['name']}/{meta['uid']}"), unmade)
        return [(pod["metadata"]["namespace"], name) for name in device_claims.find_names(pod)]

    def missing(self, key: Key) -> None:
        """Wait a little, then refuse to go on: no pod may be created before its claims."""
        self._wait(key, f'resourceclaim "{key[1]}"')

    def _wait(self, key: Key, what: str) -> None:
        misses = (self._misses.get(key) or 0) + 1
        if misses <= _PATIENCE:
            self._misses.set(key, misses)
            raise RetryLater(_PATIENCE_SECONDS, f"waiting for {what}")
        self._misses.forget(key)
        raise NotFound(404, "NotFound", f"{what} not found")

    def found(self, key: Key) -> None:
        """Reset the patience."""
        self._misses.forget(key)


ROWS = (DeviceClassRow, ResourceClaimRow)
