"""Writes the status of host pods, and events about them, as the node that they are on."""

from __future__ import annotations

import time
from typing import Literal

from nestor.kube import Api, ApiError, Conflict, NotFound, RetryLater, kinds
from nestor.kube.events import EventRecorder
from nestor.objects import Object
from nestor.translate.status import build_patch, find_dropped, without_fields
from nestor.vnode.pods.entry import Entry

COMPONENT = "nestor-vnode"
REPEAT_SECONDS = 2.0
"""The same status is not written again sooner: the cache may lag, or an API server keep a field in its own way."""
_CONFLICT_SECONDS = 0.2


class PodWriter:
    """Writes by UID, so that a successor with the same name is never touched."""

    def __init__(self) -> None:
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

    async def delete(self, entry: Entry) -> None:
        """Delete the host pod for good, as kubelets do when its containers have ended."""
        meta = entry.last["metadata"]
        await entry.home.api.delete(kinds.POD, meta["name"], meta["namespace"], uid=entry.uid, grace_seconds=0)

    async def tell(self, entry: Entry, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Post an event about the pod."""
        await EventRecorder(entry.home.api, COMPONENT).post(entry.last, kind, reason, message)

    async def tell_of_node(self, api: Api, name: str, reason: str, message: str) -> None:
        """Post an event about a node: it outlives pods and their namespaces. Kubelets give a node's name as its UID."""
        node: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}}
        await EventRecorder(api, COMPONENT).post(node, "Warning", reason, message)
