"""All pods of all virtual nodes of this process, by UID, with what this process remembers of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from nestor import times
from nestor.api import labels
from nestor.kube import Api, Change, Informer
from nestor.objects import Object, annotations_of, is_terminating, owners_of, spec_of, status_of
from nestor.translate.status import is_terminal
from nestor.vnode.pods import status
from nestor.vnode.pods.decide import Facts, Mark, There


@dataclass(frozen=True)
class Home:
    """The virtual node of a pod, and the client that acts as this node."""

    node: str
    shape: str
    api: Api


@dataclass
class Entry:
    """One pod. Times are of the monotonic clock: that of the API server may differ from ours."""

    home: Home
    pod: Object | None
    last: Object
    """The newest state of the host pod, the last one before its deletion included."""
    seen: float = field(default_factory=time.monotonic)
    ending_since: float | None = None
    """When it was first seen terminating."""
    mark: Mark = ""
    """What was written last, which the cache may not show yet."""
    there: There = "Unknown"
    remote: Object | None = None
    """The last status at the backend."""
    missing_since: float | None = None
    asked: int | None = None
    """Grace period of the last request to end it, in seconds."""
    is_creating: bool = False
    refusal: str = ""
    """Why the backend cannot run it, if trying again would not help."""
    is_over: bool = False
    """Its final status was written."""
    is_forgotten: bool = False
    """Its deletion was requested; only finalizers of others keep it."""
    gone_since: float | None = None
    """When the host pod vanished."""
    pause_until: float = 0
    """When it may be sent again after a failure."""
    failures: int = 0
    told: str = ""
    """The last problem that its owner was told."""
    written: Object | None = None
    """The last patch of its status, and when that was written."""
    written_at: float = 0

    @property
    def uid(self) -> str:
        """UID of the host pod, by which the backend knows it too."""
        uid: str = self.last["metadata"]["uid"]
        return uid

    @property
    def grace(self) -> int:
        """Seconds that its containers may take to end."""
        asked = self.last["metadata"].get("deletionGracePeriodSeconds")
        if asked is not None:
            return int(asked)
        return 0 if self.pod is None else int(spec_of(self.pod).get("terminationGracePeriodSeconds", 30))

    @property
    def has_ended_there(self) -> bool:
        """Its last status at the backend is final."""
        return self.remote is not None and is_terminal({"status": self.remote})

    def note_status(self, found: Object) -> bool:
        """Note the status at the backend. True if it is another one than before."""
        is_new = self.there != "Present" or self.remote != found
        self.there, self.remote, self.missing_since = "Present", found, None
        return is_new

    def note_gone(self) -> None:
        """Note that the backend does not know the pod."""
        self.there = "Gone"

    def read_facts(self, *, is_answering: bool) -> Facts:
        """What `decide` needs to know."""
        now, pod = time.monotonic(), self.pod
        own = status_of(self.last)
        return Facts(
            pod,
            self.mark,
            self.there,
            has_started=status.has_started(self.last, own) or status.has_started(self.last, self.remote or {}),
            has_ended_there=self.has_ended_there,
            is_answering=is_answering,
            is_creating=self.is_creating,
            is_over=self.is_over,
            was_asked=self.asked is not None and self.asked <= self.grace,
            is_declined=is_declined(self.last),
            is_refused=bool(self.refusal),
            missing=None if self.missing_since is None else now - self.missing_since,
            waited=self._find_wait(now),
            pending_seconds=_read_limit(self.last),
            expires=_find_expiry(self.last),
            overdue=self._find_overdue(now),
        )

    def _find_wait(self, now: float) -> float:
        """Seconds since the pod was sent or, before that, since it was first seen."""
        start = status_of(self.last).get("startTime")
        return max(0.0, times.seconds_since(start)) if self.mark and start else now - self.seen

    def _find_overdue(self, now: float) -> float:
        if self.gone_since is not None:
            return now - self.gone_since
        return now - self.ending_since - self.grace if self.ending_since is not None else 0


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
        """The node is gone, and with it all of its pods."""
        self._homes.pop(node, None)
        for uid in [uid for uid, entry in self._entries.items() if entry.home.node == node]:
            self.drop(uid)

    def get(self, uid: str) -> Entry | None:
        """The pod with that UID, or None."""
        return self._entries.get(uid)

    def drop(self, uid: str) -> None:
        """Forget a pod."""
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
        """How many pods of the node have not ended."""
        return sum(
            1
            for entry in self._entries.values()
            if entry.home.node == node and entry.pod is not None and not is_terminal(entry.pod)
        )

    def adopt(self, entry: Entry) -> None:
        """Remember a pod that was found at the backend."""
        self._entries.setdefault(entry.uid, entry)
        self._on_change(entry.uid)

    @property
    def homes(self) -> list[Home]:
        """The nodes that are followed."""
        return [home for home, _ in self._homes.values()]

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes whose pods are all known."""
        return frozenset(node for node, (_, pods) in self._homes.items() if pods.synced.is_set())

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
            entry.mark = status.read_mark(pod)
        entry.pod = entry.last = pod
        if entry.ending_since is None and is_terminating(pod):
            entry.ending_since = time.monotonic()

    def _remove(self, pod: Object) -> None:
        entry = self._entries.get(_uid(pod))
        if entry is not None:
            entry.pod, entry.last, entry.gone_since = None, pod, time.monotonic()
            self._on_change(entry.uid)


def is_declined(pod: Object) -> bool:
    """Whether no virtual node runs such pods: a DaemonSet's belong to a machine."""
    return any(owner.get("kind") == "DaemonSet" and owner.get("controller") for owner in owners_of(pod))


def build_entry(home: Home, pod: Object) -> Entry:
    """An entry for a pod whose host pod is gone."""
    return Entry(home, None, pod, mark="Accepted", there="Present", gone_since=time.monotonic())


def _uid(pod: Object) -> str:
    uid: str = pod["metadata"]["uid"]
    return uid


def _read_limit(pod: Object) -> float | None:
    text = annotations_of(pod).get(labels.PENDING_SECONDS, "")
    return float(text) if text.isdecimal() and 0 < len(text) < 10 else None


def _find_expiry(pod: Object) -> float | None:
    """Seconds until the pod's activeDeadlineSeconds are over."""
    seconds, start = spec_of(pod).get("activeDeadlineSeconds"), status_of(pod).get("startTime")
    return seconds - times.seconds_since(start) if seconds is not None and start else None
