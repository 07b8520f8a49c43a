"""The two Services of a nested cluster: its API and its DNS."""

from __future__ import annotations

from nestor.api import labels
from nestor.cluster.shape import API_PORT, DNS_PORT, Shape
from nestor.objects import Object


def build_api_service(shape: Shape) -> Object:
    """The API server's Service; published before readiness, because the runner and the syncer wait for the API themselves."""
    return _build(shape, "k3s", [{"name": "https", "port": 443, "targetPort": API_PORT, "protocol": "TCP"}])


def build_dns_service(shape: Shape) -> Object:
    """The nested cluster's DNS, the only nameserver of its pods."""
    return _build(
        shape,
        "dns",
        [
            {"name": "dns", "port": 53, "targetPort": DNS_PORT, "protocol": "UDP"},
            {"name": "dns-tcp", "port": 53, "targetPort": DNS_PORT, "protocol": "TCP"},
        ],
    )


def _build(shape: Shape, part: str, ports: list[Object]) -> Object:
    return {
        "metadata": shape.metadata(shape.child(part)),
        "spec": {
            "type": "ClusterIP",
            "publishNotReadyAddresses": True,
            "ports": ports,
            "selector": shape.pod_labels(labels.COMPONENT_SERVER),
        },
    }
