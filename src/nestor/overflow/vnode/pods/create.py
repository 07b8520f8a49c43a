"""Sends pods to the backend, or says why that is not possible."""

import contextlib
import time
from dataclasses import replace

from nestor.api import times
from nestor.api.objects import annotations_of, is_terminating, spec_of
from nestor.api.pod_status import is_terminal
from nestor.kube import ApiError, RetryLater
from nestor.overflow.vnode.backend.health import Health, describe
from nestor.overflow.vnode.pods import status
from nestor.overflow.vnode.pods.entry import Entry
from nestor.overflow.vnode.pods.inputs import fill, read_inputs, read_whole
from nestor.overflow.vnode.pods.trim import find_changeable, find_excess
from nestor.overflow.vnode.pods.writer import PodWriter
from nestor.pods.providers.base import DROPPED, JOB, Backend
from nestor.pods.providers.errors import InvalidInput, NoRoom, NotYet, Rejected, cut

REFUSED, NO_ROOM, NOT_SENT = "BackendRefused", "BackendFull", "BackendUnavailable"
"""Reasons of pods that wait: `kubectl get pods` shows them."""
PATIENCE_SECONDS = 300.0
"""For how long a pod is sent again to a backend that says no without saying whether that will pass; then it counts as refused."""
_FRESH_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


class PodCreator:
    """Creates pods at the backend. A pod's status says so first: none is sent and forgotten, whenever this process ends."""

    def __init__(self, backend: Backend, name: str, address: str, health: Health, writer: PodWriter) -> None:
        self._backend = backend
        self._name = name
        self._address = address
        self._health = health
        self._writer = writer

    async def create(self, entry: Entry) -> None:
        """Send the pod. Raises `RetryLater` or another error if it must be tried again."""
        entry.is_creating = True
        try:
            await self._create(entry)
        except InvalidInput as error:
            await self._refuse(entry, error)
        except RetryLater as later:
            entry.pause_until = max(entry.pause_until, time.monotonic() + later.delay)
            raise
        except NotYet as error:
            await self._wait(entry, NOT_SENT, error.message)
            raise self._pause(entry, error) from None
        except Rejected as error:
            if entry.note_rejected(2 * _LONGEST_PAUSE) > PATIENCE_SECONDS:
                await self._refuse(entry, InvalidInput(error.message))
                return
            await self._wait(entry, REFUSED, error.message)
            raise self._pause(entry, error) from None
        except Exception as error:
            await self._wait(entry, NOT_SENT, error.message if isinstance(error, ApiError) else describe(error))
            raise self._pause(entry, error) from error
        finally:
            entry.is_creating = False

    async def _create(self, entry: Entry) -> None:
        pod = entry.pod
        if pod is None:
            return
        if not entry.mark and (excess := find_excess(pod)):
            raise InvalidInput(excess)
        whole = await read_whole(entry.home, pod)
        if whole is None:
            entry.pause_until = time.monotonic() + _FIRST_PAUSE
            return
        inputs = await read_inputs(entry.home, whole, is_fresh=time.monotonic() - entry.seen < _FRESH_SECONDS)
        inputs = replace(inputs, is_new=not entry.mark)
        sent = status.build_sent(pod, self._address, times.timestamp())
        # Only if nobody else has written it meanwhile: for a while, there may be two processes.
        if not await self._writer.write(entry, sent, is_exclusive=not entry.mark):
            # Nobody could note what is sent now. The watch is about to say that it is gone.
            entry.pause_until = time.monotonic() + _FIRST_PAUSE
            return
        entry.mark, entry.there, entry.missing_since = "Sending", "Unknown", None
        if entry.pod is None or is_terminating(entry.pod) or is_terminal(entry.pod):
            return  # it was deleted meanwhile
        # With the status that was just written: containers may ask for the address of their node.
        filled = fill(whole) | {"status": sent}
        # A pod that lacks something, or cannot be carried, is refused before anything is sent.
        with self._health.noting(NotYet, InvalidInput):
            made = await self._backend.create(filled, inputs)
        entry.mark, entry.there, entry.missing_since = "Accepted", "Present", None
        if inputs.is_new:  # otherwise an earlier request may have created it, from what the pod was then
            entry.carried = find_changeable(whole)
        entry.failures, entry.waits_for_room = 0, False
        await self._writer.write(entry, status.build_report(entry.last, entry.remote or {}, self._address, times.timestamp()))
        if dropped := annotations_of(made).get(DROPPED):
            told = f"Annotations that backend '{self._name}' does not allow (`interlink.allowedAnnotations`): {cut(dropped)}"
            await self._writer.tell(entry, "Warning", "FieldsIgnored", told)
        job = annotations_of(made).get(JOB)
        await self._writer.tell(entry, "Normal", "Accepted", f"Accepted by backend '{self._name}'" + f" as job {job}" * bool(job))

    async def _refuse(self, entry: Entry, error: InvalidInput) -> None:
        """A pod that its owner would replace at once stays, and is tried again: rules change, and it may be bounced."""
        policy = spec_of(entry.last).get("restartPolicy", "Always")
        entry.mark, entry.there = "", "Unknown"
        if not isinstance(error, NoRoom) and policy != "Always":
            entry.refusal = error.message
            return
        await self._wait(entry, NO_ROOM if isinstance(error, NoRoom) else REFUSED, error.message, is_rejected=True)
        raise self._pause(entry, error) from error

    async def _wait(self, entry: Entry, reason: str, message: str, *, is_rejected: bool = False) -> None:
        """Say why the pod waits: in its status, and in an event if that is news."""
        entry.waits_for_room = reason == NO_ROOM
        desired = status.build_waiting(entry.last, reason, message, times.timestamp(), is_rejected=is_rejected)
        with contextlib.suppress(RetryLater):  # the next attempt says it
            await self._writer.write(entry, desired)
        await self._writer.tell_news(entry, reason, message)

    def _pause(self, entry: Entry, error: Exception) -> RetryLater:
        """Remember when to try again: news about the pod, such as its own status, must not bring that forward."""
        entry.failures += 1
        delay = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(entry.failures - 1, 10))
        entry.pause_until = time.monotonic() + delay
        return RetryLater(delay, describe(error))
