"""Small clusters for the tables, and what a packet would meet in their rules."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any

from devcluster.cluster.policies import rules
from devcluster.cluster.policies.objects import ContainerPort, Namespace, Pod, Policy
from devcluster.cluster.policies.ruleset import REJECT, Ruleset
from devcluster.cluster.policies.world import World

NODE = "node-1"
_PARTS = (
    r"ip daddr \. meta l4proto \. th dport @(?P<named>\w+)",
    r"ip6? (?P<side>[sd]addr) @(?P<set>\w+)",
    r"ip6? (?P<side>[sd]addr) != \{ (?P<closed>[^}]*) \}",
    r"ip6? (?P<side>[sd]addr) (?P<cidr>\S+)",
    r"(?P<protocol>tcp|udp|sctp) dport \{ (?P<ports>[^}]*) \}",
    r"meta l4proto (?P<protocol>\w+)",
    r"meta nfproto ipv(?P<family>\d)",
)


def pod(
    name: str,
    address: str,
    *,
    namespace: str = "a",
    labels: Mapping[str, str] | None = None,
    node: str = NODE,
    ports: Sequence[tuple[str, int]] = (),
) -> Pod:
    """A pod, by default with its name as label `app`, on the node that the tables look at."""
    named = tuple(ContainerPort(port, "TCP", number) for port, number in ports)
    return Pod(f"uid-{namespace}-{name}", namespace, name, {"app": name} if labels is None else labels, node, (address,), named)


def policy(name: str, spec: Mapping[str, Any], namespace: str = "a") -> Policy:
    """A policy."""
    return Policy(f"uid-{namespace}-{name}", namespace, name, spec)


def world(pods: Sequence[Pod], policies: Sequence[Policy], labels: Mapping[str, Mapping[str, str]] | None = None) -> World:
    """A cluster whose namespaces have their names as labels `team` and `kubernetes.io/metadata.name`, and those of `labels`."""
    names = {item.namespace for item in pods} | {item.namespace for item in policies}
    spaces = [
        Namespace(f"uid-{name}", name, {"team": name, "kubernetes.io/metadata.name": name, **(labels or {}).get(name, {})})
        for name in sorted(names)
    ]
    return World(pods, spaces, policies)


def passes(ruleset: Ruleset, source: str, destination: str, port: int, protocol: str = "tcp", node_only: bool = False) -> bool:
    """Whether a packet's way through the rules is free: that of an address of the node to another one, or to the node itself."""
    if source == destination:
        return True
    sides = [("egress", source)] if node_only else [("egress", source), ("ingress", destination)]
    for direction, address in sides:
        if address not in ruleset.sets["local4"].elements:
            continue
        verdict = ruleset.sets[f"{direction}4"].elements.get(address)
        if verdict and not _chain_passes(ruleset, verdict.removeprefix("goto "), source, destination, port, protocol):
            return False
    return True


def _chain_passes(ruleset: Ruleset, chain: str, source: str, destination: str, port: int, protocol: str) -> bool:
    for rule in ruleset.chains[chain]:
        if rule == REJECT:
            return False
        if _matches(ruleset, rule.removesuffix("return").strip(), source, destination, port, protocol):
            return True
    raise AssertionError(f"{chain} has no end")


def _matches(ruleset: Ruleset, rule: str, source: str, destination: str, port: int, protocol: str) -> bool:
    addresses = {"saddr": source, "daddr": destination}
    left = rule
    while left:
        found = next((match for pattern in _PARTS if (match := re.match(f"{pattern}(?: |$)", left))), None)
        assert found is not None, f"the tables do not know '{left}' of '{rule}'"
        left = left[found.end() :]
        match found.groupdict():
            case {"named": name}:
                fits = f"{destination} . {protocol} . {port}" in ruleset.sets[name].elements
            case {"side": side, "set": name}:
                fits = addresses[side] in ruleset.sets[name].elements
            case {"side": side, "closed": closed}:
                fits = not any(_is_in(addresses[side], cidr) for cidr in closed.split(", "))
            case {"side": side, "cidr": cidr}:
                fits = _is_in(addresses[side], cidr)
            case {"protocol": wanted, "ports": ports}:
                ranges = [(item.split("-")[0], item.split("-")[-1]) for item in ports.split(", ")]
                fits = wanted == protocol and any(int(first) <= port <= int(last) for first, last in ranges)
            case {"protocol": wanted}:
                fits = wanted == protocol
            case {"family": family}:
                fits = family == "4"
        if not fits:
            return False
    return True


def _is_in(address: str, cidr: str) -> bool:
    return ipaddress.ip_address(address) in ipaddress.ip_network(cidr)


def build(pods: Sequence[Pod], policies: Sequence[Policy], labels: Mapping[str, Mapping[str, str]] | None = None) -> Ruleset:
    """The rules of the tables' node."""
    return rules.build(world(pods, policies, labels), NODE)
