"""Gangs, and the nodes that they wait for."""

from typing import Any

from nestor.api.data import read
from nestor.api.objects import Object
from nestor.api.observed import GangStatus
from nestor.api.placement import Placement
from nestor.operator.guests.gangs.decide import Rooms
from nestor.operator.guests.gangs.observe import Seen
from nestor.pods.translate.gang import GATE
from nestor.pods.translate.gang_room import find_rooms
from tests.unit.operator.builders import ago

HOME = "nestor-team-a-hello"
RULES: Object = {"gang": {}, "overflow": {"backends": [{"name": "hpc"}, {"name": "cloud", "weight": 90}]}}


def member(
    gang: str,
    number: int,
    *,
    size: int = 3,
    cpu: str = "1",
    age: float = 60,
    node: str = "",
    released: int = 0,
    phase: str = "Pending",
    home: str = HOME,
    **spec: Any,
) -> Object:
    """A host pod of a gang, held unless it was `released` in a round."""
    notes = {"nestor.dev/gang-name": f"shop/{gang}", "nestor.dev/gang-size": str(size)}
    if released:
        notes["nestor.dev/gang-round"] = str(released)
    marks = {"app.kubernetes.io/managed-by": "nestor", "nestor.dev/cluster": "hello", "nestor.dev/gang": gang}
    meta = {"name": f"{gang}-{number}", "namespace": home, "labels": marks, "annotations": notes, "creationTimestamp": ago(age)}
    own = {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], "tolerations": [{"operator": "Exists"}]}
    own |= {} if released else {"schedulingGates": [GATE]}
    return {"metadata": meta, "spec": own | ({"nodeName": node} if node else {}) | spec, "status": {"phase": phase}}


def node(name: str, cpu: str, backend: str = "", **own: str) -> Object:
    """A node, perhaps a backend's."""
    labels = {"kubernetes.io/hostname": name, **own} | ({"nestor.dev/backend": backend} if backend else {})
    free = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {"allocatable": free}}


def seen(gang: str, *pods: Object, entry: GangStatus | None = None, home: str = HOME, rules: Object | None = None) -> Seen:
    return Seen(home, "hello", gang, pods, read(Placement, RULES if rules is None else rules), entry)


def held(gang: str, count: int, **more: Any) -> list[Object]:
    return [member(gang, number, **more) for number in range(count)]


def rooms(*nodes: Object, pods: tuple[Object, ...] = ()) -> Rooms:
    """Nodes, and what their pods leave."""
    return Rooms(list(nodes), find_rooms(nodes, pods))
