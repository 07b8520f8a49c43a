"""From pods, namespaces and policies to the rules of one node: networking.k8s.io/v1 as Kubernetes documents it. Pure."""

import ipaddress
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from devcluster.cluster.policies.objects import Pod, Policy
from devcluster.cluster.policies.ruleset import ADDRESS, IP, REJECT, Ruleset, Set, named
from devcluster.cluster.policies.world import World, peer_key

FAMILIES = (4, 6)
SIDES = {"Ingress": "saddr", "Egress": "daddr"}
LISTS = {"Ingress": ("ingress", "from"), "Egress": ("egress", "to")}
PROTOCOLS = ("TCP", "UDP", "SCTP")


def build(world: World, node: str) -> Ruleset:
    """The rules of a node: what the pods on it may send and receive."""
    return _Builder(world, node).build()


def merge(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same ports without overlaps, which `nft` refuses."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def match_block(side: str, block: Mapping[str, Any]) -> str:
    """An `ipBlock` as a match of the source (`saddr`) or destination (`daddr`) address."""
    return _match_block(side, block["cidr"], tuple(block.get("except") or ()))


@lru_cache(4096)
def _match_block(side: str, cidr: str, closed: tuple[str, ...]) -> str:
    network = ipaddress.ip_network(cidr, strict=False)
    matched = f"{IP[network.version]} {side}"
    found = [f"{matched} {network}" if network.prefixlen else f"meta nfproto ipv{network.version}"]
    if closed:
        networks = [ipaddress.ip_network(item, strict=False) for item in closed]
        texts = [str(item) for item in ipaddress.collapse_addresses(networks)]  # type: ignore[type-var]
        found.append(f"{matched} != {{ {', '.join(texts)} }}")
    return " ".join(found)


class _Builder:
    def __init__(self, world: World, node: str) -> None:
        self._world = world
        self._local = [pod for pod in world.pods if pod.node == node and pod.addresses]
        used = {version(address) for pod in world.pods for address in pod.addresses}
        self._families = [family for family in FAMILIES if family == FAMILIES[0] or family in used]
        self._sets: dict[str, dict[str, str]] = {}
        self._types: dict[str, str] = {}
        self._chains: dict[str, tuple[str, ...]] = {}
        self._known: dict[object, str] = {}

    def build(self) -> Ruleset:
        for family in FAMILIES:
            self._add(f"local{family}", ADDRESS[family])
            self._add(f"self{family}", f"{ADDRESS[family]} . {ADDRESS[family]}")
            self._add(f"egress{family}", f"{ADDRESS[family]} : verdict")
            self._add(f"ingress{family}", f"{ADDRESS[family]} : verdict")
        for pod in self._local:
            self._add_pod(pod)
        return Ruleset({name: Set(self._types[name], self._sets[name]) for name in self._sets}, self._chains)

    def _add(self, name: str, kind: str) -> dict[str, str]:
        self._types[name] = kind
        return self._sets.setdefault(name, {})

    def _add_pod(self, pod: Pod) -> None:
        chains = {direction: self._chain(pod, direction) for direction in SIDES}
        for address in pod.addresses:
            family = version(address)
            self._sets[f"local{family}"][address] = ""
            self._sets[f"self{family}"][f"{address} . {address}"] = ""
            for direction, chain in chains.items():
                if chain:
                    self._sets[f"{direction.lower()}{family}"][address] = f"goto {chain}"

    def _chain(self, pod: Pod, direction: str) -> str:
        """The name of the chain that judges a pod's packets, which pods share that have the same; empty if it is open."""
        policies = self._world.isolating(pod, direction)
        if not policies:
            return ""
        key = (direction, policies_key(policies), pod.ports if direction == "Ingress" else ())
        if key not in self._known:
            rules = tuple(dict.fromkeys(rule for policy in policies for rule in self._rules(pod, policy, direction)))
            name = named(direction.lower(), rules)
            self._chains[name] = (*rules, REJECT)
            self._known[key] = name
        return self._known[key]

    def _rules(self, pod: Pod, policy: Policy, direction: str) -> list[str]:
        """The rules by which a policy lets packets pass. They return to where the other end's policies are looked at."""
        many, ends = LISTS[direction]
        found: list[str] = []
        for rule in policy.spec.get(many) or []:
            peers, ports = rule.get(ends) or [], rule.get("ports") or []
            numbers = match_ports(ports, pod if direction == "Ingress" else None)
            for peer in peers or [None]:
                found += [
                    " ".join(filter(None, (matched, number, "return")))
                    for matched in self._match_peer(policy.namespace, peer, SIDES[direction])
                    for number in numbers
                ]
                if direction == "Egress":
                    found += self._named_ports(policy.namespace, peer, ports)
        return found

    def _match_peer(self, namespace: str, peer: Mapping[str, Any] | None, side: str) -> list[str]:
        if peer is None:
            return [""]
        if block := peer.get("ipBlock"):
            return [match_block(side, block)]
        pods, key = self._world.peers(namespace, peer), peer_key(namespace, peer)
        found: list[str] = []
        for family in self._families:
            name = named(f"peers{family}", key)
            own = self._add(name, ADDRESS[family])
            own.update((address, "") for pod in pods for address in pod.addresses if version(address) == family)
            found.append(f"{IP[family]} {side} @{name}")
        return found

    def _named_ports(self, namespace: str, peer: Mapping[str, Any] | None, ports: Sequence[Mapping[str, Any]]) -> list[str]:
        """Egress to a port by name: each pod at the other end has its own number for it. An `ipBlock` has no names for ports."""
        found: list[str] = []
        if peer is not None and peer.get("ipBlock"):
            return found
        pods = self._world.pods if peer is None else self._world.peers(namespace, peer)
        for port in ports:
            if not isinstance(port.get("port"), str):
                continue
            wanted = (port["port"], port.get("protocol", "TCP"))
            key = ("" if peer is None else peer_key(namespace, peer), *wanted)
            for family in self._families:
                name = named(f"ports{family}", key)
                self._add(name, f"{ADDRESS[family]} . inet_proto . inet_service").update(
                    (f"{address} . {own.protocol.lower()} . {own.number}", "")
                    for pod in pods
                    for own in pod.ports
                    if (own.name, own.protocol) == wanted
                    for address in pod.addresses
                    if version(address) == family
                )
                found.append(f"{IP[family]} daddr . meta l4proto . th dport @{name} return")
        return found


def match_ports(ports: Sequence[Mapping[str, Any]], pod: Pod | None) -> list[str]:
    """Matches of the ports of a rule: one that is empty if it names none, no match at all if it names only ports that `pod`
    does not have."""
    if not ports:
        return [""]
    found: list[str] = []
    for protocol in PROTOCOLS:
        own = [port for port in ports if port.get("protocol", "TCP") == protocol]
        if any("port" not in port for port in own):
            found.append(f"meta l4proto {protocol.lower()}")
            continue
        ranges = [pair for port in own for pair in _numbers(port, pod)]
        if ranges:
            texts = [str(first) if first == last else f"{first}-{last}" for first, last in merge(ranges)]
            found.append(f"{protocol.lower()} dport {{ {', '.join(texts)} }}")
    return found


def _numbers(port: Mapping[str, Any], pod: Pod | None) -> list[tuple[int, int]]:
    wanted = port["port"]
    if isinstance(wanted, int):
        return [(wanted, port.get("endPort") or wanted)]
    protocol = port.get("protocol", "TCP")
    own = pod.ports if pod else ()
    return [(item.number, item.number) for item in own if (item.name, item.protocol) == (wanted, protocol)]


def policies_key(policies: Sequence[Policy]) -> tuple[int, ...]:
    """The same for the same policies, while they live."""
    return tuple(id(policy) for policy in policies)


def version(address: str) -> int:
    """4 or 6."""
    return 6 if ":" in address else 4
