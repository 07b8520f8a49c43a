"""Network policies of one nested cluster: its pods reach each other, their DNS, their API and the internet; nothing else.

They select by the cluster's labels, never a whole namespace: a user's own cluster lives beside pods that are none of ours.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from nestor.api import labels
from nestor.api.nestedclass import Peer
from nestor.cluster.shape import API_PORT, DNS_PORT, Shape
from nestor.names import Part
from nestor.objects import Object

METADATA = ["169.254.0.0/16", "192.0.0.0/24", "168.63.129.16/32", "64:ff9b::/96"]
"""Hold the clouds' metadata addresses, which hand out the node's credentials: most clouds' (link-local), Oracle's, Azure's wire
server, and all of them by NAT64."""
CLOSED_V6 = ["fc00::/7", "fe80::/10"]

_API = {"protocol": "TCP", "port": API_PORT}
_DNS = [{"protocol": "UDP", "port": DNS_PORT}, {"protocol": "TCP", "port": DNS_PORT}]
_NO_JOBS: Object = {"namespaceSelector": {"matchExpressions": [{"key": labels.JOB, "operator": "DoesNotExist"}]}}
"""Any namespace that is no job's: where Ingress controllers and their users' tools run."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def build_policies(shape: Shape) -> list[Object]:
    """All policies of the cluster."""
    app, runner, server = (
        shape.pod_labels(component) for component in (labels.COMPONENT_APP, labels.COMPONENT_RUNNER, labels.COMPONENT_SERVER)
    )
    to_server = {"to": [_pods(server)], "ports": [_API, *_DNS]}
    to_internet = [{"to": blocks} for blocks in [build_internet(shape)] if blocks]
    exposed_from = [_dump(peer) for peer in shape.exposed_from] or [_NO_JOBS]
    return [
        _policy(shape, Part.DENY_POLICY, {"podSelector": _users_code(shape), "policyTypes": ["Ingress", "Egress"]}),
        _policy(
            shape,
            Part.APP_POLICY,
            {
                "podSelector": {"matchLabels": app},
                "policyTypes": ["Ingress", "Egress"],
                # From the server: webhooks, aggregated APIs and the API's own proxy to pods.
                "ingress": [{"from": [_pods(app), _pods(runner), _pods(server)]}],
                "egress": [{"to": [_pods(app)]}, to_server, *to_internet],
            },
        ),
        _policy(
            shape,
            Part.EXPOSED_POLICY,
            {"podSelector": {"matchLabels": app}, "policyTypes": ["Ingress"], "ingress": [{"from": exposed_from}]},
        ),
        _policy(
            shape,
            Part.RUNNER_POLICY,
            {
                "podSelector": {"matchLabels": runner},
                "policyTypes": ["Ingress", "Egress"],
                "egress": [{"to": [_pods(app)]}, to_server, *to_internet],
            },
        ),
        _policy(
            shape,
            Part.SERVER_POLICY,
            {
                "podSelector": {"matchLabels": server},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [{"from": [_pods(app), _pods(runner)], "ports": [_API, *_DNS]}, {"from": [_NO_JOBS], "ports": [_API]}],
                "egress": [{"to": [_pods(app)]}, *_build_host_access(shape), *to_internet],
            },
        ),
    ]


def _build_host_access(shape: Shape) -> list[Object]:
    """What the syncer and coredns need of the host: its API server and its DNS.

    The rest of the host is closed to the server's pod as well: its tenant is admin of the nested API server, whose proxies and
    webhooks connect to wherever he says.
    """
    services = [{"ipBlock": {"cidr": cidr}} for cidr in shape.host.service_cidrs]
    api = [{"ipBlock": {"cidr": f"{address}/{128 if ':' in address else 32}"}} for address in shape.host.api_addresses]
    dns = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    return [
        *([{"to": api}] if api else []),
        *([{"to": services, "ports": [{"protocol": "TCP", "port": 443}]}] if services else []),
        {"ports": dns},
    ]


def build_internet(shape: Shape) -> list[Object]:
    """The address blocks that are open: everything but what is closed below; empty when the class opens none."""
    if shape.network.internet == "None":
        return []
    closed = [
        *METADATA,
        *CLOSED_V6,
        *shape.network.private_ranges,
        *shape.host.service_cidrs,
        *(f"{address}/{128 if ':' in address else 32}" for address in shape.host.api_addresses),
    ]
    networks = [ipaddress.ip_network(cidr, strict=False) for cidr in closed]
    return [
        {"ipBlock": {"cidr": "0.0.0.0/0", "except": _collapse(networks, 4)}},
        {"ipBlock": {"cidr": "::/0", "except": _collapse(networks, 6)}},
    ]


def _collapse(networks: list[Network], version: int) -> list[str]:
    """Of one address family, without those that another one contains."""
    chosen: list[Any] = [network for network in networks if network.version == version]
    return [str(network) for network in ipaddress.collapse_addresses(chosen)]


def _users_code(shape: Shape) -> Object:
    """Selects the pods that run what users bring."""
    values = [labels.COMPONENT_APP, labels.COMPONENT_RUNNER]
    return {
        "matchLabels": {labels.CLUSTER: shape.name},
        "matchExpressions": [{"key": labels.COMPONENT, "operator": "In", "values": values}],
    }


def _policy(shape: Shape, part: Part, spec: Object) -> Object:
    return {"metadata": shape.metadata(shape.child(part)), "spec": spec}


def _pods(selected: dict[str, str]) -> Object:
    return {"podSelector": {"matchLabels": selected}}


def _dump(peer: Peer) -> Object:
    return peer.model_dump(by_alias=True, exclude_none=True)
