"""Turns nested EndpointSlices that a tenant wrote into host EndpointSlices, with the addresses that these may have. Pure.

On the host, an endpoint may point anywhere, past network policies too where a client is exempt from them (CVE-2021-25740).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable

from nestor.api import names
from nestor.api.allowances import AllowedServices
from nestor.api.contracts.addresses import explain_refusal
from nestor.api.objects import Object, labels_of, spec_of, status_of
from nestor.pods.translate.status import is_terminal
from nestor.pods.translate.target import Target

SERVICE_NAME = "kubernetes.io/service-name"
CONTROLLER = "endpointslice.kubernetes.io/managed-by"
OWN_CONTROLLER = "endpointslice-controller.k8s.io"
"""Of slices that follow from a selector. The host makes its own, from the host Service."""
MANAGER = "nestor.dev"

_ENDPOINT_FIELDS = ("conditions", "hostname")

FindPod = Callable[[str], Object | None]
"""The host pod of this cluster that has an address."""


def find_service(found: Object) -> str:
    """The name of a slice's Service; empty if it has none."""
    return labels_of(found).get(SERVICE_NAME, "")


def list_addresses(pod: Object) -> list[str]:
    """The addresses that belong to a host pod alone, while they do: not its node's, nor those of a pod that has ended."""
    if spec_of(pod).get("hostNetwork") or is_terminal(pod):
        return []
    return [item["ip"] for item in status_of(pod).get("podIPs") or () if item.get("ip") and explain_refusal(item["ip"]) is None]


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
    """The host EndpointSlice."""
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
