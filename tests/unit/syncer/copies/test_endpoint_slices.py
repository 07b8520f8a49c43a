"""Endpoints that a tenant wrote: where they may point, and what the host gets."""

from typing import Any

import pytest

from nestor.api import names
from nestor.api.allowances import AllowedServices
from nestor.api.objects import Object
from nestor.kube import kinds
from nestor.syncer.copies.rows import endpoint_slices
from nestor.syncer.copies.rows.endpoint_slices import EndpointSliceRow
from nestor.syncer.translate.network_policy import list_addresses
from nestor.syncer.view.caches import OWN_CONTROLLER
from tests.unit.pods.translate.builders import TARGET, build_service
from tests.unit.syncer.copies.pair import HOST, SPACE, Clusters, allow_most, allow_most_parts, running

POD: Object = {"spec": {"nodeName": "node-1"}, "status": {"phase": "Running", "podIPs": [{"ip": "10.42.0.7"}, {"ip": "fd42::7"}]}}
RANGES = AllowedServices(
    endpoint_ranges=["203.0.113.0/24", "10.0.0.0/8", "169.254.0.0/16", "2001:db8::/32", "127.0.0.0/8"],
    closed_ranges=["10.0.0.0/8", "203.0.113.9/32"],
)


def find_pod(address: str) -> Object | None:
    return POD if address in ("10.42.0.7", "fd42::7") else None


def build_slice(*addresses: str, name: str = "web-1", manager: str = "", **content: Any) -> Object:
    own = {"kubernetes.io/service-name": "web", "app": "web"}
    own |= {"endpointslice.kubernetes.io/managed-by": manager} if manager else {}
    return {
        "metadata": {"name": name, "namespace": SPACE, "uid": f"{name}-uid", "labels": own},
        "addressType": "IPv4",
        "ports": [{"port": 80, "protocol": "TCP"}],
        "endpoints": [{"addresses": [address]} for address in addresses],
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


def host_addresses(clusters: Clusters, name: str = "web-1") -> list[str] | None:
    found = clusters.copy(kinds.ENDPOINT_SLICE, name)
    return None if found is None else [item["addresses"][0] for item in found["endpoints"]]


async def test_endpoints_are_the_cluster_s_own_pods_as_long_as_these_live() -> None:
    clusters = Clusters.build()
    clusters.nested.put(kinds.SERVICE, build_service(selector=None))
    clusters.nested.put(kinds.ENDPOINT_SLICE, build_slice("10.42.0.7", "10.42.0.8"))
    async with running(clusters, EndpointSliceRow) as made:
        assert host_addresses(clusters) == []
        assert [reason for reason, _ in clusters.events] == ["EndpointsIgnored"]
        assert "10.42.0.7, 10.42.0.8" in clusters.events[0][1]
        assert "`services.endpointRanges`" in clusters.events[0][1]
        pod = clusters.add_host_pod(address="10.42.0.7")
        await made.settle()
        assert host_addresses(clusters) == ["10.42.0.7"]
        clusters.add_host_pod(address="10.42.0.7", phase="Failed")
        await made.settle()
        assert host_addresses(clusters) == []
        clusters.add_host_pod(address="10.42.0.8")
        await made.settle()
        assert host_addresses(clusters) == ["10.42.0.8"]
        await made.drop_host(kinds.POD, pod["metadata"]["name"], HOST)
        assert host_addresses(clusters) == []


async def test_the_class_allows_further_addresses_but_not_the_closed_ones() -> None:
    clusters = Clusters.build()
    clusters.nested.put(kinds.SERVICE, build_service(selector=None))
    clusters.nested.put(kinds.ENDPOINT_SLICE, build_slice("203.0.113.7", "203.0.113.9", "169.254.169.254"))
    async with running(clusters, EndpointSliceRow) as made:
        await made.allow(services=dict(endpointRanges=["203.0.113.0/24", "169.254.0.0/16"], closedRanges=["203.0.113.9/32"]))
        assert host_addresses(clusters) == ["203.0.113.7"]
        assert "203.0.113.9, 169.254.169.254" in clusters.events[-1][1]
        await made.allow()
        assert host_addresses(clusters) == []


@pytest.mark.parametrize(
    ("service", "manager"),
    [
        (None, ""),
        (build_service(type="ExternalName", clusterIP=""), ""),
        (build_service(clusterIP="None"), ""),
        (build_service(), "endpointslice-controller.k8s.io"),
    ],
)
async def test_slices_that_the_host_needs_not(service: Object | None, manager: str) -> None:
    clusters = Clusters.build()
    clusters.add_host_pod(address="10.42.0.7")
    if service is not None:
        clusters.nested.put(kinds.SERVICE, service)
    clusters.nested.put(kinds.ENDPOINT_SLICE, build_slice("10.42.0.7", manager=manager))
    async with running(clusters, EndpointSliceRow):
        assert host_addresses(clusters) is None
        assert clusters.events == []


async def test_names_as_endpoints_are_refused() -> None:
    clusters = Clusters.build()
    clusters.nested.put(kinds.SERVICE, build_service(selector=None))
    clusters.nested.put(kinds.ENDPOINT_SLICE, build_slice("example.org", addressType="FQDN"))
    async with running(clusters, EndpointSliceRow):
        assert host_addresses(clusters) is None
        ((reason, message),) = clusters.events
        assert reason == "EndpointsNotSynced"
        assert "ExternalName" in message


async def test_there_are_only_so_many_slices_beside_those_that_the_host_makes_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have the labels of their Services."""
    allow_most(monkeypatch, kinds.ENDPOINT_SLICE, 1)
    allow_most_parts(monkeypatch, kinds.ENDPOINT_SLICE, 1)
    clusters = Clusters.build()
    clusters.add_host_pod(address="10.42.0.7")
    clusters.nested.put(kinds.SERVICE, build_service(selector=None))
    own = TARGET.metadata(build_service("other"))["labels"] | {"endpointslice.kubernetes.io/managed-by": OWN_CONTROLLER}
    meta = {"name": "made-by-the-host", "namespace": HOST, "labels": own}
    clusters.host.put(kinds.ENDPOINT_SLICE, build_slice("10.42.0.9") | {"metadata": meta})
    clusters.nested.put(kinds.ENDPOINT_SLICE, build_slice("10.42.0.7"))
    async with running(clusters, EndpointSliceRow) as made:
        assert host_addresses(clusters) == ["10.42.0.7"]
        assert clusters.host.look(kinds.ENDPOINT_SLICE, "made-by-the-host", HOST) is not None
        await made.put_nested(kinds.ENDPOINT_SLICE, build_slice("10.42.0.7", name="web-2"))
        message = "a nested cluster may have 1 EndpointSlices of its users' own in the host cluster; delete others first"
        assert clusters.events == [("EndpointsNotSynced", message)]
