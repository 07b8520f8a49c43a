"""Carries later changes of host pods to the backend: labels, annotations, images, deadlines, debug containers, resources."""

from __future__ import annotations

import time
from collections.abc import Iterator

from nestor.api.objects import Object, annotations_of, labels_of
from nestor.kube import RetryLater
from nestor.overflow.statuses import MESSAGE_LIMIT
from nestor.overflow.vnode.backend.health import Health
from nestor.overflow.vnode.pods.entry import TELL_SECONDS, Entry
from nestor.overflow.vnode.pods.inputs import read_whole
from nestor.overflow.vnode.pods.trim import NO_DEBUG, find_changeable, find_excess
from nestor.overflow.vnode.pods.writer import PodWriter
from nestor.pods.providers.base import Backend, Part, Patches
from nestor.pods.providers.errors import InvalidInput, NotFound, NotYet, cut

REFUSED = "PodUpdateRefused"
"""Reason of the event about a change that the backend does not take, as where a pod's own API server does not."""
RETRY_SECONDS = 60.0
"""How long after a refusal the same change is tried again: quotas there may have been raised."""

_NOT_YET_SECONDS = 1.0
_DEBUG = "ephemeralContainers"


class PodChanger:
    """Level-triggered: what differs from the pod at the backend is sent. A process that is new compares once."""

    def __init__(self, backend: Backend, name: str, health: Health, writer: PodWriter) -> None:
        self._backend = backend
        self._name = name
        self._health = health
        self._writer = writer

    async def carry(self, entry: Entry) -> None:
        """Bring the pod at the backend up to date. What is refused is told, and tried again (`find_due`).

        Raises `RetryLater` and `ProviderError`.
        """
        pod = entry.pod
        if pod is None or entry.mark != "Accepted" or entry.there != "Present" or entry.has_ended_there:
            return
        wanted = find_changeable(pod)
        if wanted == entry.carried or (wanted == entry.rejected and time.monotonic() < entry.rejected_until):
            return
        patches = self._backend.patches
        try:
            if excess := find_excess(pod):
                refused = [excess]
            else:
                refused = await self._send(patches, entry, pod) if patches else list(self._find_impossible(entry, wanted))
        except NotFound:
            return  # the next answer about all pods tells
        except NotYet as error:
            raise RetryLater(_NOT_YET_SECONDS, error.message) from None
        if refused and patches:
            entry.rejected, entry.rejected_until = wanted, time.monotonic() + RETRY_SECONDS
        else:
            entry.carried, entry.rejected = wanted, None
        await self._tell(entry, cut("; ".join(refused), MESSAGE_LIMIT))

    async def _tell(self, entry: Entry, message: str) -> None:
        """Tell once. Of a refusal whose text changes all the time, as that of a quota, not more often than of other problems."""
        now = time.monotonic()
        if message and (message == entry.told_change or now - entry.told_at.get(REFUSED, -TELL_SECONDS) < TELL_SECONDS):
            return  # what is not told now is told at a later attempt
        entry.told_change = message
        if message:
            entry.told_at[REFUSED] = now
            await self._writer.tell(entry, "Warning", REFUSED, message)

    def find_due(self, entry: Entry) -> float | None:
        """Seconds until a refused change is tried again. None: there is none."""
        left = entry.rejected_until - time.monotonic()
        return left if entry.rejected is not None and left > 0 else None

    async def _send(self, patches: Patches, entry: Entry, kept: Object) -> list[str]:
        """Send what differs. Returns why some of it is refused; the rest does not depend on it."""
        refused: list[str] = []
        pod = await read_whole(entry.home, kept)
        if pod is None:
            return refused  # the watch is about to say that it is gone
        with self._health.noting():
            there = await self._backend.get(pod)
        for part, patch in build_patches(pod, there):
            try:
                with self._health.noting():
                    await patches.patch(pod, patch, part)
            except InvalidInput as error:
                refused.append(error.message)
        return refused

    def _find_impossible(self, entry: Entry, wanted: Object) -> Iterator[str]:
        """What the owner has to be told at a backend that cannot change pods. Labels and annotations are nobody's loss."""
        before = entry.carried or wanted | {"debug": NO_DEBUG}
        if (before["spec"], before["debug"]) != (wanted["spec"], wanted["debug"]):
            yield f"Backend '{self._name}' cannot change pods that run there: the pod stays unchanged"


def build_patches(pod: Object, there: Object) -> Iterator[tuple[Part, Object]]:
    """Strategic merge patches from the pod as the backend has it (`there`) to the host pod, with the part that each is of.

    Each kind of change is one of its own, and so is each debug container: one that is refused must not hold up others.
    """
    own, known = pod["spec"], there["spec"]
    gone = dict.fromkeys(labels_of(there).keys() - labels_of(pod).keys())
    plain: Object = {"metadata": {"labels": {**labels_of(pod), **gone}, "annotations": annotations_of(pod)}}
    yield "", plain
    if images := _compare(own, known, "image"):
        yield "", {"spec": images}
    deadline = own.get("activeDeadlineSeconds")
    if deadline is not None and deadline != known.get("activeDeadlineSeconds"):
        yield "", {"spec": {"activeDeadlineSeconds": deadline}}
    names = {item["name"] for item in known.get(_DEBUG) or []}
    for item in own.get(_DEBUG) or []:
        if item["name"] not in names:
            yield "ephemeralcontainers", {"spec": {_DEBUG: [item]}}
    sizes = _compare(own, known, "resources")
    if own.get("resources") and own["resources"] != known.get("resources"):
        sizes["resources"] = own["resources"]
    if sizes:
        yield "resize", {"spec": sizes}


def _compare(own: Object, known: Object, field: str) -> Object:
    result: Object = {}
    for group in ("containers", "initContainers"):
        before = {item["name"]: item.get(field) for item in known.get(group) or []}
        items = [item for item in own.get(group) or [] if item.get(field) and item[field] != before.get(item["name"])]
        if items:
            result[group] = [{"name": item["name"], field: item[field]} for item in items]
    return result
