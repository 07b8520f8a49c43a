"""Network policies of one nested cluster: its pods reach each other, their DNS, their API and the internet; nothing else.

They are walls: what a nested cluster's own policies allow (the syncer copies them) never goes beyond them. Where one of those
isolates a pod, the walls allow nothing first that it should decide: policies only ever add to each other.

Those that allow something select pods by the cluster's labels. Nothing is allowed besides in its namespace.
"""

import ipaddress
from collections.abc import Sequence

from nestor.api import labels
from nestor.api.class_parts import ANYWHERE, NetworkPolicyModel, Peer
from nestor.api.contracts import addresses
from nestor.api.contracts.cluster import API_PORT
from nestor.api.names import Part
from nestor.api.objects import Object
from nestor.cluster.home import Home
from nestor.cluster.shape import DNS_PORT, Host, Shape, collapse, list_closed_ranges

METADATA = [*addresses.LINK_LOCAL, *addresses.METADATA, *addresses.NAT64]
"""Ranges with cloud metadata addresses, which hand out the node's credentials."""
NODE_LOCAL_DNS = "169.254.20.10"
"""Where Kubernetes' DNS cache listens on each node, in clusters that have it."""
SOLVER_LABEL = "acme.cert-manager.io/http01-solver"
"""On the pods by which cert-manager proves that a host is ours. They run beside the Ingress, in the job's namespace."""

_API = {"protocol": "TCP", "port": API_PORT}
_DNS = [{"protocol": "UDP", "port": DNS_PORT}, {"protocol": "TCP", "port": DNS_PORT}]
_API_PORTS = (443, 6443)
"""Usual ports of API servers, if the host does not tell."""
_NO_JOBS: Object = {"namespaceSelector": {"matchExpressions": [{"key": labels.JOB, "operator": "DoesNotExist"}]}}
"""Any namespace that does not belong to a job, such as those of Ingress controllers and users' tools."""


def build_policies(shape: Shape) -> list[Object]:
    app, runner, server = (
        shape.pod_labels(component) for component in (labels.COMPONENT_APP, labels.COMPONENT_RUNNER, labels.COMPONENT_SERVER)
    )
    to_server = {"to": [_pods(server)], "ports": [_API, *_DNS]}
    to_internet = [{"to": blocks} for blocks in [build_internet(shape.policy.network, shape.host)] if blocks]
    return [
        # For everybody there: also a pod that lost its labels, or that somebody else put there.
        _policy(shape, Part.DENY_POLICY, {}, ingress=[], egress=[]),
        # The server connects to pods for webhooks, aggregated APIs and the API's own pod proxy.
        _policy(shape, Part.APP_POLICY, app, ingress=[{"from": [_pods(runner), _pods(server)]}], egress=[to_server]),
        *_build_open(shape, app, to_internet),
        *_build_solver(shape),
        _policy(shape, Part.RUNNER_POLICY, runner, ingress=[], egress=[{"to": [_pods(app)]}, to_server, *to_internet]),
        _policy(
            shape,
            Part.SERVER_POLICY,
            server,
            ingress=[
                {"from": [_pods(app), _pods(runner)], "ports": [_API, *_DNS]},
                {"from": list_peers(shape.api_from), "ports": [_API]},
            ],
            egress=[{"to": [_pods(app)]}, *_build_host_access(shape), *to_internet],
        ),
    ]


def _build_open(shape: Shape, app: dict[str, str], to_internet: list[Object]) -> list[Object]:
    """What app pods may do as long as no policy of the nested cluster isolates them."""

    def unless(label: str) -> list[Object]:
        return [{"key": label, "operator": "DoesNotExist"}]

    inwards = _policy(shape, Part.INGRESS_POLICY, app, unless(labels.ISOLATED_INGRESS), ingress=[{"from": [_pods(app)]}])
    outwards = _policy(
        shape, Part.EGRESS_POLICY, app, unless(labels.ISOLATED_EGRESS), egress=[{"to": [_pods(app)]}, *to_internet]
    )
    # By this, admission finds the wall by which it measures what syncers write.
    services, placement = shape.policy.services, shape.policy.placement
    has_node_ports = services.node_ports or services.load_balancers
    has_budgets = placement is not None and placement.disruption_budgets
    outwards["metadata"]["labels"] |= {
        labels.PURPOSE: labels.EGRESS_WALL,
        labels.NODE_PORTS: str(has_node_ports).lower(),
        labels.BUDGETS: str(has_budgets).lower(),
    }
    return [inwards, outwards]


def build_exposed(home: Home, name: str, selector: dict[str, str], port: Object, peers: Sequence[Peer]) -> Object:
    """Opens one port of the pods behind an exposed Service, which `selector` selects."""
    ingress = [{"from": list_peers(peers), "ports": [port]}]
    spec = {"podSelector": {"matchLabels": selector}, "policyTypes": ["Ingress"], "ingress": ingress}
    return {"metadata": home.metadata(name, component=labels.COMPONENT_EXPOSURE), "spec": spec}


def list_peers(peers: Sequence[Peer]) -> list[Object]:
    """From where a class lets traffic in that is nobody's of the cluster."""
    return [_build_peer(peer) for peer in peers or (ANYWHERE,)]


def _build_solver(shape: Shape) -> list[Object]:
    if not shape.policy.expose.has_issuer:
        return []
    opened = [{"from": list_peers(shape.policy.expose.from_)}]
    return [_policy(shape, Part.SOLVER_POLICY, {SOLVER_LABEL: "true"}, ingress=opened)]


def _build_host_access(shape: Shape) -> list[Object]:
    """Egress that the syncer and CoreDNS need: the host's API server and DNS.

    The server's pod must not reach anything else in the host: the tenant is admin of the nested API server, whose proxies and
    webhooks connect wherever the tenant wants. Network plugins judge either before or after a Service's address is translated.
    """
    host = shape.host
    api = [_block(address) for address in host.api_addresses]
    services = [_block(str(ipaddress.ip_network(cidr)[1])) for cidr in host.service_cidrs]
    pods = [_namespace(name) for name in host.dns.namespaces]
    resolvers = [_block(address) for address in sorted({*host.resolvers, NODE_LOCAL_DNS})]
    ranges = [{"ipBlock": {"cidr": cidr}} for cidr in host.dns.ranges]
    ports = [_port(protocol, port) for port in host.dns.ports for protocol in ("UDP", "TCP")]
    return [
        *([{"to": api, "ports": [_port("TCP", port) for port in host.api_ports or _API_PORTS]}] if api else []),
        *([{"to": services, "ports": [_port("TCP", 443)]}] if services else []),
        {"to": [*pods, *resolvers, *ranges], "ports": ports},
    ]


def build_internet(network: NetworkPolicyModel, host: Host) -> list[Object]:
    """The allowed address blocks: everything except the ranges closed below; empty if the class allows no internet."""
    if network.internet == "None":
        return []
    merged = list_closed(network, host)
    return [
        {"ipBlock": {"cidr": "0.0.0.0/0", "except": [cidr for cidr in merged if ":" not in cidr]}},
        {"ipBlock": {"cidr": "::/0", "except": [cidr for cidr in merged if ":" in cidr]}},
    ]


def list_closed(network: NetworkPolicyModel, host: Host) -> list[str]:
    """What no pod may connect to, and no Service stand for, whatever else the class allows."""
    closed = [*METADATA, *list_closed_ranges(network, host), *(_single(address) for address in host.api_addresses)]
    return collapse([ipaddress.ip_network(cidr) for cidr in closed])


def _single(address: str) -> str:
    return f"{address}/{128 if ':' in address else 32}"


def _block(address: str) -> Object:
    return {"ipBlock": {"cidr": _single(address)}}


def _port(protocol: str, port: int) -> Object:
    return {"protocol": protocol, "port": port}


def _policy(
    shape: Shape,
    part: Part,
    pods: dict[str, str],
    expressions: list[Object] | None = None,
    *,
    ingress: list[Object] | None = None,
    egress: list[Object] | None = None,
) -> Object:
    """Isolates the pods that the labels and expressions select, or all, in each direction of which something is said."""
    said = {"ingress": ingress, "egress": egress}
    selector = ({"matchLabels": pods} if pods else {}) | ({"matchExpressions": expressions} if expressions else {})
    types = [name.capitalize() for name, opened in said.items() if opened is not None]
    opened = {name: opened for name, opened in said.items() if opened}
    return {"metadata": shape.metadata(shape.child(part)), "spec": {"podSelector": selector, "policyTypes": types, **opened}}


def _pods(selected: dict[str, str]) -> Object:
    return {"podSelector": {"matchLabels": selected}}


def _build_peer(peer: Peer) -> Object:
    return _NO_JOBS if peer == ANYWHERE else {"ipBlock": {"cidr": peer}} if "/" in peer else _namespace(peer)


def _namespace(name: str) -> Object:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}
