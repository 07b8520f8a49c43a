"""Writes the status of host pods, and events about them, as the node that they are on."""

import logging
import time
from typing import Literal

from nestor.api.objects import Object
from nestor.api.pod_status import is_terminal
from nestor.kube import Api, ApiError, Conflict, NotFound, RetryLater, kinds
from nestor.kube.events import EventRecorder
from nestor.kube.pace import Buckets, Pace, Rate
from nestor.overflow.vnode.pods.entry import Entry
from nestor.overflow.vnode.pods.trim import find_size
from nestor.pods.translate.status import build_patch, find_dropped, without_fields

log = logging.getLogger(__name__)

COMPONENT = "nestor-vnode"
REPEAT_SECONDS = 2.0
"""The same status is not written again sooner: the cache may lag, or an API server keep a field in its own way."""
_CONFLICT_SECONDS = 0.2
WRITES = Rate(per_second=50, burst=20_000)
"""Writes of all pods. A backend may tell something else each time it is asked, and the API server's store keeps each change, with
the whole pod, for five minutes: together half a gigabyte, of two. The burst lets five thousand pods start, or end, at full speed.
"""
BYTES = Rate(per_second=1024 * 1024, burst=32 * 1024 * 1024)
"""Of those whose pods are large."""
POD_WRITES = Rate(per_second=0.1, burst=20)
"""Writes of one pod, but for its last."""
TELL_SECONDS = 300.0
"""Between two events with the same reason about one pod, if their texts differ."""
_SMALL_BYTES, _EVENT_BYTES = 16 * 1024, 2 * 1024


class PodWriter:
    """Writes by UID, so that a successor with the same name is never touched. One for all nodes of the process."""

    def __init__(self) -> None:
        self._pace = Pace(WRITES, BYTES, _SMALL_BYTES)
        self._of_pods: Buckets[str] = Buckets(POD_WRITES)
        self._dropped: set[str] = set()
        """Status fields that the API server is too old for."""

    async def write(self, entry: Entry, desired: Object, *, is_exclusive: bool = False) -> bool:
        """Patch the pod's status if it differs. False: the pod is gone, and needs none. Raises `ApiError`, `RetryLater`.

        `is_exclusive`: only if the pod is still as it is known; otherwise later, when it is known again.
        """
        if entry.pod is None:
            return False
        patch = build_patch(entry.last, without_fields(desired, self._dropped))
        if patch is None:
            return True
        if patch == entry.written and time.monotonic() - entry.written_at < REPEAT_SECONDS:
            raise RetryLater(REPEAT_SECONDS, "the same status was written just now")
        self._check_pace(entry, is_last=is_terminal({"status": desired}))
        meta = entry.last["metadata"]
        if is_exclusive:
            patch["metadata"]["resourceVersion"] = meta["resourceVersion"]
        try:
            answer = await entry.home.api.patch(
                kinds.POD, meta["name"], meta["namespace"], patch, subresource="status", how="strategic"
            )
            self._dropped |= find_dropped(patch, answer)
            entry.written, entry.written_at = patch, time.monotonic()
        except NotFound:
            return False  # another event follows
        except Conflict as error:
            if not error.is_replaced:
                raise RetryLater(_CONFLICT_SECONDS, error.message) from None
            return False
        except ApiError as error:
            if not error.is_replaced:
                raise
            return False
        return True

    def _check_pace(self, entry: Entry, *, is_last: bool) -> None:
        """Count this write. Raises `RetryLater` if there are too many."""
        now = time.monotonic()
        wait = 0 if is_last else self._of_pods.find_wait(entry.uid, now)
        wait = wait or self._pace.find_wait(find_size(entry.last), now)
        if wait:
            raise RetryLater(wait, "too many writes")
        self._of_pods.take(entry.uid, now)

    async def delete(self, entry: Entry) -> None:
        """Delete the host pod for good, as kubelets do when its containers have ended."""
        meta = entry.last["metadata"]
        await entry.home.api.delete(kinds.POD, meta["name"], meta["namespace"], uid=entry.uid, grace_seconds=0)

    async def tell(self, entry: Entry, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Post an event about the pod, unless too much is written."""
        await self._tell(entry.home.api, entry.last, kind, reason, message)

    async def tell_news(self, entry: Entry, reason: str, message: str) -> None:
        """Warn of what is so for a while: once. A backend may put anything into its words, such as a number that grows, so that a
        new text is no news at once; a later call tells it then. No text: it is over.
        """
        before, at = entry.told.get(reason, ("", -TELL_SECONDS))
        if not message:
            entry.told[reason] = "", at
        elif message != before and time.monotonic() - at >= TELL_SECONDS:
            entry.told[reason] = message, time.monotonic()
            await self.tell(entry, "Warning", reason, message)

    async def tell_of_node(self, api: Api, name: str, reason: str, message: str) -> None:
        """Post an event about a node: it outlives pods and their namespaces. Kubelets give a node's name as its UID."""
        node: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}}
        await self._tell(api, node, "Warning", reason, message)

    async def _tell(self, api: Api, about: Object, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        if self._pace.find_wait(_EVENT_BYTES, time.monotonic()):
            log.info("event %s about %s is not posted, because too much is written", reason, about["metadata"]["name"])
            return
        await EventRecorder(api, COMPONENT).post(about, kind, reason, message)
