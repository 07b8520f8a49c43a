"""What the enforcer knows of the cluster: from watches, from single reads, and from the CNI plugin. Safe for threads."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from devcluster.cluster.policies import objects
from devcluster.cluster.policies.objects import Pod
from devcluster.cluster.policies.world import World

REMEMBERED = 2000
Object = dict[str, Any]


class Known(Protocol):
    """What a store holds."""

    @property
    def uid(self) -> str:
        """Of the object."""


T = TypeVar("T", bound=Known)


class Kind(Generic[T]):
    """The objects of one kind by uid, each in its newest version. Not safe for threads by itself."""

    def __init__(self, read: Callable[[Object], T | None]) -> None:
        self._read = read
        self._versions: dict[str, int] = {}
        self._deleted: OrderedDict[str, None] = OrderedDict()
        self.items: dict[str, T] = {}

    def put(self, item: Object) -> bool:
        """Take over an object, unless a newer version of it is known or it is gone; whether that changes anything."""
        uid, version = item["metadata"]["uid"], int(item["metadata"]["resourceVersion"])
        if uid in self._deleted or version <= self._versions.get(uid, -1):
            return False
        self._versions[uid] = version
        before, now = self.items.get(uid), self._read(item)
        if now is None:
            self.items.pop(uid, None)
        else:
            self.items[uid] = now
        return before != now

    def remove(self, uid: str) -> bool:
        """Forget an object for ever; whether that changes anything."""
        self._deleted[uid] = None
        if len(self._deleted) > REMEMBERED:
            self._deleted.popitem(last=False)
        self._versions.pop(uid, None)
        return self.items.pop(uid, None) is not None

    def replace(self, items: list[Object], version: int) -> None:
        """At `version`, there were these and no others."""
        there = {item["metadata"]["uid"] for item in items}
        for uid in [uid for uid, own in self._versions.items() if own <= version and uid not in there]:
            self.remove(uid)
        for item in items:
            self.put(item)


class Store:
    """Everything, and whether the rules still have to follow."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._pods = Kind(objects.read_pod)
        self._namespaces = Kind(objects.read_namespace)
        self._policies = Kind(objects.read_policy)
        self._claims: dict[str, tuple[str, ...]] = {}
        self._listed: set[str] = set()
        self._revision = self._applied = 0

    def replace(self, kind: str, items: list[Object], version: int) -> None:
        """All objects of a kind (`pods`, `namespaces` or `networkpolicies`) as they were at `version`."""
        with self._condition:
            self._kind(kind).replace(items, version)
            self._listed.add(kind)
            self._touch()

    def change(self, kind: str, event: str, item: Object) -> None:
        """One event of a watch."""
        with self._condition:
            if event != "DELETED":
                changed = self._kind(kind).put(item)
            else:
                self._claims.pop(item["metadata"]["uid"], None)
                changed = self._kind(kind).remove(item["metadata"]["uid"])
            if changed:
                self._touch()

    def claim(self, uid: str, addresses: tuple[str, ...]) -> int:
        """A pod has got these addresses, which the API server will say only later; the revision that covers it."""
        with self._condition:
            self._claims[uid] = addresses
            self._touch()
            return self._revision

    def release(self, uid: str) -> None:
        """A pod has lost its addresses, whatever its status says."""
        with self._condition:
            if uid in self._claims:
                self._claims[uid] = ()
                self._touch()

    def take(self, timeout: float | None = None) -> tuple[int, World] | None:
        """Wait until something has changed, return the cluster as it is now. None when nothing changes in time."""
        with self._condition:
            if not self._condition.wait_for(lambda: len(self._listed) == 3 and self._revision > self._applied, timeout):
                return None
            return self._revision, self._world()

    def done(self, revision: int) -> None:
        """The rules are those of `revision`."""
        with self._condition:
            self._applied = max(self._applied, revision)
            self._condition.notify_all()

    def wait_applied(self, revision: int, timeout: float) -> bool:
        """Whether the rules follow up to `revision` in time."""
        with self._condition:
            return self._condition.wait_for(lambda: self._applied >= revision, timeout)

    def _kind(self, kind: str) -> Kind[Any]:
        kinds: dict[str, Kind[Any]] = {"pods": self._pods, "namespaces": self._namespaces, "networkpolicies": self._policies}
        return kinds[kind]

    def _touch(self) -> None:
        self._revision += 1
        self._condition.notify_all()

    def _world(self) -> World:
        pods = place(list(self._pods.items.values()), self._claims)
        return World(pods, self._namespaces.items.values(), self._policies.items.values())


def place(pods: list[Pod], claims: dict[str, tuple[str, ...]]) -> list[Pod]:
    """The pods where the CNI plugin says that they are. The status of others counts, but for addresses that others have."""
    holders = {address: uid for uid, addresses in claims.items() for address in addresses}
    found: list[Pod] = []
    for pod in pods:
        addresses = claims.get(pod.uid)
        if addresses is None:
            addresses = tuple(address for address in pod.addresses if holders.get(address, pod.uid) == pod.uid)
        found.append(pod if addresses == pod.addresses else pod.at(addresses))
    return found
