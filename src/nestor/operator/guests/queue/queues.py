"""The queues of all classes: who runs, who waits, whom a change concerns, and what passes over jobs are told."""

from collections.abc import Iterable
from dataclasses import replace

from nestor.api import conditions
from nestor.api.class_choice import find_class_name
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object
from nestor.api.times import timestamp
from nestor.kube import Change, kinds
from nestor.kube.serving.pages import Family, Samples
from nestor.operator.admission.identity import Denial, JobIdentity, Refused
from nestor.operator.guest import Guest
from nestor.operator.guests.queue.decide import Wait, decide, explain_crowd, explain_line, explain_own_pods
from nestor.operator.guests.queue.entry import Entry, Said, find_limits, find_since, read_entry
from nestor.operator.lifecycle.record import is_running, was_stopped
from nestor.operator.lifecycle.suspend import is_quiet
from nestor.operator.world.context import Context
from nestor.operator.world.ownership import is_managed_elsewhere

Policies = dict[str, NestedClassSpec]


class Queue(Guest):
    """Holds jobs back until there is room in their class and namespace.

    Jobs are noted as they change; what follows is worked out for all of them together, at the beginning of the next pass over any
    job. By then every list has been read: an operator that has just started lets nobody in before it knows who runs.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._jobs = context.cache.jobs
        self._entries: dict[str, Entry] = {}
        self._members: dict[str, set[str]] = {}
        """UIDs by class."""
        self._waits: dict[str, Wait] = {}
        self._said: dict[str, Said] = {}
        self._noted: dict[str, tuple[str, str]] = {}
        """UIDs of jobs that have changed, each with name and namespace."""
        self._changed: set[str] = set()
        self._asker = ""
        """Who asks at the moment is told by the answer. If it were woken, a job that is refused for another reason, and so gives
        the place back, would be looked at again and again."""
        for job in self._jobs:
            self.note(job)
        context.cache.jobs.on_change(self._note_change)
        context.cache.classes.on_change(self._note_class_change)

    def _note_change(self, change: Change) -> None:
        for job in filter(None, (change.old, change.new)):
            self.note(job)

    def _note_class_change(self, change: Change) -> None:
        if self._context.classes.concerns_jobs(change):
            self.note_class(change.latest["metadata"]["name"])

    def note(self, job: Object) -> None:
        """The job has appeared, changed or gone, or perhaps its pods have."""
        meta = job["metadata"]
        self._noted[meta["uid"]] = (meta["name"], meta["namespace"])

    def note_class(self, name: str) -> None:
        self._changed.add(name)
        for job in self._jobs:
            if not find_class_name(job):  # it may be the default class now, or no longer
                self.note(job)

    async def notice(self, namespace: str, name: str, job: Object | None) -> None:
        """Its pods may have gone, which frees its place."""
        if job is not None:
            self.note(job)
        self.flush()

    async def admit(self, known: JobIdentity) -> Denial | None:
        return self.ask(known)

    def ask(self, known: JobIdentity) -> Denial | None:
        """Let the job run, if it wants to, or say for what it waits. Raises `Refused` if it could never run."""
        if self._said.get(known.uid) != "Given":
            self._said[known.uid] = "Asking"
        self._noted[known.uid] = (known.name, known.namespace)
        self._asker = known.uid
        try:
            self.flush()
        finally:
            self._asker = ""
        policy = self._context.classes.all().get(known.class_name)
        if (entry := self._entries.get(known.uid)) is None or policy is None:
            return None
        if entry.fault:
            raise Refused(*entry.fault)
        wait, limits = self._waits.get(entry.uid), find_limits(policy)
        if wait is not None and wait.is_crowded:
            return Denial(conditions.TOO_MANY_JOBS, explain_crowd(known, policy.max_jobs_per_namespace or 0))
        if entry.is_back and limits:
            return Denial(conditions.QUEUED, explain_own_pods(known.class_name), queue={"since": entry.since})
        if wait is not None:
            place = {"position": wait.position} if wait.position else {}
            message = explain_line(known.class_name, limits, entry, wait)
            return Denial(conditions.QUEUED, message, queue=place | {"since": entry.since})
        return None

    def deny(self, job: Object, denial: Denial) -> Denial:
        """Have a job that is refused by no queue give its place back. One whose AppDef is being read keeps it for a while."""
        uid = job["metadata"]["uid"]
        if denial.status == "False" and denial.reason not in conditions.WAITS:
            self.give_back(uid)
        elif denial.is_stuck:
            self.give_back(uid, is_reading=True)
        elif denial.status == "Unknown" and self._has_place(uid):
            return replace(denial, queue={"since": find_since(job, timestamp())})  # for the next operator
        return denial

    def measure(self) -> Iterable[Family]:
        waiting = {
            name: [wait for uid in uids if (wait := self._waits.get(uid)) and not wait.is_crowded]
            for name, uids in self._members.items()
        }
        names = (item["metadata"]["name"] for item in self._context.cache.classes)
        found: Samples = {(name,): len(waiting.get(name, ())) for name in names}
        yield Family("nestor_class_queue_jobs", "gauge", "Jobs that wait in the queue of their class.", ("class",), found)

    def give_back(self, uid: str, *, is_reading: bool = False) -> None:
        """The job is refused for another reason. `is_reading`: its AppDef is being read, which takes too long. It stays one of
        its namespace's jobs, and comes anew to the line of its class.
        """
        entry, said = self._entries.get(uid), self._said.get(uid)
        if entry is None or said == "Reading" or not (is_reading or said in ("Given", "Asking")):
            return
        self._said[uid] = "Reading" if is_reading else "Refused"
        self._noted[uid] = (entry.name, entry.namespace)
        self.flush()

    def _has_place(self, uid: str) -> bool:
        """Whether it was given a place in a class that has few, which its status does not show before it is admitted."""
        entry = self._entries.get(uid)
        policy = self._context.classes.all().get(entry.class_name) if entry is not None else None
        return self._said.get(uid) == "Given" and policy is not None and bool(find_limits(policy))

    def flush(self) -> None:
        """Work out what follows from all changes, and wake whom it concerns."""
        touched, self._changed = self._changed, set()
        for name in touched:
            for uid in self._members.get(name, ()):
                self._noted.setdefault(uid, (self._entries[uid].name, self._entries[uid].namespace))
        policies = self._context.classes.all()
        while self._noted or touched:
            noted, self._noted = self._noted, {}
            for uid, (name, namespace) in noted.items():
                touched |= self._renew(uid, self._jobs.get(name, namespace), policies)
            for name in touched:
                self._settle(name, policies.get(name))
            touched = set()

    def _renew(self, uid: str, job: Object | None, policies: Policies) -> set[str]:
        """Replace the job's entry. Returns the names of the classes that this concerns."""
        old = self._entries.pop(uid, None)
        is_ours = job is not None and job["metadata"]["uid"] == uid and not is_managed_elsewhere(job)
        new = self._read(job, old, policies) if job is not None and is_ours else None
        if new is None:
            self._said.pop(uid, None)
            self._waits.pop(uid, None)
        else:
            self._entries[uid] = new
        if new == old:
            return set()
        if old is not None:
            self._members[old.class_name].discard(uid)
        if new is not None:
            self._members.setdefault(new.class_name, set()).add(uid)
        return {entry.class_name for entry in (old, new) if entry is not None}

    def _read(self, job: Object, old: Entry | None, policies: Policies) -> Entry:
        uid, default = job["metadata"]["uid"], self._context.classes.default
        name = find_class_name(job, default)
        if old is not None and old.class_name != name:
            self._said.pop(uid, None)
        has_pods = was_stopped(job) and not is_quiet(self._context.cache, job)
        since = old.since if old and old.since else timestamp()
        entry = read_entry(job, policies.get(name), since, self._said.get(uid), has_pods=has_pods, default=default)
        if self._said.get(uid) == "Given" and (entry.state == "Out" or entry.is_ending or is_running(job)):
            del self._said[uid]  # its status shows it, or it no longer wants its place
        return entry

    def _settle(self, name: str, policy: NestedClassSpec | None) -> None:
        """Let in whose turn has come, and wake those who wait for something else than they were last told."""
        uids = self._members.get(name, set())
        if policy is None:
            return  # Nobody knows its limits. Who runs or was let in goes on, who waits waits for the class.
        entries = [self._entries[uid] for uid in uids]
        started, waits = decide(entries, find_limits(policy), policy.max_jobs_per_namespace)
        for entry in entries:
            before, now = self._waits.pop(entry.uid, None), waits.get(entry.uid)
            if now is not None:
                self._waits[entry.uid] = now
            if entry.uid in started:
                self._said[entry.uid] = "Given"
                self._noted[entry.uid] = (entry.name, entry.namespace)
            elif now == before or (now is None and not (before and before.is_crowded and entry.seat == "Waits")):
                continue
            if entry.uid != self._asker:
                self._context.wake(kinds.NESTED_APP_JOB, entry.name, entry.namespace)
