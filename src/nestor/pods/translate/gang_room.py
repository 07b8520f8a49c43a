"""Whether nodes have room for pods: first fit, by what the pods request and which nodes they may use. Pure.

It answers whether all of some pods could get nodes at the same moment. Rules about other pods (affinity, spread, host ports) are
not looked at: the scheduler decides in the end.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from nestor.api.objects import Object, labels_of, spec_of, status_of
from nestor.api.pod_status import is_terminal
from nestor.api.quantities import parse_quantity
from nestor.pods.translate import labels
from nestor.pods.translate.node_rules import list_required

Amounts = dict[str, Decimal]

_KIND_EFFORT, _TEXT_EFFORT = 4, 32
"""What it takes to see whether amounts fit a node; characters of demands on nodes that take as much as one of these steps."""
_ZERO = Decimal(0)


@dataclass(frozen=True)
class Room:
    name: str
    labels: dict[str, str]
    taints: Sequence[Object]
    free: Amounts


@dataclass(frozen=True)
class Fit:
    """How pods would be placed."""

    count: int
    """How many of them have room."""
    rooms: dict[str, Room]
    """The nodes with what is left then, by name."""


def find_used(pods: Iterable[Object]) -> dict[str, Amounts]:
    """What pods reserve on each node, by its name."""
    used: dict[str, Amounts] = {}
    for pod in pods:
        node = spec_of(pod).get("nodeName")
        if node and not is_terminal(pod):
            add(used.setdefault(node, {}), measure(pod))
    return used


def find_rooms(nodes: Iterable[Object], pods: Iterable[Object]) -> dict[str, Room]:
    """The nodes that take pods, by name, with what their pods leave."""
    used, rooms = find_used(pods), {}
    for node in nodes:
        name, spec = node["metadata"]["name"], spec_of(node)
        if not spec.get("unschedulable"):
            free = {key: parse_quantity(str(value)) for key, value in (status_of(node).get("allocatable") or {}).items()}
            left = {key: amount - used.get(name, {}).get(key, _ZERO) for key, amount in free.items()}
            rooms[name] = Room(name, labels_of(node), spec.get("taints") or [], left)
    return rooms


def fit(pods: Sequence[Object], rooms: dict[str, Room], *, where: Sequence[Object] = ()) -> Fit:
    """Place as many of the pods as possible, the largest first, on the nodes whose labels meet `where`."""
    left = dict(rooms)
    open_to = [name for name, room in rooms.items() if not where or is_met({"matchExpressions": where}, room)]
    count, verdicts = 0, dict[str, dict[str, bool]]()
    for (demands, _), alike in sorted(_group(pods).items(), key=lambda item: _find_size(item[1][0]), reverse=True):
        count += _place(alike, left, open_to, verdicts.setdefault(demands, {}))
    return Fit(count, left)


def find_effort(pods: Iterable[Object]) -> int:
    """How much there is to do for each node to place these pods, in steps of about a microsecond."""
    kinds = _group(pods)
    return _KIND_EFFORT * len(kinds) + sum(len(demands) // _TEXT_EFFORT for demands in {demands for demands, _ in kinds})


def _place(alike: list[Object], rooms: dict[str, Room], names: list[str], verdicts: dict[str, bool]) -> int:
    """Place pods of one kind, and take what they request from the rooms. Returns for how many there was room.

    `verdicts`: of which nodes it is known whether such pods may run there.
    """
    wanted, missing = measure(alike[0]), len(alike)
    for name in names:
        room = rooms[name]
        if not missing:
            break
        if name not in verdicts:
            verdicts[name] = may_run(alike[0], room)
        if verdicts[name] and (taken := min(missing, _count(wanted, room.free))):
            left = {key: amount - taken * wanted.get(key, _ZERO) for key, amount in room.free.items()}
            rooms[name] = Room(name, room.labels, room.taints, left)
            missing -= taken
    return len(alike) - missing


def _count(wanted: Amounts, free: Amounts) -> int:
    return max(0, min(int(free.get(key, _ZERO) / amount) for key, amount in wanted.items() if amount > 0))


def _group(pods: Iterable[Object]) -> dict[tuple[str, str], list[Object]]:
    """Pods of one kind together: by what they demand of nodes, and what they request."""
    kinds: dict[tuple[str, str], list[Object]] = {}
    for pod in pods:
        spec = pod["spec"]
        amounts = {key: str(value.normalize()) for key, value in measure(pod).items()}
        demands = [spec.get("nodeSelector"), spec.get("tolerations"), list_required(spec)]
        kinds.setdefault((json.dumps(demands, sort_keys=True), json.dumps(amounts, sort_keys=True)), []).append(pod)
    return kinds


def _find_size(pod: Object) -> tuple[bool, Decimal, Decimal]:
    wanted = measure(pod)
    return any("/" in key for key in wanted), wanted.get("cpu", _ZERO), wanted.get("memory", _ZERO)


def measure(pod: Object) -> Amounts:
    """What the scheduler reserves for the pod, the pod itself included."""
    spec = pod["spec"]
    total: Amounts = {}
    for container in spec.get("containers") or []:
        add(total, _read(container))
    beside: Amounts = {}
    most: Amounts = {}
    for container in spec.get("initContainers") or []:
        own = _read(container)
        if container.get("restartPolicy") == "Always":
            add(beside, own)
            own = dict(beside)
        else:
            add(own, beside)
        most = {key: max(most.get(key, _ZERO), own.get(key, _ZERO)) for key in most.keys() | own.keys()}
    add(total, beside)
    result = {key: max(total.get(key, _ZERO), most.get(key, _ZERO)) for key in total.keys() | most.keys()}
    result |= _read(spec)
    add(result, {key: parse_quantity(str(value)) for key, value in (spec.get("overhead") or {}).items()})
    return result | {"pods": Decimal(1)}


def _read(part: Object) -> Amounts:
    """The requests of a container or pod; a limit alone is the request as well."""
    resources = part.get("resources") or {}
    said = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {key: parse_quantity(str(value)) for key, value in said.items()}


def add(total: Amounts, more: Amounts) -> None:
    for key, amount in more.items():
        total[key] = total.get(key, _ZERO) + amount


def may_run(pod: Object, room: Room) -> bool:
    spec = pod["spec"]
    if any(room.labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    hard = [taint for taint in room.taints if taint.get("effect") in ("NoSchedule", "NoExecute")]
    if not all(any(tolerates(item, taint) for item in spec.get("tolerations") or []) for taint in hard):
        return False
    terms = list_required(spec)
    return not terms or any(is_met(term, room) for term in terms)


def tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def is_met(term: Object, room: Room) -> bool:
    """Whether the node meets a term of a node selector. One without requirements is met by no node."""
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    names = {"metadata.name": room.name}
    return all(_holds(item, room.labels) for item in expressions) and all(_holds(item, names) for item in fields)


def _holds(item: Object, found: dict[str, str]) -> bool:
    key, operator, values = item["key"], item["operator"], item.get("values") or []
    if operator in ("Gt", "Lt"):
        try:
            there, bound = int(found[key]), int(values[0])
        except (KeyError, ValueError, IndexError):
            return False
        return there > bound if operator == "Gt" else there < bound
    return labels.holds(item, found)
