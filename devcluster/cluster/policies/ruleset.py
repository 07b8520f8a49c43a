"""What the kernel is to know, and how `nft` is told: as a whole, or what is different from before. Pure.

Sets and chains have names made from what they are, so that a chain's rules never change: pods that come and go change only the
elements of sets.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from devcluster.cluster import settings

TABLE = "inet nestor_dev_policies"
REJECT = "reject with icmpx type admin-prohibited"
ADDRESS = {4: "ipv4_addr", 6: "ipv6_addr"}
IP = {4: "ip", 6: "ip6"}


@dataclass(frozen=True)
class Set:
    """A set (elements without values) or a verdict map."""

    type: str
    elements: Mapping[str, str] = field(default_factory=dict)
    """Element → verdict, which is empty in sets."""

    @property
    def is_map(self) -> bool:
        """Whether its elements have verdicts."""
        return self.type.endswith(": verdict")


@dataclass(frozen=True)
class Ruleset:
    """The sets and chains besides the fixed ones."""

    sets: Mapping[str, Set]
    chains: Mapping[str, tuple[str, ...]]


def named(prefix: str, content: object) -> str:
    """A name that stands for `content`."""
    return f"{prefix}_{hashlib.sha256(repr(content).encode()).hexdigest()[:20]}"


def fixed_chains() -> dict[str, tuple[str, ...]]:
    """What every packet goes through. Packets that a node itself sends to its pods are in none of the hooks: Kubernetes always
    allows them. Packets to the pods' own node are judged as egress, as Calico, Cilium and kube-router do.

    Between two pods of a node, packets are bridged; the kernel shows them to these hooks (`bridge-nf-call-iptables`)."""
    bridge = settings.POD_BRIDGE
    return {
        "forward": (
            "type filter hook forward priority filter; policy accept;",
            "ct state established,related accept",
            *(f"{IP[family]} saddr . {IP[family]} daddr @self{family} accept" for family in (4, 6)),
            "jump egress",
            "jump ingress",
        ),
        "input": (
            "type filter hook input priority filter; policy accept;",
            "ct state established,related accept",
            "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept",
            "jump egress",
        ),
        "egress": (
            f'iifname != "{bridge}" return',
            # Whoever is not known yet, or says that it is somebody else, gets nowhere.
            *(f"{IP[family]} saddr != @local{family} {REJECT}" for family in (4, 6)),
            *(f"{IP[family]} saddr vmap @egress{family}" for family in (4, 6)),
        ),
        "ingress": (
            f'oifname != "{bridge}" return',
            # A pod that is not known yet. What lies beyond a pod, which the node's routes may name as a gateway, is no pod.
            f"ip daddr {settings.POD_CIDR} ip daddr != @local4 {REJECT}",
            f"ip6 daddr != @local6 {REJECT}",
            *(f"{IP[family]} daddr vmap @ingress{family}" for family in (4, 6)),
        ),
    }


def write(ruleset: Ruleset) -> str:
    """Replace all that there is of ours."""
    fixed = fixed_chains()
    lines = [f"add table {TABLE}", f"delete table {TABLE}", f"add table {TABLE}"]
    lines += [f"add set {TABLE} {name} {{ type {item.type}; }}" for name, item in ruleset.sets.items() if not item.is_map]
    for name, rules in {"egress": (), "ingress": (), **ruleset.chains}.items():
        lines.append(f"add chain {TABLE} {name}")
        lines += _rules(name, rules)
    lines += [f"add map {TABLE} {name} {{ type {item.type}; }}" for name, item in ruleset.sets.items() if item.is_map]
    for name in ("egress", "ingress"):
        lines += _rules(name, fixed[name])
    for name in ("input", "forward"):
        lines += [f"add chain {TABLE} {name} {{ {fixed[name][0]} }}", *_rules(name, fixed[name][1:])]
    for name, item in ruleset.sets.items():
        lines += _elements("add", name, item, item.elements)
    return "\n".join(lines) + "\n"


def write_changes(old: Ruleset, new: Ruleset) -> str:
    """Only what is different; empty when nothing is."""
    lines: list[str] = []
    for name in new.sets.keys() - old.sets.keys():
        lines.append(f"add set {TABLE} {name} {{ type {new.sets[name].type}; }}")
    for name in new.chains.keys() - old.chains.keys():
        lines += [f"add chain {TABLE} {name}", *_rules(name, new.chains[name])]
    for name, item in new.sets.items():
        before = old.sets[name].elements if name in old.sets else {}
        lines += _elements("delete", name, item, dict(before.items() - item.elements.items()))
        lines += _elements("add", name, item, dict(item.elements.items() - before.items()))
    for name in old.chains.keys() - new.chains.keys():
        lines += [f"flush chain {TABLE} {name}", f"delete chain {TABLE} {name}"]
    lines += [f"delete set {TABLE} {name}" for name in old.sets.keys() - new.sets.keys()]
    return "\n".join(lines) + "\n" if lines else ""


def _rules(chain: str, rules: Iterable[str]) -> list[str]:
    return [f"add rule {TABLE} {chain} {rule}" for rule in rules]


def _elements(verb: str, name: str, item: Set, elements: Mapping[str, str]) -> list[str]:
    if not elements:
        return []
    text = ", ".join(f"{key} : {verdict}" if item.is_map else key for key, verdict in sorted(elements.items()))
    return [f"{verb} element {TABLE} {name} {{ {text} }}"]
