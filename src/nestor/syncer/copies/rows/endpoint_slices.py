"""EndpointSlices that users write, or Kubernetes for the Endpoints that they write, for Services that the host has.

Their addresses may be those of the cluster's own pods, as long as these live, and those that the class allows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from nestor.api.objects import Object, labels_of
from nestor.kube import Change, kinds
from nestor.kube.index import Index
from nestor.kube.informer import Key, key_of
from nestor.syncer import limits
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, fixed, value
from nestor.syncer.copies.references import References
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import endpoint_slice as translate
from nestor.syncer.translate.service import decide_fate
from nestor.syncer.view.context import Context


class EndpointSliceRow(Row):
    """EndpointSlices that do not follow from a selector."""

    kind = kinds.ENDPOINT_SLICE
    refused = "EndpointsNotSynced"
    ignored = "EndpointsIgnored"
    fields = (LABELS, ANNOTATIONS, fixed("addressType"), value("ports"), value("endpoints"))
    workers = 4

    def __init__(self, context: Context, references: References) -> None:
        super().__init__(context, references)
        pods = context.caches.host(kinds.POD)
        self._pods: list[Index[str]] = [Index(pods, partial(_read_address, at)) for at in (0, 1)]
        """Host pods by their first and by their second address."""
        self._by_service: Index[Key] = Index(context.caches.nested(kinds.ENDPOINT_SLICE), _find_service)

    def is_wanted(self, key: Key, source: Object) -> bool:
        """True if its Service has a host Service. A selector may make slices of its own besides."""
        service = self.context.caches.nested(kinds.SERVICE).get(translate.find_service(source), key[0])
        if service is None or labels_of(source).get(translate.CONTROLLER) == translate.OWN_CONTROLLER:
            return False
        return decide_fate(service) == "Synced"

    def find_refusal(self, source: Object) -> str | None:
        """Names cannot be checked: what they stand for may change."""
        if source["addressType"] == "FQDN" and self.is_wanted(key_of(source), source):
            return "`addressType` is FQDN, but endpoints must be addresses; use a Service of type ExternalName"
        return None

    def find_ignored(self, source: Object) -> str | None:
        """Addresses of others."""
        denied = translate.find_denied(source, self._find_pod, self.context.caches.policy.allowed_services)
        if not denied:
            return None
        more = f" and {len(denied) - 5} more" if len(denied) > 5 else ""
        why = "no traffic goes there: they are neither pods of this cluster nor allowed by its class (`services.endpointRanges`)"
        return f"`endpoints` has {', '.join(denied[:5])}{more}, but {why}"

    def find_excess(self, copy: Object | None, desired: Object) -> str | None:
        """They count by number, and by their endpoints and ports."""
        # The host's own for its Services have the labels of these, and so are in the cache, too.
        there = [item for item in self.copies if labels_of(item).get(translate.CONTROLLER) == translate.MANAGER]
        if copy is None and len(there) >= limits.SYNCED_SLICES:
            return f"a nested cluster may have {limits.SYNCED_SLICES} EndpointSlices of its users' own; delete others first"
        total = sum(map(_count_endpoints, there))
        surplus = limits.find_excess_of_endpoints(total, _count_endpoints(copy), _count_endpoints(desired))
        return surplus or super().find_excess(copy, desired)

    def build(self, source: Object) -> Object:
        """The host EndpointSlice."""
        return translate.build_slice(source, self.context.target, self._find_pod, self.context.caches.policy.allowed_services)

    def version(self, source: Object) -> Any:
        """Pods come and go without any change of the slice."""
        return source["metadata"]["resourceVersion"], json.dumps(self.build(source)["endpoints"], sort_keys=True)

    def _find_pod(self, address: str) -> Object | None:
        return next(filter(None, (index.get(address) for index in self._pods)), None)

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again when a pod gets or loses its addresses, when the Service changes, or the class."""
        caches = self.context.caches
        slices = caches.nested(self.kind)

        def on_pod(change: Change) -> None:
            before, after = (set(translate.list_addresses(pod)) if pod else set() for pod in (change.old, change.new))
            if not (moved := before ^ after):
                return
            for found in slices.store.values():
                if any(moved.intersection(endpoint["addresses"]) for endpoint in found.get("endpoints") or ()):
                    look_at(key_of(found))

        def on_service(change: Change) -> None:
            for found in self._by_service.all(change.key):
                look_at(key_of(found))

        def on_policy() -> None:
            for found in slices.store.values():
                look_at(key_of(found))

        caches.host(kinds.POD).on_change(on_pod)
        caches.nested(kinds.SERVICE).on_change(on_service)
        caches.on_policy(on_policy)


def _count_endpoints(found: Object | None) -> int:
    """One for each port and address. Ports without addresses, and addresses without ports, count as well."""
    if found is None:
        return 0
    addresses = sum(len(endpoint["addresses"]) for endpoint in found.get("endpoints") or ())
    return max(addresses, 1) * max(len(found.get("ports") or ()), 1)


def _read_address(at: int, pod: Object) -> str | None:
    found = translate.list_addresses(pod)
    return found[at] if len(found) > at else None


def _find_service(found: Object) -> Key:
    return found["metadata"]["namespace"], translate.find_service(found)


ROWS = (EndpointSliceRow,)
