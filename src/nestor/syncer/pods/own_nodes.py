"""The labels and taints that tenants give to nested nodes, and what follows from them for pods that have no node yet: the host's
scheduler, which does not know of these, is given the nodes' names instead.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from nestor.api import labels, names
from nestor.api.objects import Object, annotations_of, labels_of
from nestor.kube import Change, kinds
from nestor.pods.translate.gang_room import Room, is_met, tolerates
from nestor.pods.translate.node_rules import PREFERRED, REQUIRED, list_required
from nestor.syncer.translate.node import CORDONED, Own, find_own
from nestor.syncer.view.caches import Caches

_AVOID_WEIGHT = 50
_NOWHERE = "none.nestor.invalid"
"""No node has this name. A term must not be empty: that would match no node, and a list of terms not either."""


@dataclass(frozen=True)
class NestedNode:
    """A nested node that mirrors one of the host's."""

    labels: Mapping[str, str]
    own: Own


Nodes = Mapping[str, NestedNode]
"""By name."""


class OwnNodes:
    """Knows what the tenant has added to the nodes that mirror the host's."""

    def __init__(self, caches: Caches) -> None:
        self._nodes: dict[str, NestedNode] = {}
        self._has_own = False
        self.wake: Callable[[], None] = lambda: None
        """Called whenever other nodes may be right for pods than before."""
        caches.nested(kinds.NODE).on_change(self._on_node)

    def resolve(self, pod: Object) -> Object:
        return resolve(pod, self._nodes) if self._has_own else pod

    def find_ignored(self, pod: Object) -> list[str]:
        return find_ignored(pod, self._nodes) if self._has_own else []

    def is_outdated(self, pod: Object, host: Object) -> bool:
        """Whether a host pod that has no node yet was made for other nodes."""
        found = annotations_of(host).get(labels.OWN_NODES)
        if host["spec"].get("nodeName") or not (found or self._has_own):
            return False
        return found != build_mark(pod, self.resolve(pod)).get(labels.OWN_NODES)

    def _on_node(self, change: Change) -> None:
        name, old = change.key[1], self._nodes.pop(change.key[1], None)
        is_mirrored = change.new is not None and labels_of(change.new).get(labels.MANAGED_BY) == "nestor"
        new = NestedNode(labels_of(change.new), find_own(change.new)) if is_mirrored else None
        if new is not None:
            self._nodes[name] = new
        self._has_own = any(node.own for node in self._nodes.values())
        if old != new:
            self.wake()


@dataclass
class _Choice:
    """By name, which nodes are left; None: those that nothing else excludes."""

    allowed: set[str] | None = None
    banned: set[str] = field(default_factory=set)

    def narrow(self, requirement: Object, nodes: Nodes) -> None:
        matching = {name for name, node in nodes.items() if _holds(requirement, name, node)}
        if requirement["operator"] in ("NotIn", "DoesNotExist"):
            self.banned |= nodes.keys() - matching
        else:
            self.allowed = matching if self.allowed is None else self.allowed & matching

    def write(self, term: Object) -> Iterator[Object]:
        """The term for these nodes: one for each, if they are named, as a requirement can name no more."""
        fields, banned = list(term.get("matchFields") or []), sorted(self.banned)
        if self.allowed is not None:
            for name in sorted(self.allowed - self.banned):
                yield term | {"matchFields": [*fields, _name("In", name)]}
        else:
            yield term | {"matchFields": [*fields, *(_name("NotIn", name) for name in banned or [_NOWHERE])]}


def resolve(pod: Object, nodes: Nodes) -> Object:
    """The pod with names of nodes where it, or a taint, goes by what the tenant has added to them; the same pod if nothing does.

    What stays without effect: labels of the tenant's own as topology keys (see `find_ignored`).
    """
    spec = pod["spec"]
    keys, closed = find_keys(nodes), set() if spec.get("nodeName") else set(_find_closed(spec, nodes, hard=True))
    avoided = sorted(_find_closed(spec, nodes, hard=False))
    selector = spec.get("nodeSelector") or {}
    node_affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    demands = [{"key": key, "operator": "In", "values": [value]} for key, value in selector.items() if key in keys]
    given = list_required(spec)
    wished = node_affinity.get(PREFERRED) or []
    used = {item["key"] for term in given for item in term.get("matchExpressions") or []}
    used |= {item["key"] for each in wished for item in (each.get("preference") or {}).get("matchExpressions") or []}
    if not (closed or avoided or demands or used & keys):
        return pod
    affinity = dict(node_affinity)
    if closed or demands or given:
        # A term without requirements matches no node, and has none to be named.
        real = [term for term in given if term.get("matchExpressions") or term.get("matchFields")] if given else [{}]
        terms = [new for term in real for new in _resolve_term(term, demands, closed, keys, nodes)]
        affinity[REQUIRED] = {"nodeSelectorTerms": terms or [{"matchFields": [_name("In", _NOWHERE)]}]}
    preferred = [
        item | {"preference": new} for item in wished for new in _resolve_wish(item.get("preference") or {}, keys, nodes)
    ]
    if avoided:
        preferred.append({"weight": _AVOID_WEIGHT, "preference": {"matchFields": [_name("NotIn", name) for name in avoided]}})
    affinity |= {PREFERRED: preferred} if preferred or wished else {}
    rest = {key: value for key, value in selector.items() if key not in keys}
    return pod | {"spec": spec | {"nodeSelector": rest, "affinity": (spec.get("affinity") or {}) | {"nodeAffinity": affinity}}}


def build_mark(pod: Object, resolved: Object) -> dict[str, str]:
    """The annotation that says for which nodes a host pod is made; none if the pod says so itself."""
    if resolved is pod:
        return {}
    spec = resolved["spec"]
    nodes = json.dumps([spec["nodeSelector"], spec["affinity"]["nodeAffinity"]], sort_keys=True)
    return {labels.OWN_NODES: names.digest(nodes, length=16)}


def find_ignored(pod: Object, nodes: Nodes) -> list[str]:
    """One message per topology key of a pod that no node of the host has."""
    spec, affinity = pod["spec"], pod["spec"].get("affinity") or {}
    found = {"topologySpreadConstraints": spec.get("topologySpreadConstraints") or []}
    for kind in ("podAffinity", "podAntiAffinity"):
        part = affinity.get(kind) or {}
        terms = [item.get("podAffinityTerm") or {} for item in part.get(PREFERRED) or []]
        found[f"affinity.{kind}"] = [*(part.get(REQUIRED) or []), *terms]
    used = sorted({(path, item.get("topologyKey", "")) for path, items in found.items() for item in items})
    why = "a label that only nodes of the nested cluster have, and that the host cluster's scheduler does not know"
    keys = find_keys(nodes)
    return [f"`spec.{path}` has the topology key '{key}', {why}" for path, key in used if key in keys]


def find_keys(nodes: Nodes) -> set[str]:
    return {key for node in nodes.values() for key in node.own.labels}


def _resolve_term(term: Object, demands: Iterable[Object], closed: set[str], keys: set[str], nodes: Nodes) -> Iterator[Object]:
    own, rest = _split(term, keys)
    choice = _Choice(banned=set(closed))
    for item in (*demands, *own):
        choice.narrow(item, nodes)
    yield from choice.write(rest)


def _resolve_wish(term: Object, keys: set[str], nodes: Nodes) -> Iterator[Object]:
    """A preference. One that holds for all nodes is none."""
    own, rest = _split(term, keys)
    choice = _Choice()
    for item in own:
        choice.narrow(item, nodes)
    if not own:
        yield term
    elif choice.allowed is not None or choice.banned or rest:
        yield from choice.write(rest)


def _split(term: Object, keys: set[str]) -> tuple[list[Object], Object]:
    """The requirements about the tenant's own labels, and the rest of the term."""
    expressions = term.get("matchExpressions") or []
    rest = [item for item in expressions if item["key"] not in keys]
    left = {key: value for key, value in term.items() if key != "matchExpressions"} | ({"matchExpressions": rest} if rest else {})
    return [item for item in expressions if item["key"] in keys], left


def _find_closed(spec: Object, nodes: Nodes, *, hard: bool) -> Iterator[str]:
    """The nodes whose own taints the pod does not tolerate; `hard`: those that keep it away, not those that only might."""
    tolerations = spec.get("tolerations") or []
    for name, node in nodes.items():
        taints = [item for item in node.own.taints if (item.get("effect") != "PreferNoSchedule") is hard]
        taints += [CORDONED] if hard and node.own.is_cordoned else []
        if any(not any(tolerates(item, taint) for item in tolerations) for taint in taints):
            yield name


def _holds(requirement: Object, name: str, node: NestedNode) -> bool:
    return is_met({"matchExpressions": [requirement]}, Room(name, dict(node.labels), (), {}))


def _name(operator: str, name: str) -> Object:
    return {"key": "metadata.name", "operator": operator, "values": [name]}
