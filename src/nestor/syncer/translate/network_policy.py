"""NetworkPolicies: what those of a nested cluster come to in the host, behind the walls of `cluster.policies`. Pure.

Policies only ever add to each other. So a pod that a nested policy isolates gets a label, by which the walls leave it to the
copies of such policies what it may do. No copy says more than the walls would: it names only the cluster's own pods, and of the
world outside only what the class opens. None lets anybody in from there: see `copies.rows.service_access`.
"""

import ipaddress
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nestor.api import data
from nestor.api import labels as marks
from nestor.api.contracts.addresses import explain_refusal
from nestor.api.objects import Object, spec_of, status_of
from nestor.api.pod_status import is_terminal
from nestor.api.policies import IpBlock
from nestor.pods.translate import fields, labels
from nestor.pods.translate.fields import TABLES
from nestor.pods.translate.target import Target

Direction = Literal["Ingress", "Egress"]
Block = tuple[Any, list[Any]]
"""An IPv4 or IPv6 network, and its exceptions."""

ISOLATED: Mapping[Direction, str] = {"Ingress": marks.ISOLATED_INGRESS, "Egress": marks.ISOLATED_EGRESS}
_LISTS: Mapping[Direction, tuple[str, str]] = {"Ingress": ("ingress", "from"), "Egress": ("egress", "to")}
_PEER, _PORT = TABLES["NetworkPolicyPeer"], TABLES["NetworkPolicyPort"]
_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
ADDRESSES = 200
"""How many of the cluster's pods one `ipBlock` may come to."""


@dataclass(frozen=True)
class Surroundings:
    """What a copy depends on besides its source."""

    target: Target
    namespaces: Mapping[str, Mapping[str, str]]
    """The nested namespaces and their labels."""
    pods: Mapping[str, str]
    """The addresses of the cluster's own pods that live, and the nested UID of each."""
    internet: Sequence[IpBlock]
    """What the class opens of the world outside."""
    lets_in: bool = False
    """Whether the class allows Services that are reached from outside."""


def find_isolation(pod: Object, policies: Iterable[Object]) -> dict[str, str]:
    """The labels of the host pod that say which of its directions are isolated by `policies`, those of its namespace."""
    own = pod["metadata"].get("labels") or {}
    found = [policy for policy in policies if labels.is_match(policy["spec"].get("podSelector") or {}, own)]
    return {label: "true" for direction, label in ISOLATED.items() if any(direction in list_types(item) for item in found)}


def list_types(policy: Object) -> list[Direction]:
    """The directions that a policy is about. API servers write the default into it."""
    given = policy["spec"].get("policyTypes") or ["Ingress", *(["Egress"] if policy["spec"].get("egress") else [])]
    return [direction for direction in ISOLATED if direction in given]


def build_policy(policy: Object, around: Surroundings) -> Object:
    spec, target, types = policy["spec"], around.target, list_types(policy)
    scope = _scope(target, policy["metadata"]["namespace"])
    wanted: Object = {
        "podSelector": labels.host_selector(spec.get("podSelector") or {}, scope, target.allowed_labels),
        "policyTypes": [*types],
    }
    for direction in types:
        if rules := _build_rules(policy, direction, around):
            wanted[_LISTS[direction][0]] = rules
    meta = target.metadata(policy)
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": meta, "spec": wanted}


def find_ignored(policy: Object, around: Surroundings) -> list[str]:
    """What a policy allows and the walls do not, as messages for the tenant."""
    found = []
    for direction in list_types(policy):
        for path, block in _list_blocks(policy, direction):
            if (read := read_block(block)) is None:
                peer = path.removesuffix(".cidr")
                found.append(f"`{peer}` is left out: not everybody reads its addresses in the same way")
                continue
            cidr, own = block["cidr"], _find_own(read, around)
            if isinstance(own, list) and len(own) > ADDRESSES:
                found.append(f"`{path}` is {cidr}, but only {ADDRESSES} pods of the nested cluster in it are let through")
            if direction == "Ingress" and not around.lets_in and not _is_full(read, own):
                found.append(
                    f"`{path}` is {cidr}, but only pods of the nested cluster are let in by it, because the class allows no "
                    "Services that are reached from outside (`services.nodePorts`, `services.loadBalancers`); exposed targets "
                    "are reached anyway"
                )
            elif direction == "Egress" and own == [] and not _find_outside(read, around.internet):
                found.append(f"`{path}` is {cidr}, but the class opens none of it (`network.internet`, `network.privateRanges`)")
    return [*found, *_find_unknown(policy["spec"])]


def _find_unknown(spec: Object) -> Iterator[str]:
    """Fields that are newer than this version of Nestor, in all parts of a policy. A peer or port that has one is left out."""
    yield from fields.find_unknown("spec", spec, TABLES["NetworkPolicySpec"])
    for many, ends in _LISTS.values():
        for number, rule in enumerate(spec.get(many) or []):
            path = f"spec.{many}[{number}]"
            yield from fields.find_unknown(path, rule, TABLES[f"NetworkPolicy{many.capitalize()}Rule"])
            for part, table in ((ends, _PEER), ("ports", _PORT)):
                for position, item in enumerate(rule.get(part) or []):
                    yield from fields.find_unknown(f"{path}.{part}[{position}]", item, table)


def list_addresses(pod: Object) -> list[str]:
    """The addresses that belong to a host pod alone, while they do: not its node's, nor those of a pod that has ended."""
    if spec_of(pod).get("hostNetwork") or is_terminal(pod):
        return []
    return [item["ip"] for item in status_of(pod).get("podIPs") or () if item.get("ip") and explain_refusal(item["ip"]) is None]


def has_blocks(policy: Object) -> bool:
    """Whether a copy depends on the addresses of the cluster's pods."""
    return any(_list_blocks(policy, direction) for direction in list_types(policy))


def has_namespaces(policy: Object) -> bool:
    """Whether a copy depends on the labels of nested namespaces."""
    return any("namespaceSelector" in peer for direction in list_types(policy) for _, peer in _list_peers(policy, direction))


def _list_peers(policy: Object, direction: Direction) -> list[tuple[str, Object]]:
    many, ends = _LISTS[direction]
    return [
        (f"spec.{many}[{number}].{ends}[{position}]", peer)
        for number, rule in enumerate(policy["spec"].get(many) or [])
        for position, peer in enumerate(rule.get(ends) or [])
    ]


def _list_blocks(policy: Object, direction: Direction) -> list[tuple[str, Object]]:
    peers = _list_peers(policy, direction)
    return [(f"{path}.ipBlock.cidr", peer["ipBlock"]) for path, peer in peers if peer.get("ipBlock")]


def read_block(block: Object) -> Block | None:
    """An `ipBlock` and its exceptions. None if it may mean other addresses to others: API servers take leading zeros and
    IPv4 addresses in the form of IPv6 ones.
    """
    try:
        cidr, *closed = (ipaddress.ip_network(text, strict=False) for text in (block["cidr"], *(block.get("except") or [])))
    except ValueError:
        return None
    is_mapped = any(found.version == 6 and found.subnet_of(_MAPPED) for found in (cidr, *closed))
    return None if is_mapped else (cidr, closed)


def _build_rules(policy: Object, direction: Direction, around: Surroundings) -> list[Object]:
    many, ends = _LISTS[direction]
    found: list[Object] = []
    for rule in policy["spec"].get(many) or []:
        given = rule.get(ends) or [None]
        peers = [built for peer in given for built in _build_peer(policy, peer, direction, around)]
        # A rule without peers would be about the whole world.
        if peers:
            ports = [{"protocol": "TCP", **port} for port in rule.get("ports") or [] if not port.keys() - _PORT.keys()]
            if ports or not rule.get("ports"):
                found.append({ends: peers} | ({"ports": ports} if ports else {}))
    return found


def _build_peer(policy: Object, peer: Object | None, direction: Direction, around: Surroundings) -> list[Object]:
    """What a peer comes to; None stands for anybody. Empty if it is nobody."""
    target, internet = around.target, around.internet if direction == "Egress" else ()
    if peer is None:
        outside = [{"ipBlock": data.write(found)} for found in internet]
        return [{"podSelector": {"matchLabels": _scope(target, None)}}, *outside]
    if peer.keys() - _PEER.keys():
        return []  # whom it means is not known; without that, it would be everybody
    if block := peer.get("ipBlock"):
        read = read_block(block)
        return [*_build_own(read, around), *_find_outside(read, internet)] if read is not None else []
    by_namespace = peer.get("namespaceSelector")
    own = policy["metadata"]["namespace"] if by_namespace is None else None
    selector = labels.host_selector(peer.get("podSelector") or {}, _scope(target, own), target.allowed_labels)
    if by_namespace:
        names = sorted(name for name, there in around.namespaces.items() if labels.is_match(by_namespace, dict(there)))
        if not names:
            return []
        chosen = {"key": marks.NESTED_NAMESPACE, "operator": "In", "values": names}
        selector["matchExpressions"] = [*selector.get("matchExpressions", []), chosen]
    return [{"podSelector": selector}]


def _build_own(block: Block, around: Surroundings) -> list[Object]:
    own, scope = _find_own(block, around), _scope(around.target, None)
    if own is None:
        return [{"podSelector": {"matchLabels": scope}}]
    # By label rather than by address: as soon as the pod has ended, its address may be another tenant's.
    chosen = {"key": marks.NESTED_UID, "operator": "In", "values": own[:ADDRESSES]}
    return [{"podSelector": {"matchLabels": scope, "matchExpressions": [chosen]}}] if own else []


def _find_own(block: Block, around: Surroundings) -> list[str] | None:
    """The nested UIDs of the cluster's own pods in a block, sorted; None: all, whatever they are."""
    cidr, closed = block
    if not cidr.prefixlen and not closed:
        return None
    pods = ((ipaddress.ip_address(text), uid) for text, uid in around.pods.items())
    return sorted({uid for address, uid in pods if address in cidr and not any(address in item for item in closed)})


def _is_full(block: Block, own: list[str] | None) -> bool:
    """Whether each address in a block is one of the cluster's own pods."""
    cidr, closed = block
    left = cidr.num_addresses - sum(item.num_addresses for item in ipaddress.collapse_addresses(closed))
    return own is not None and len(own) >= left


def _find_outside(block: Block, internet: Collection[IpBlock]) -> list[Object]:
    """What a block and the class have in common of the world outside."""
    wanted, without = block
    found: list[Object] = []
    for opened in internet:
        there: Any = ipaddress.ip_network(opened.cidr)
        if wanted.version != there.version or not wanted.overlaps(there):
            continue
        common = max(wanted, there, key=lambda network: network.prefixlen)
        closed = [*without, *(ipaddress.ip_network(text, strict=False) for text in opened.except_ or [])]
        inside = list(ipaddress.collapse_addresses(item for item in closed if item.overlaps(common)))
        if any(common.subnet_of(item) for item in inside):
            continue
        found.append({"ipBlock": {"cidr": str(common)} | ({"except": [str(item) for item in inside]} if inside else {})})
    return found


def _scope(target: Target, namespace: str | None) -> dict[str, str]:
    """The labels of the cluster's own pods, or those of one nested namespace, and of nothing else in the host's namespace."""
    return target.scope(namespace) | {marks.COMPONENT: marks.COMPONENT_APP}
