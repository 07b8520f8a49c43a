"""Who gets in from outside to the pods of a Service that is reached from there, and who gets out to its node ports. Pure.

Never at other ports than the Service's, since a policy of the nested cluster opens nothing that its class does not. Where such
policies isolate the Service's pods, they decide who gets in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nestor.api.objects import Object, spec_of, status_of
from nestor.pods.translate import labels
from nestor.pods.translate.fields import TABLES
from nestor.syncer.translate.network_policy import list_types, read_block

_RULE, _PEER, _PORT = (TABLES[f"NetworkPolicy{part}"] for part in ("IngressRule", "Peer", "Port"))


def list_covering(service: Object, policies: Iterable[Object]) -> list[Object]:
    """The nested policies that isolate all pods of a Service, whatever other labels these have."""
    own = spec_of(service).get("selector") or {}
    return [policy for policy in policies if "Ingress" in list_types(policy) and _covers(policy, own)]


def build_rules(service: Object, covering: Sequence[Object]) -> list[Object]:
    """The rules for ingress from outside. `covering`: see `list_covering`; without any, everybody gets in."""
    ports = [_read_port(port) for port in spec_of(service).get("ports") or ()]
    if not covering:
        return [{"ports": ports}]
    rules = (rule for policy in covering for rule in policy["spec"].get("ingress") or ())
    return [built for rule in rules if (built := _narrow(rule, ports))]


def build_node_rules(host: Object | None, nodes: Iterable[Object]) -> list[Object]:
    """The rule for egress to the node ports of a host Service, at the addresses of these nodes of the host; none without any."""
    ports = [{"protocol": protocol, "port": number} for protocol, number in list_node_ports(host)]
    addresses = sorted({address for node in nodes for address in list_addresses(node)})
    blocks = [{"ipBlock": {"cidr": f"{address}/{128 if ':' in address else 32}"}} for address in addresses]
    return [{"to": blocks, "ports": ports}] if ports and blocks else []


def list_node_ports(host: Object | None) -> list[tuple[str, int]]:
    """Protocol and number of a host Service's node ports."""
    ports = spec_of(host).get("ports") or ()
    return [(port.get("protocol", "TCP"), port["nodePort"]) for port in ports if port.get("nodePort")]


def list_addresses(node: Object | None) -> list[str]:
    """By which other nodes, and pods, reach a node."""
    return [item["address"] for item in status_of(node).get("addresses") or () if item["type"] == "InternalIP"]


def _covers(policy: Object, own: dict[str, str]) -> bool:
    selector = policy["spec"].get("podSelector") or {}
    is_known = all(item["key"] in own for item in selector.get("matchExpressions") or ())
    return is_known and labels.is_match(selector, own)


def _narrow(rule: Object, ports: Sequence[Object]) -> Object | None:
    """What a nested rule says about these ports and the world outside; None if it is nothing.

    Whoever uses a field that is newer than this version of Nestor may mean less than the rest of the rule says.
    """
    given, wanted = rule.get("from"), rule.get("ports")
    known = (peer for peer in given or () if peer.get("ipBlock") and not peer.keys() - _PEER.keys())
    blocks = [{"ipBlock": peer["ipBlock"]} for peer in known if read_block(peer["ipBlock"]) is not None]
    opened = [port for port in ports if not wanted or any(_is_in(port, item) for item in wanted)]
    if rule.keys() - _RULE.keys() or not opened or (given and not blocks):
        return None
    return {"ports": opened} | ({"from": blocks} if blocks else {})


def _is_in(port: Object, wanted: Object) -> bool:
    """Whether a rule's port includes this one. A name may stand for another number in each pod, so it equals only itself."""
    if wanted.keys() - _PORT.keys() or wanted.get("protocol", "TCP") != port["protocol"]:
        return False
    first, number = wanted.get("port"), port["port"]
    if isinstance(first, int) and isinstance(number, int):
        return first <= number <= int(wanted.get("endPort") or first)
    return first is None or first == number


def _read_port(port: Object) -> Object:
    return {"protocol": port.get("protocol", "TCP"), "port": port.get("targetPort") or port["port"]}
