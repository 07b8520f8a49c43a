"""The backend's pods in another cluster, as a watch tells them, by the UIDs of their host pods."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from nestor.api import labels
from nestor.kube import Api, Change, Informer, kinds
from nestor.objects import Object, labels_of, status_of

log = logging.getLogger(__name__)

_WATCH_SECONDS = 60
"""A stream that is silent for half a minute more is cut off: the server sends bookmarks about once a minute."""
_LAG_SECONDS = 10.0
"""How long an answer may be ahead of the watch."""
_PAUSE_SECONDS = 5.0
_ENDINGS = 1000
_ANNOTATION_LIMIT = 16 * 1024
"""Characters: labels of host pods have less."""
_ANNOTATIONS = (labels.NESTED_NAME, labels.NESTED_NAMESPACE, labels.HOST_LABELS)
_META = ("name", "namespace", "uid", "resourceVersion", "labels", "deletionTimestamp", "deletionGracePeriodSeconds")
_SPEC = ("nodeName", "schedulingGates", "restartPolicy", "terminationGracePeriodSeconds")
_CONTAINER = ("name", "image", "restartPolicy")
_GROUPS = ("initContainers", "containers")
_STATUS = (
    "phase",
    "reason",
    "message",
    "startTime",
    "conditions",
    "initContainerStatuses",
    "containerStatuses",
    "ephemeralContainerStatuses",
)


@dataclass
class _Known:
    pod: Object
    ahead_since: float | None = None
    """Since when this is an answer that the watch has not told yet."""


class PodCache:
    """Pods as a watch tells them, and as answers to our own requests did before."""

    def __init__(self, api: Api, namespace: str, uid: str) -> None:
        selector = f"{labels.BACKEND_UID}={uid}"
        self._informer = Informer(api, kinds.POD, namespace, labels=selector, watch_seconds=_WATCH_SECONDS, trim=trim)
        self._informer.on_change(self._take)
        self._known: dict[str, _Known] = {}
        self._endings: OrderedDict[str, Object] = OrderedDict()
        self._expected: set[str] = set()
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """End the watch."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def wait(self, seconds: float) -> bool:
        """Wait until all pods are known. False if that takes longer."""
        try:
            async with asyncio.timeout(seconds):
                await self._informer.synced.wait()
        except TimeoutError:
            return False
        return True

    def find(self, uid: str) -> Object | None:
        """The pod that runs for the host pod with this UID."""
        known = self._known.get(uid)
        if known is None:
            return None
        is_stale = known.ahead_since is not None and time.monotonic() - known.ahead_since > _LAG_SECONDS
        if is_stale and self._informer.get(known.pod["metadata"]["name"], known.pod["metadata"]["namespace"]) is None:
            del self._known[uid]  # it went before its answer was here
            return None
        return known.pod

    def find_ending(self, uid: str) -> Object | None:
        """The last state of a pod that has ended and was removed there, though nobody here had asked for that."""
        return self._endings.get(uid)

    def expect_end(self, uid: str) -> None:
        """We have asked for the pod's end: how it ends is of no interest."""
        self._expected.add(uid)
        self._endings.pop(uid, None)

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        self._known.pop(uid, None)
        self._expected.discard(uid)

    def note(self, pod: Object) -> None:
        """The API server has told this state of a pod."""
        uid, kept = _uid(pod), trim(pod)
        known = self._known.get(uid)
        if known is None or not _is_older(kept, known.pod):
            self._known[uid] = _Known(kept, time.monotonic())

    def __iter__(self) -> Iterator[Object]:
        found = (self.find(uid) for uid in list(self._known))
        return iter([pod for pod in found if pod is not None])

    def _take(self, change: Change) -> None:
        uid = _uid(change.latest)
        known = self._known.get(uid)
        if change.new is not None:
            if known is None or not _is_older(change.new, known.pod):
                self._known[uid] = _Known(change.new)
            return
        if known is not None and known.pod["metadata"]["uid"] != change.latest["metadata"]["uid"]:
            return
        self._known.pop(uid, None)
        if uid not in self._expected and status_of(change.latest).get("phase") in ("Succeeded", "Failed"):
            self._endings[uid] = change.latest
            while len(self._endings) > _ENDINGS:
                self._endings.popitem(last=False)
        self._expected.discard(uid)

    async def _run(self) -> None:
        """Watch until cancelled, whatever the server answers."""
        while True:
            try:
                await self._informer.run()
            except Exception as error:
                log.warning("watching the backend's pods: the API server answers nonsense: %.200s", error)
            await asyncio.sleep(_PAUSE_SECONDS)


def trim(pod: Object) -> Object:
    """What is kept of a pod."""
    meta, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    own = {key: meta[key] for key in _META if key in meta}
    notes = meta.get("annotations") or {}
    own["annotations"] = {key: notes[key] for key in _ANNOTATIONS if len(notes.get(key, "")) in range(1, _ANNOTATION_LIMIT)}
    kept = {key: spec[key] for key in _SPEC if key in spec}
    for group in _GROUPS:
        if spec.get(group):
            kept[group] = [{key: item[key] for key in _CONTAINER if key in item} for item in spec[group]]
    return {"metadata": own, "spec": kept, "status": {key: status[key] for key in _STATUS if key in status}}


def _uid(pod: Object) -> str:
    return labels_of(pod).get(labels.HOST_UID, "")


def _is_older(one: Object, other: Object) -> bool:
    """Whether `one` is an earlier state of the same pod. API servers count versions upwards."""
    first, second = (item["metadata"].get("resourceVersion", "") for item in (one, other))
    is_same = one["metadata"]["uid"] == other["metadata"]["uid"]
    return bool(is_same and first.isdecimal() and second.isdecimal() and int(first) < int(second))
