"""The queues of all classes: who runs, who waits, and whom a change concerns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from nestor import times
from nestor.api import conditions
from nestor.api.class_choice import FALLBACK, find_class_name
from nestor.api.nestedclass import NestedClassSpec
from nestor.objects import Object
from nestor.operator.admission.identity import JobIdentity, Refused
from nestor.operator.queueing.entry import Entry, Marks, is_running, read_entry, was_stopped
from nestor.operator.queueing.line import Line
from nestor.operator.queueing.needs import find_limits
from nestor.operator.queueing.room import Room
from nestor.operator.queueing.words import explain_line, explain_own_pods, explain_room


@dataclass
class _Class:
    """What is known of one class's jobs."""

    policy: NestedClassSpec | None = None
    line: Line = field(default_factory=Line)
    rooms: dict[str, Room] = field(default_factory=dict)
    uids: set[str] = field(default_factory=set)
    head: object = None
    """What the job that is next was last told."""


class Jobs(Protocol):
    """The jobs that there are."""

    def get(self, name: str, namespace: str) -> Object | None:
        """One of them."""

    def __iter__(self) -> Iterator[Object]:
        """All of them."""


class Queues:
    """One for all classes. `wake` is called with namespace and name of each job that should be looked at again.

    Jobs are noted as they change; what follows is worked out for all of them together, at the beginning of the next pass over any
    job. By then every list has been read: an operator that has just started lets nobody in before it knows who runs.
    """

    def __init__(
        self,
        jobs: Jobs,
        find_classes: Callable[[], dict[str, NestedClassSpec]],
        wake: Callable[[str, str], None] = lambda namespace, name: None,
        find_default: Callable[[], str] = lambda: FALLBACK,
        is_quiet: Callable[[Object], bool] = lambda job: True,
    ) -> None:
        """`jobs`: all that there are, as far as they are known; `find_default`: the class of those that name none; `is_quiet`:
        whether the pods of a job that was stopped are gone.
        """
        self._jobs, self._find_classes, self.wake, self._find_default = jobs, find_classes, wake, find_default
        self._is_quiet = is_quiet
        self._classes: dict[str, _Class] = {}
        self._entries: dict[str, Entry] = {}
        self._noted: dict[str, tuple[str, str]] = {}
        """UIDs of jobs that have changed, each with name and namespace."""
        self._changed: set[str] = set()
        """Classes that have changed."""
        self._given: set[str] = set()
        self._let_in: set[str] = set()
        self._asking: dict[str, bool] = {}
        self._reading: set[str] = set()
        """Who has given back the place in its class, though not the one in its namespace, until its AppDef is read."""
        self._entered: set[str] = set()
        """Who has come to the line of its class from that of its namespace."""
        self._asker = ""
        """Who asks at the moment is told by the answer. If it were woken, a job that is refused for another reason, and so gives
        the place back, would be looked at again and again."""
        self._told: dict[str, int] = {}
        """What each waiting job was last told: its position, or, as a negative number, how many more its namespace has."""
        for job in jobs:
            self.note(job)

    def note(self, job: Object) -> None:
        """The job has appeared, changed or gone, or perhaps its pods have."""
        meta = job["metadata"]
        self._noted[meta["uid"]] = (meta["name"], meta["namespace"])

    def count_waiting(self) -> dict[str, int]:
        """How many jobs wait in each class's queue."""
        return {name: len(found.line.waiting) for name, found in self._classes.items()}

    def note_class(self, name: str) -> None:
        """The class has appeared, changed or gone."""
        self._changed.add(name)
        for job in self._jobs:
            if not find_class_name(job):  # it may be the default class now, or no longer
                self.note(job)

    def take(self, known: JobIdentity) -> None:
        """Let the job run, if it wants to. Raises `Refused` if it has to wait, or could never run."""
        self._asking[known.uid] = True
        self._reading.discard(known.uid)
        if (there := self._classes.get(known.class_name)) and there.policy is None:
            self._changed.add(known.class_name)
        self._noted[known.uid] = (known.name, known.namespace)
        self._asker = known.uid
        try:
            self.flush()
        finally:
            self._asker = ""
        if (entry := self._entries.get(known.uid)) is None:
            return
        found = self._classes[entry.class_name]
        if entry.fault:
            raise Refused(*entry.fault)
        room = found.rooms[entry.namespace]
        if not room.has_room(entry):
            self._told[entry.uid] = -room.count_surplus(entry)
            raise Refused(conditions.TOO_MANY_JOBS, explain_room(known, room.limit or 0, room.count_ahead(entry)))
        if entry.is_back and found.line.limits:
            self._told.pop(entry.uid, None)
            raise Refused(conditions.QUEUED, explain_own_pods(known.class_name), queue={"since": entry.since})
        if entry.uid in found.line.waiting:
            position = self._told[entry.uid] = found.line.find_position(entry.uid)
            raise Refused(
                conditions.QUEUED,
                explain_line(known.class_name, found.line, entry, position),
                queue={"position": position, "since": entry.since},
            )
        if entry.room == "Waits":
            self._let_in.add(entry.uid)
            self._noted[entry.uid] = (entry.name, entry.namespace)

    def give_back(self, uid: str, *, is_reading: bool = False) -> None:
        """The job is refused for another reason. `is_reading`: its AppDef is being read, which takes too long. It stays one of
        its namespace's jobs, and comes anew to the line of its class.
        """
        entry = self._entries.get(uid)
        if entry is None or uid in self._reading or not (is_reading or self._asking.get(uid)):
            return
        if is_reading:
            self._reading.add(uid)
            self._let_in.add(uid)
        else:
            self._asking[uid] = False
            self._let_in.discard(uid)
        self._given.discard(uid)
        self._noted[uid] = (entry.name, entry.namespace)
        self.flush()

    def has_place(self, uid: str) -> bool:
        """Whether it was given a place in a class that has few, which its status does not show before it is admitted."""
        entry = self._entries.get(uid)
        return uid in self._given and entry is not None and bool(self._classes[entry.class_name].line.limits)

    def flush(self) -> None:
        """Work out what follows from all changes, and wake whom it concerns."""
        if not self._noted and not self._changed:
            return
        policies, touched = self._find_classes(), self._changed
        self._changed = set()
        for name in touched:
            self._renew_class(name, policies)
        while self._noted:
            noted, self._noted = self._noted, {}
            for uid, (name, namespace) in noted.items():
                touched |= self._renew(uid, self._jobs.get(name, namespace), policies)
            for name in touched:
                self._settle(self._classes[name])
            touched = set()

    def _renew_class(self, name: str, policies: dict[str, NestedClassSpec]) -> None:
        found = self._classes.setdefault(name, _Class())
        found.policy = policies.get(name)
        found.line.limits = find_limits(found.policy) if found.policy else {}
        for room in found.rooms.values():
            self._place(found, room, room.set_limit(_find_room_limit(found.policy)))
        for uid in found.uids:
            entry = self._entries[uid]
            self._noted.setdefault(uid, (entry.name, entry.namespace))

    def _renew(self, uid: str, job: Object | None, policies: dict[str, NestedClassSpec]) -> set[str]:
        """Replace the job's entry. Returns the names of the classes that this concerns."""
        old = self._entries.get(uid)
        new = self._read(job, old, policies) if job is not None and job["metadata"]["uid"] == uid else None
        if new is None:
            self._forget(uid)
        if new == old:
            return set()
        for name in {item.class_name for item in (old, new) if item is not None} - self._classes.keys():
            self._renew_class(name, policies)
        if old is not None and new is not None and old.is_at_home_with(new):
            self._entries[uid], found = new, self._classes[new.class_name]
            self._place(found, found.rooms[new.namespace], {uid})
            return {new.class_name}
        touched = set()
        if old is not None:
            found = self._classes[old.class_name]
            found.uids.discard(uid)
            found.line.drop(uid)
            room = found.rooms[old.namespace]
            self._place(found, room, room.remove(old))
            touched.add(old.class_name)
        if new is not None:
            self._entries[uid], found = new, self._classes[new.class_name]
            found.uids.add(uid)
            room = found.rooms.setdefault(new.namespace, Room(_find_room_limit(found.policy)))
            self._place(found, room, room.add(new) | {uid})
            touched.add(new.class_name)
        return touched

    def _read(self, job: Object, old: Entry | None, policies: dict[str, NestedClassSpec]) -> Entry:
        uid, default = job["metadata"]["uid"], self._find_default()
        name = find_class_name(job, default)
        policy = policies.get(name)
        if old is not None and old.class_name != name:
            self._given.discard(uid)
            self._let_in.discard(uid)
        has_pods = was_stopped(job) and not self._is_quiet(job)
        marks = Marks(uid in self._given, uid in self._let_in, self._asking.get(uid), uid in self._reading, has_pods)
        entry = read_entry(job, policy, old.since if old and old.since else times.timestamp(), marks, default)
        if entry.state == "Out" or entry.is_ending or is_running(job):
            self._given.discard(uid)
        return entry

    def _forget(self, uid: str) -> None:
        self._entries.pop(uid, None)
        self._told.pop(uid, None)
        self._asking.pop(uid, None)
        for marked in (self._given, self._let_in, self._reading, self._entered):
            marked.discard(uid)

    def _place(self, found: _Class, room: Room, uids: set[str]) -> None:
        """Put these jobs where their entries say."""
        for uid in uids:
            if (entry := self._entries.get(uid)) is None:
                continue
            if entry.state == "Holds":
                found.line.hold(uid, entry.needs, is_ending=entry.is_ending)
            elif entry.state == "Waits" and room.has_room(entry):
                found.line.wait(entry)
                if self._told.get(uid, 0) < 0:
                    self._entered.add(uid)
            else:
                found.line.drop(uid)
                if entry.room == "Waits" and self._told.get(uid, -1) >= 0:
                    self._tell(uid, -room.count_surplus(entry))
        for uid, surplus in room.list_next():
            if self._told.get(uid, -surplus) != -surplus:
                self._tell(uid, -surplus)

    def _settle(self, found: _Class) -> None:
        if found.policy is None:
            return  # Nobody knows its limits. Who runs or was let in goes on, who waits waits for the class.
        line = found.line
        for uid in line.start():
            self._given.add(uid)
            self._tell(uid, 0)
            self._noted[uid] = (self._entries[uid].name, self._entries[uid].namespace)
        for uid in {*line.list_moved(self._told), *(self._entered & line.waiting.keys())}:
            self._tell(uid, line.find_position(uid))
        self._entered -= found.uids
        head = (line.order[:1], line.free, len(line.ending))
        if head != found.head and line.order:
            found.head = head
            self._tell(line.order[0][1], 1)

    def _tell(self, uid: str, position: int) -> None:
        self._told[uid] = position
        if uid != self._asker:
            self.wake(self._entries[uid].namespace, self._entries[uid].name)


def _find_room_limit(policy: NestedClassSpec | None) -> int | None:
    return policy.max_jobs_per_namespace if policy else None
