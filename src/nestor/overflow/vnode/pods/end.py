"""Ends pods: first at the backend, then in the host cluster."""

from __future__ import annotations

import time

from nestor.api import times
from nestor.api.objects import Object
from nestor.overflow.vnode.backend.health import Health
from nestor.overflow.vnode.pods import status
from nestor.overflow.vnode.pods.entry import Entry
from nestor.overflow.vnode.pods.status import Ending
from nestor.overflow.vnode.pods.writer import PodWriter
from nestor.pods.providers.base import Backend
from nestor.pods.providers.errors import NotFound
from nestor.pods.translate.status import is_terminal


class PodEnder:
    """Ends pods by UID."""

    def __init__(self, backend: Backend, address: str, health: Health, writer: PodWriter) -> None:
        self._backend = backend
        self._address = address
        self._health = health
        self._writer = writer

    async def delete(self, entry: Entry, grace: int | None = None) -> None:
        """Ask the backend to end the pod, and whether it has."""
        seconds = entry.grace if grace is None else grace
        with self._health.noting():
            await self._backend.delete(entry.last, grace_seconds=seconds)
        entry.asked, entry.asked_at = seconds, time.monotonic()
        if is_terminal(entry.last) or entry.has_ended_there:
            entry.note_gone()  # nothing of it runs, whatever the backend remembers
        else:
            await self.confirm(entry)

    async def confirm(self, entry: Entry) -> None:
        """Ask the backend whether it still has the pod; note what it says."""
        try:
            with self._health.noting():
                found = await self._backend.get(entry.last)
        except NotFound:
            entry.note_gone()
        else:
            entry.note_status(found.get("status") or {})

    async def report(self, entry: Entry) -> None:
        """Write what the backend says, unless the pod has ended here, or is gone there."""
        if entry.pod is None or entry.is_over or is_terminal(entry.pod) or entry.remote is None or entry.there != "Present":
            return
        await self._writer.write(entry, status.build_report(entry.pod, entry.remote, self._address, times.timestamp()))
        entry.mark = "Accepted"

    async def fail(self, entry: Entry, ending: Ending) -> None:
        """End a pod whose containers run nowhere any more. Its owner makes another one."""
        if entry.pod is None:
            return
        await self._writer.write(entry, status.build_ended(entry.pod, None, ending, times.timestamp()))
        await self._writer.tell(entry, "Warning", ending.reason, ending.message)
        entry.is_over = True
        if ending.is_gone:
            entry.mark = ""

    async def forget(self, entry: Entry, ending: Ending) -> None:
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


def _is_held(pod: Object) -> bool:
    """Whether everything was done before, and a finalizer of someone else holds it."""
    meta = pod["metadata"]
    return bool(meta.get("deletionGracePeriodSeconds") == 0 and meta.get("finalizers") and is_terminal(pod))
