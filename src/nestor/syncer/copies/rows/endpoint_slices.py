"""EndpointSlices that users write, or Kubernetes for the Endpoints that they write, for Services that the host has.

Their addresses may be those of the cluster's own pods, as long as these live, and those that the class allows: on the host, an
endpoint may point anywhere, past network policies too where a client is exempt from them (CVE-2021-25740).
"""

import ipaddress
from collections.abc import Callable, Iterable

from nestor.api import names
from nestor.api.allowances import AllowedServices
from nestor.api.contracts.addresses import explain_refusal
from nestor.api.objects import Object, labels_of, spec_of
from nestor.kube import Change, kinds
from nestor.kube.index import Index
from nestor.kube.informer import Key, key_of
from nestor.pods.translate.target import Target
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, fixed, value
from nestor.syncer.copies.row import Row
from nestor.syncer.translate.network_policy import list_addresses
from nestor.syncer.translate.service import is_synced
from nestor.syncer.view.caches import CONTROLLER

SERVICE_NAME = "kubernetes.io/service-name"
MANAGER = "nestor.dev"
_NAMED = 5


class EndpointSliceRow(Row):
    """EndpointSlices that do not follow from a selector."""

    kind = kinds.ENDPOINT_SLICE
    refused = "EndpointsNotSynced"
    ignored = "EndpointsIgnored"
    follows_policy = True
    fields = (LABELS, ANNOTATIONS, fixed("addressType"), value("ports"), value("endpoints"))

    def set_up(self) -> None:
        pods = self.caches.host(kinds.POD)
        self._pods: list[Index[str]] = [
            Index(pods, lambda pod: next(iter(list_addresses(pod)), None)),
            Index(pods, lambda pod: next(iter(list_addresses(pod)[1:]), None)),
        ]
        """Host pods by their first and by their second address."""
        self._by_service: Index[Key] = Index(
            self.caches.nested(self.kind), lambda found: (found["metadata"]["namespace"], find_service(found))
        )
        self.caches.host(kinds.POD).on_change(self._on_pod)
        self.caches.nested(kinds.SERVICE).on_change(lambda change: self.wake_each(self._by_service.all(change.key)))

    def is_wanted(self, key: Key, source: Object) -> bool:
        """If its Service has a host Service. Those that follow from a selector are not in the cache."""
        service = self.caches.nested(kinds.SERVICE).get(find_service(source), key[0])
        return service is not None and is_synced(service)

    def find_refusal(self, source: Object) -> str | None:
        """Names cannot be checked: what they stand for may change."""
        if source["addressType"] == "FQDN" and self.is_wanted(key_of(source), source):
            return "`addressType` is FQDN, but endpoints must be addresses; use a Service of type ExternalName"
        return None

    def find_ignored(self, source: Object) -> Iterable[str]:
        if denied := find_denied(source, self._find_pod, self.policy.allowed_services):
            more = f" and {len(denied) - _NAMED} more" if len(denied) > _NAMED else ""
            yield (
                f"`endpoints` has {', '.join(denied[:_NAMED])}{more}, but no traffic goes there: they are neither pods of this "
                "cluster nor allowed by its class (`services.endpointRanges`)"
            )

    def list_counted(self) -> list[Object]:
        """The host's own for its Services have the labels of these, and so are in the cache, too."""
        return [item for item in self.copies if labels_of(item).get(CONTROLLER) == MANAGER]

    def count_parts(self, copy: Object) -> int:
        """One for each port and address. Ports without addresses, and addresses without ports, count as well."""
        addresses = sum(len(endpoint["addresses"]) for endpoint in copy.get("endpoints") or ())
        return max(addresses, 1) * max(len(copy.get("ports") or ()), 1)

    def build(self, source: Object) -> Object:
        return build_slice(source, self.context.target, self._find_pod, self.policy.allowed_services)

    def _find_pod(self, address: str) -> Object | None:
        return next(filter(None, (index.get(address) for index in self._pods)), None)

    def _on_pod(self, change: Change) -> None:
        """Look at the slices with addresses that a pod gets or loses."""
        before, after = (set(list_addresses(pod)) if pod else set() for pod in (change.old, change.new))
        if moved := before ^ after:
            self.wake_each(found for found in self.caches.nested(self.kind) if not moved.isdisjoint(_list_all(found)))


ROWS = (EndpointSliceRow,)


_ENDPOINT_FIELDS = ("conditions", "hostname")

FindPod = Callable[[str], Object | None]
"""The host pod of this cluster that has an address."""


def find_service(found: Object) -> str:
    """The name of a slice's Service; empty if it has none."""
    return labels_of(found).get(SERVICE_NAME, "")


def is_allowed(address: str, allowed: AllowedServices) -> bool:
    """Whether the class allows an address that is no pod of the cluster."""
    try:
        parsed = ipaddress.ip_address(address)
        refused = explain_refusal(address, allowed.closed_ranges)
    except ValueError:
        return False
    return refused is None and any(parsed in ipaddress.ip_network(cidr, strict=False) for cidr in allowed.endpoint_ranges)


def find_denied(found: Object, find_pod: FindPod, allowed: AllowedServices) -> list[str]:
    """The addresses that the host's slice leaves out, in order."""
    return [item for item in _list_all(found) if find_pod(item) is None and not is_allowed(item, allowed)]


def build_slice(found: Object, target: Target, find_pod: FindPod, allowed: AllowedServices) -> Object:
    namespace = found["metadata"]["namespace"]
    metadata = target.metadata(found)
    metadata["labels"] |= {SERVICE_NAME: names.host_name(find_service(found), namespace), CONTROLLER: MANAGER}
    endpoints = (_build_endpoint(endpoint, find_pod, allowed) for endpoint in found.get("endpoints") or ())
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata,
        "addressType": found["addressType"],
        "ports": [*(found.get("ports") or ())],
        "endpoints": [endpoint for endpoint in endpoints if endpoint["addresses"]],
    }


def _build_endpoint(endpoint: Object, find_pod: FindPod, allowed: AllowedServices) -> Object:
    """With the node of its pod, by which traffic that stays on its node finds it."""
    kept = [item for item in endpoint["addresses"] if find_pod(item) is not None or is_allowed(item, allowed)]
    pod = next(filter(None, map(find_pod, kept)), None)
    node = spec_of(pod).get("nodeName") if pod else None
    own = {key: endpoint[key] for key in _ENDPOINT_FIELDS if endpoint.get(key)}
    return {"addresses": kept, **own, **({"nodeName": node} if node else {})}


def _list_all(found: Object) -> Iterable[str]:
    return dict.fromkeys(address for endpoint in found.get("endpoints") or () for address in endpoint["addresses"])
