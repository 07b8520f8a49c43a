"""The queues for pods: a change in the host cluster or at the backend queues its UID. Creations have a queue of their own."""

import logging
import time
from collections.abc import Awaitable, Callable

from nestor.api import times
from nestor.api.contracts.vnode import BOUNCED
from nestor.api.objects import Object
from nestor.api.pod_status import is_terminal
from nestor.kube import RetryLater, WorkQueue
from nestor.overflow.vnode.backend.health import Health, describe
from nestor.overflow.vnode.pods import status
from nestor.overflow.vnode.pods.change import PodChanger
from nestor.overflow.vnode.pods.create import REFUSED, PodCreator
from nestor.overflow.vnode.pods.decide import FORGET_SECONDS, ORPHAN_SECONDS, Action, decide, find_due
from nestor.overflow.vnode.pods.entry import LOST, Entry
from nestor.overflow.vnode.pods.registry import Registry
from nestor.overflow.vnode.pods.status import Ending
from nestor.overflow.vnode.pods.writer import PodWriter
from nestor.pods.providers.base import Backend
from nestor.pods.providers.errors import NotFound, NotYet

log = logging.getLogger(__name__)

_WORKERS = 20
_RETRY_LIMIT = 30.0
_SILENT_SECONDS = 11.0
"""Until a backend that says nothing of a pod is asked again. Some answer from a memory of ten."""
_STEPS = 5
"""Actions in a row on one pod; each depends on the one before."""
DECLINED, EXPIRED, KILLED = "DaemonSetPod", "DeadlineExceeded", "Deleted"
LEFT, SILENT = "LeftAtBackend", "BackendSilent"
_DAEMON = "Virtual nodes run no pods of DaemonSets: exclude the node by an affinity, or do not tolerate its taint"
_GONE = "The backend does not know the pod any more"
_OVER = "Pod was active on the node longer than the specified deadline"
_ENDED = "The pod was deleted before its end was known"


class PodController:
    """Looks at a pod, decides and acts. Level-triggered: late or repeated runs do no harm."""

    def __init__(self, backend: Backend, name: str, address: str, health: Health) -> None:
        self._backend = backend
        self._name = name
        self._address = address
        self._health = health
        self._writer = PodWriter()
        self._creator = PodCreator(backend, name, address, health, self._writer)
        self._changer = PodChanger(backend, name, health, self._writer)
        self._bounced: list[Callable[[str, float], None]] = []
        self.queue: WorkQueue[str] = WorkQueue(
            self._reconcile, workers=_WORKERS, name="pods", first_delay=0.5, max_delay=_RETRY_LIMIT
        )
        self.registry = Registry(self.queue.add)
        # Apart, because a slow backend would otherwise let the pods that run wait for those that are to be created.
        self.creations: WorkQueue[str] = WorkQueue(
            self._create, workers=_WORKERS, name="pod-creations", first_delay=0.5, max_delay=_RETRY_LIMIT
        )
        health.on_change(self.look_at_all)
        self._acts: dict[Action, Callable[[Entry], Awaitable[None]]] = {
            "Report": self._report,
            "Confirm": self._confirm,
            "Decline": self._decline,
            "Refuse": lambda entry: self._fail(entry, Ending(REFUSED, entry.refusal)),
            "Lose": self._lose,
            "Withdraw": self._withdraw,
            "Bounce": self._bounce,
            "Expire": lambda entry: self._fail(entry, Ending(EXPIRED, _OVER)),
            "Delete": self._delete,
            "Forget": lambda entry: self._let_go(entry, Ending(KILLED, _ENDED)),
            "ForceForget": self._force,
            "Name": self._name_left,
            "Abandon": self._abandon,
        }

    def on_bounce(self, handler: Callable[[str, float], None]) -> None:
        """Call `handler` with the node of each pod that was taken back for want of room, and the seconds that it had waited."""
        self._bounced.append(handler)

    def look_at_all(self) -> None:
        """The backend begins or stops to answer."""
        for entry in self.registry:
            self.queue.add(entry.uid)

    async def _reconcile(self, uid: str) -> float | None:
        done: object = None
        for _ in range(_STEPS):
            entry = self.registry.get(uid)
            if entry is None:
                return None
            facts = entry.read_facts(is_answering=self._health.is_answering)
            action = decide(facts)
            if action == "Drop":
                self.registry.drop(uid)
                return None
            if action == "Create":
                self.creations.add(uid, max(0.0, entry.pause_until - time.monotonic()))
            # Decided anew after each act: time has passed meanwhile, too.
            if action not in self._acts or (action, entry.progress) == done:
                return min((due for due in (find_due(facts), self._changer.find_due(entry)) if due is not None), default=None)
            done = action, entry.progress
            await self._acts[action](entry)
        return 0.0

    async def _create(self, uid: str) -> None:
        entry = self.registry.get(uid)
        if entry is None or decide(entry.read_facts(is_answering=self._health.is_answering)) != "Create":
            return
        try:
            await self._creator.create(entry)
        finally:
            self.queue.add(uid)

    async def _report(self, entry: Entry) -> None:
        await self._write_report(entry)
        await self._changer.carry(entry)

    async def _confirm(self, entry: Entry) -> None:
        try:
            await self._ask(entry)
        except NotYet as error:
            await self._writer.tell_news(entry, SILENT, error.message)
            raise RetryLater(_SILENT_SECONDS, error.message) from None
        await self._write_report(entry)

    async def _delete(self, entry: Entry) -> None:
        await self._end(entry)
        await self._write_report(entry)

    async def _withdraw(self, entry: Entry) -> None:
        """The newest status decides: what has started by now stays."""
        await self._ask(entry)
        if entry.there == "Gone" or not status.has_started(entry.last, entry.remote or {}):
            # Also what it does not know: it may have forgotten the pod for a moment, or be about to accept it.
            await self._end(entry, grace=0)
        await self._write_report(entry)

    async def _decline(self, entry: Entry) -> None:
        waiting = status.build_waiting(entry.last, DECLINED, _DAEMON, times.timestamp(), is_rejected=False)
        await self._writer.write(entry, waiting)
        await self._writer.tell_news(entry, DECLINED, _DAEMON)

    async def _lose(self, entry: Entry) -> None:
        log.warning("the backend has lost pod %s", _describe(entry))
        await self._fail(entry, Ending(LOST, _GONE, is_disrupted=True, is_gone=False))
        entry.note_lost()
        try:
            await self._backend.delete(entry.last, grace_seconds=0)
        except Exception as error:  # it may not know the pod, or have said nothing of one that runs
            log.info("the backend does not end pod %s: %s", _describe(entry), describe(error))

    async def _bounce(self, entry: Entry) -> None:
        facts = entry.read_facts(is_answering=self._health.is_answering)
        message = f"Backend '{self._name}' has not started the pod within {facts.pending_seconds or 0:.0f} s"
        log.info("pod %s is taken back", _describe(entry))
        is_full = entry.waits_for_room if entry.remote is None else status.lacks_room(entry.remote)
        for handler in self._bounced if is_full else ():
            handler(entry.home.node, facts.pending_seconds or 0)
        await self._fail(entry, Ending(BOUNCED, message, is_disrupted=True))

    async def _force(self, entry: Entry) -> None:
        if not entry.is_named:
            await self._writer.tell(entry, "Warning", LEFT, self._describe_left(entry))
            # Its namespace may be about to go, and takes no events then.
            await self._name_left(entry)
        await self._let_go(entry, Ending(KILLED, _ENDED, is_gone=False))

    async def _name_left(self, entry: Entry) -> None:
        """Tell of the node that the pod may be left at the backend."""
        await self._tell_left(entry, self._describe_left(entry))
        entry.is_named = True

    async def _abandon(self, entry: Entry) -> None:
        hours = ORPHAN_SECONDS / 3600
        await self._tell_left(entry, f"{self._describe_left(entry)}; after {hours:.0f} h, it is not asked to end any more")
        self.registry.drop(entry.uid)

    async def _end(self, entry: Entry, grace: int | None = None) -> None:
        """Ask the backend to end the pod, and whether it has."""
        seconds = entry.grace if grace is None else grace
        with self._health.noting():
            await self._backend.delete(entry.last, grace_seconds=seconds)
        entry.asked, entry.asked_at = seconds, time.monotonic()
        if is_terminal(entry.last) or entry.has_ended_there:
            entry.note_gone()  # nothing of it runs, whatever the backend remembers
        else:
            await self._ask(entry)

    async def _ask(self, entry: Entry) -> None:
        """Ask the backend whether it still has the pod; note what it says."""
        try:
            with self._health.noting():
                found = await self._backend.get(entry.last)
        except NotFound:
            entry.note_gone()
        else:
            entry.note_status(found.get("status") or {})

    async def _write_report(self, entry: Entry) -> None:
        """Write what the backend says, unless the pod has ended here, or is gone there."""
        if entry.pod is None or entry.is_over or is_terminal(entry.pod) or entry.remote is None or entry.there != "Present":
            return
        await self._writer.write(entry, status.build_report(entry.pod, entry.remote, self._address, times.timestamp()))
        entry.mark = "Accepted"

    async def _fail(self, entry: Entry, ending: Ending) -> None:
        """End a pod whose containers run nowhere any more. Its owner makes another one."""
        if entry.pod is None:
            return
        await self._writer.write(entry, status.build_ended(entry.pod, None, ending, times.timestamp()))
        await self._writer.tell(entry, "Warning", ending.reason, ending.message)
        entry.is_over = True
        if ending.is_gone:
            entry.mark = ""

    async def _let_go(self, entry: Entry, ending: Ending) -> None:
        """Tell how the pod has ended, then delete the host pod.

        Pods with finalizers (those of Jobs) stay until their controller has read that status.
        """
        pod = entry.pod
        if pod is None or entry.is_forgotten or _is_held(pod):
            return
        if not is_terminal(pod):
            await self._writer.write(entry, status.build_ended(pod, entry.remote, ending, times.timestamp()))
        if ending.is_gone:
            entry.mark = ""
        await self._writer.delete(entry)
        entry.is_forgotten = True

    def _describe_left(self, entry: Entry) -> str:
        return (
            f"Backend '{self._name}' has not confirmed the end of the pod within {FORGET_SECONDS:.0f} s; "
            f"it may still run there (UID {entry.uid})"
        )

    async def _tell_left(self, entry: Entry, message: str) -> None:
        """Its node may be gone, and with it the client that acts as this node."""
        log.warning("pod %s: %s", _describe(entry), message)
        node = entry.home.node
        api = self.registry.find_api(node) or self.registry.find_api("")
        if api is not None:
            await self._writer.tell_of_node(api, node, LEFT, f"pod {_describe(entry)}: {message}")


def _describe(entry: Entry) -> str:
    meta = entry.last["metadata"]
    return f"{meta['namespace']}/{meta['name']}"


def _is_held(pod: Object) -> bool:
    """Whether everything was done before, and a finalizer of someone else holds it."""
    meta = pod["metadata"]
    return bool(meta.get("deletionGracePeriodSeconds") == 0 and meta.get("finalizers") and is_terminal(pod))
