"""How much of what the backend offers is taken, and by which pod. Pure."""

from collections.abc import Mapping
from decimal import Decimal

from devcluster.plugin.refusals import Refused
from devcluster.plugin.spec import quantity
from devcluster.plugin.switches import Resources
from nestor.api.objects import Object
from nestor.api.quantities import parse_quantity

Devices = dict[str, dict[str, list[int]]]
NATIVE = ("cpu", "memory", "ephemeral-storage", "hugepages-")


class Room:
    """The resources that are given out."""

    def __init__(self) -> None:
        self._taken: dict[str, tuple[Object, Devices]] = {}

    def take(self, uid: str, pod: Object, offered: Resources) -> Devices | None:
        """The pod's accelerators, by container and type; None when there is no room for the pod now. Repeated calls change
        nothing."""
        if uid in self._taken:
            return self._taken[uid][1]
        pods = [*(taken for taken, _ in self._taken.values()), pod]
        for name, limit in (("cpu", offered.cpu), ("memory", offered.memory)):
            if sum(requested(item, name) for item in pods) > parse_quantity(limit):
                return None
        devices = self._find_devices(pod, offered)
        if devices is None or len(pods) > parse_quantity(offered.pods):
            return None
        self._taken[uid] = (pod, devices)
        return devices

    def restore(self, uid: str, pod: Object, devices: Devices) -> None:
        """Note what a pod had before a restart."""
        self._taken[uid] = (pod, devices)

    def release(self, uid: str) -> None:
        """Give back what a pod had; harmless when it had nothing."""
        self._taken.pop(uid, None)

    def _find_devices(self, pod: Object, offered: Resources) -> Devices | None:
        free = {name: set(range(count)) - self._devices_in_use(name) for name, count in offered.accelerators.items()}
        found: Devices = {}
        for container in pod["spec"]["containers"]:
            for name, count in accelerators(container).items():
                if count > len(free.get(name, ())):
                    return None
                numbers = sorted(free[name])[:count]
                free[name].difference_update(numbers)
                found.setdefault(container["name"], {})[name] = numbers
        return found

    def _devices_in_use(self, name: str) -> set[int]:
        return {
            number for _, devices in self._taken.values() for types in devices.values() for number in types.get(name, [])
        }  # fmt: skip


def check(pod: Object, offered: Resources) -> None:
    """Raise `Refused` for a pod that would never fit."""
    wanted: dict[str, int] = {}
    for container in pod["spec"]["containers"]:
        for name, count in accelerators(container).items():
            wanted[name] = wanted.get(name, 0) + count
    for name, count in wanted.items():
        if count > offered.accelerators.get(name, 0):
            raise Refused(f"the pod wants {count} of {name}, this backend has {offered.accelerators.get(name, 0)}")
    for name, limit in (("cpu", offered.cpu), ("memory", offered.memory)):
        if requested(pod, name) > parse_quantity(limit):
            raise Refused(f"the pod wants {requested(pod, name)} of {name}, this backend has {limit}")


def accelerators(container: Object) -> dict[str, int]:
    """Extended resources that a container wants."""
    found = {name: quantity(value) for name, value in _resources(container, "limits").items() if not name.startswith(NATIVE)}
    return {name: int(count) for name, count in found.items()}


def requested(pod: Object, name: str) -> Decimal:
    """What a pod's containers request together; a limit counts where no request is given. Init containers run before them and
    share what they get, so the largest counts where it is larger."""

    def of(container: Object) -> Decimal:
        given = {**_resources(container, "limits"), **_resources(container, "requests")}
        return quantity(given.get(name))

    spec = pod["spec"]
    largest = max((of(item) for item in spec.get("initContainers") or []), default=Decimal(0))
    return max(largest, sum((of(item) for item in spec["containers"]), Decimal(0)))


def _resources(container: Object, kind: str) -> Mapping[str, str]:
    return (container.get("resources") or {}).get(kind) or {}
