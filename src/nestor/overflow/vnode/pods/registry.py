"""All pods of all virtual nodes of this process, by UID."""

import time
from collections.abc import Callable, Iterator

from nestor.api.objects import Object, is_terminating
from nestor.api.pod_status import is_terminal
from nestor.kube import Api, Change, Informer
from nestor.overflow.vnode.pods import status
from nestor.overflow.vnode.pods.entry import Entry, Home


class Registry:
    """Entries by UID. `on_change` is called with the UID of each pod that has changed."""

    def __init__(self, on_change: Callable[[str], None]) -> None:
        self._on_change = on_change
        self._entries: dict[str, Entry] = {}
        self._homes: dict[str, tuple[Home, Informer]] = {}

    def watch(self, home: Home, pods: Informer) -> None:
        """Follow the pods of one node. Call it before the informer runs."""
        self._homes[home.node] = home, pods
        pods.on_change(lambda change: self._take(home, change))

    def leave(self, node: str) -> None:
        """The node is gone, and with it all of its pods. Those whose host pods were gone before are still to be ended."""
        self._homes.pop(node, None)
        for uid in [uid for uid, entry in self._entries.items() if entry.home.node == node and entry.pod is not None]:
            self.drop(uid)

    def get(self, uid: str) -> Entry | None:
        return self._entries.get(uid)

    def drop(self, uid: str) -> None:
        self._entries.pop(uid, None)

    def find(self, namespace: str, name: str) -> Entry | None:
        """The pod of that name, on whichever node; None if there is none."""
        for _, pods in self._homes.values():
            if (pod := pods.get(name, namespace)) is not None:
                return self._entries.get(pod["metadata"]["uid"])
        return None

    def find_api(self, node: str) -> Api | None:
        """A client that acts as this node, or as any if `node` is empty."""
        for home, _ in self._homes.values():
            if node in ("", home.node):
                return home.api
        return None

    def count_active(self, node: str) -> int:
        return sum(
            1
            for entry in self._entries.values()
            if entry.home.node == node and entry.pod is not None and not is_terminal(entry.pod)
        )

    def adopt(self, entry: Entry) -> None:
        self._entries.setdefault(entry.uid, entry)
        self._on_change(entry.uid)

    @property
    def homes(self) -> list[Home]:
        return [home for home, _ in self._homes.values()]

    def is_complete(self, nodes: frozenset[str]) -> bool:
        """Whether the pods of all these nodes are known, and there are any nodes."""
        known = {node for node, (_, pods) in self._homes.items() if pods.synced.is_set()}
        return bool(nodes) and nodes == known

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)

    def _take(self, home: Home, change: Change) -> None:
        if change.new is not None and change.old is not None and _uid(change.old) != _uid(change.new):
            self._remove(change.old)
        if change.new is None:
            self._remove(change.latest)
        else:
            self._put(home, change.new)
        self._on_change(_uid(change.latest))

    def _put(self, home: Home, pod: Object) -> None:
        entry = self._entries.get(_uid(pod))
        if entry is None:
            entry = self._entries[_uid(pod)] = Entry(home, pod, pod)
        if not entry.mark and entry.can_adopt_mark:
            entry.mark = status.read_mark(pod)
        entry.pod = entry.last = pod
        if entry.ending_since is None and is_terminating(pod):
            entry.ending_since = time.monotonic()

    def _remove(self, pod: Object) -> None:
        entry = self._entries.get(_uid(pod))
        if entry is not None:
            entry.pod, entry.last, entry.gone_since = None, pod, time.monotonic()
            self._on_change(entry.uid)


def _uid(pod: Object) -> str:
    uid: str = pod["metadata"]["uid"]
    return uid
