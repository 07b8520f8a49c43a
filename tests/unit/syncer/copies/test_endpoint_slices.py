"""Endpoints that a tenant wrote: where they may point, and what the host gets."""

from typing import Any

import pytest

from nestor.api import names
from nestor.api.allowances import AllowedServices
from nestor.api.objects import Object
from nestor.syncer.copies.rows import endpoint_slices
from nestor.syncer.translate.network_policy import list_addresses
from tests.unit.pods.translate.builders import TARGET

POD: Object = {"spec": {"nodeName": "node-1"}, "status": {"phase": "Running", "podIPs": [{"ip": "10.42.0.7"}, {"ip": "fd42::7"}]}}
RANGES = AllowedServices(
    endpoint_ranges=["203.0.113.0/24", "10.0.0.0/8", "169.254.0.0/16", "2001:db8::/32", "127.0.0.0/8"],
    closed_ranges=["10.0.0.0/8", "203.0.113.9/32"],
)


def find_pod(address: str) -> Object | None:
    return POD if address in ("10.42.0.7", "fd42::7") else None


def build_slice(*addresses: str, **content: Any) -> Object:
    labels = {"kubernetes.io/service-name": "web", "app": "web"}
    meta = {"name": "web-1", "namespace": "shop", "uid": "slice-uid", "labels": labels, "resourceVersion": "1"}
    endpoints = [{"addresses": [item]} for item in addresses]
    return {
        "metadata": meta,
        "addressType": "IPv4",
        "ports": [{"port": 80, "protocol": "TCP"}],
        "endpoints": endpoints,
        **content,
    }


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("203.0.113.7", True),
        ("2001:db8::7", True),
        ("198.51.100.7", False),
        ("203.0.113.9", False),
        ("10.42.0.9", False),
        ("169.254.169.254", False),
        ("127.0.0.1", False),
        ("example.org", False),
    ],
)
def test_what_a_class_allows(address: str, allowed: bool) -> None:
    assert endpoint_slices.is_allowed(address, RANGES) is allowed
    assert not endpoint_slices.is_allowed(address, AllowedServices())


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, ["10.42.0.7", "fd42::7"]),
        ({"spec": {"hostNetwork": True}}, []),
        ({"status": POD["status"] | {"phase": "Succeeded"}}, []),
        ({"status": POD["status"] | {"phase": "Failed"}}, []),
        ({"status": {"podIPs": [{"ip": "169.254.169.254"}]}}, []),
        ({"status": {}}, []),
    ],
)
def test_addresses_that_are_a_pod_s_own(change: Object, found: list[str]) -> None:
    assert list_addresses(POD | change) == found


def test_the_host_s_slice_has_own_pods_and_what_the_class_allows() -> None:
    nested = build_slice("10.42.0.7", "10.42.0.8", "203.0.113.7", "203.0.113.9")
    nested["endpoints"][0] |= {
        "conditions": {"ready": True},
        "hostname": "a",
        "targetRef": {"name": "x"},
        "nodeName": "elsewhere",
    }
    built = endpoint_slices.build_slice(nested, TARGET, find_pod, RANGES)
    assert built["endpoints"] == [
        {"addresses": ["10.42.0.7"], "conditions": {"ready": True}, "hostname": "a", "nodeName": "node-1"},
        {"addresses": ["203.0.113.7"]},
    ]
    assert built["ports"] == [{"port": 80, "protocol": "TCP"}]
    assert built["metadata"]["name"] == names.host_name("web-1", "shop")
    labels = built["metadata"]["labels"]
    assert labels["kubernetes.io/service-name"] == names.host_name("web", "shop")
    assert labels["endpointslice.kubernetes.io/managed-by"] == "nestor.dev"
    assert "app" not in labels
    assert endpoint_slices.find_denied(nested, find_pod, RANGES) == ["10.42.0.8", "203.0.113.9"]
    assert endpoint_slices.find_denied(nested, find_pod, AllowedServices()) == ["10.42.0.8", "203.0.113.7", "203.0.113.9"]


def test_a_slice_without_endpoints_is_one() -> None:
    assert endpoint_slices.build_slice(build_slice(endpoints=None), TARGET, find_pod, RANGES)["endpoints"] == []
