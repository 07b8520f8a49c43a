"""Traces of how jobs started, in OpenTelemetry's words: made from what their status remembers, once it is known how it went.

So no span is open while a job starts, which may take hours and several operators. All IDs follow from the job's UID: an operator
that sends a trace again after a restart repeats it, and adds nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Protocol

from nestor import times
from nestor.api import conditions
from nestor.objects import Object
from nestor.values import dataclass

log = logging.getLogger(__name__)

RECENT_SECONDS = 900
"""Of jobs that have started longer ago, nothing is sent: an operator that begins does not repeat its predecessors' days."""
END_SECONDS = 5.0
"""How long what was not sent yet may take at the end of the process."""
ROOT = "job start"

Value = str | int


@dataclass(frozen=True)
class Span:
    """One span. Times are seconds since 1970; `parent` is another span's name, `error` why it failed."""

    name: str
    begin: float
    end: float
    parent: str = ROOT
    attributes: Mapping[str, Value] = field(default_factory=dict)
    error: str = ""


class Sender(Protocol):
    """Who sends traces, in the background."""

    def send(self, uid: str, spans: Sequence[Span]) -> None:
        """The trace of the job with that UID; each span after its parent."""

    def close(self) -> None:
        """Send what is left; blocks."""


def plan_trace(job: Object, status: Object) -> list[Span]:
    """The spans of a job that has become ready, or ended before; the first one is the root. None as long as neither is so."""
    timings = status.get("timings") or {}
    end = timings.get(conditions.READY.timing) or status.get("completionTime")
    if not end:
        return []
    meta = job["metadata"]
    created, started = meta["creationTimestamp"], status.get("startTime") or meta["creationTimestamp"]
    has_started = conditions.READY.timing in timings
    said = conditions.find(status.get("conditions"), conditions.SUCCEEDED) or {}
    about: dict[str, Value] = {
        "nestor.job.name": meta["name"],
        "nestor.job.uid": meta["uid"],
        "k8s.namespace.name": meta["namespace"],
        "nestor.class": status.get("className") or "",
        "nestor.kubernetes.version": status.get("kubernetesVersion") or "",
    }
    error = "" if has_started else str(said.get("reason") or "NotReady")
    spans = [Span(ROOT, _read(created), max(_read(created), _read(end)), "", about, error)]
    begins = {conditions.ADMITTED: created, conditions.STEPS_APPLIED: _find_first_step(status) or started}
    for stage in conditions.STAGES:
        if reached := timings.get(stage.timing):
            begin = min(begins.get(stage, max(started, created)), reached)
            spans.append(Span(stage, _read(begin), _read(reached)))
    return [*spans, *_plan_steps(status, has_stage=conditions.STEPS_APPLIED.timing in timings)]


def _plan_steps(status: Object, *, has_stage: bool) -> list[Span]:
    parent = conditions.STEPS_APPLIED if has_stage else ROOT
    return [
        Span(
            f"step {step['name']}",
            _read(step["startTime"]),
            max(_read(step["startTime"]), _read(step["completionTime"])),
            parent,
            {"nestor.step.type": step.get("type") or "", "nestor.step.attempts": step.get("attempt", 0)},
            "failed" if step.get("state") == "Failed" else "",
        )
        for step in status.get("steps") or ()
        if step.get("startTime") and step.get("completionTime")
    ]


def _find_first_step(status: Object) -> str | None:
    return min((step["startTime"] for step in status.get("steps") or () if step.get("startTime")), default=None)


def _read(time: str) -> float:
    return times.read(time).timestamp()


def derive_id(uid: str, name: str, size: int) -> int:
    """An ID of so many bytes, never 0: of a span by its name, of a trace by none."""
    return int.from_bytes(hashlib.sha256(f"{uid}/{name}".encode()).digest()[:size], "big") or 1


class Traces:
    """Sends each recent job's trace once, if there is somebody to send it to."""

    def __init__(self, sender: Sender | None = None) -> None:
        self._sender = sender
        self._sent: dict[str, float] = {}
        """When each job's start was over, by UID; those that are no longer recent are forgotten."""

    def note(self, job: Object, status: Object) -> None:
        """The job's status is this now, in this pass or since an earlier one."""
        uid = job["metadata"]["uid"]
        if self._sender is None or uid in self._sent:
            return
        spans, oldest = plan_trace(job, status), times.now().timestamp() - RECENT_SECONDS
        if not spans or spans[0].end < oldest:
            return
        self._sent = {known: end for known, end in self._sent.items() if end >= oldest} | {uid: spans[0].end}
        self._sender.send(uid, spans)

    async def close(self) -> None:
        """Send what was not sent yet, or give it up."""
        if self._sender is None:
            return
        ended = asyncio.Event()
        # None of asyncio's own threads: before it ends, a process waits for all of those.
        work = partial(_close, self._sender, asyncio.get_running_loop(), ended)
        threading.Thread(target=work, name="traces", daemon=True).start()
        try:
            async with asyncio.timeout(END_SECONDS):
                await ended.wait()
        except TimeoutError:
            log.warning("the last traces could not be sent within %.0f s", END_SECONDS)


def _close(sender: Sender, loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    try:
        sender.close()
    except Exception:
        log.exception("the last traces could not be sent")
    with contextlib.suppress(RuntimeError):  # the loop has ended before
        loop.call_soon_threadsafe(ended.set)
