"""The backend's pods in another cluster, as a watch tells them, by the UIDs of their host pods and their own names.

The name counts because others may be able to create pods in the namespace, with any labels: one that has another name than a host
pod's has there says nothing about it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from nestor.api import labels, names
from nestor.api.objects import Object, labels_of, status_of
from nestor.kube import Api, Change, Informer, kinds

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
_Key = tuple[str, str]
"""UID of a host pod, and the name of its pod there."""
_STATUS = ("phase", "reason", "message", "conditions", "initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


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
        self._known: dict[_Key, _Known] = {}
        self._endings: OrderedDict[_Key, Object] = OrderedDict()
        self._expected: set[_Key] = set()
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

    def find(self, pod: Object) -> Object | None:
        """The pod that runs for this host pod."""
        return self._find(_key_of(pod))

    def _find(self, key: _Key) -> Object | None:
        known = self._known.get(key)
        if known is None:
            return None
        is_stale = known.ahead_since is not None and time.monotonic() - known.ahead_since > _LAG_SECONDS
        if is_stale and self._informer.get(known.pod["metadata"]["name"], known.pod["metadata"]["namespace"]) is None:
            del self._known[key]  # it went before its answer was here
            return None
        return known.pod

    def find_ending(self, pod: Object) -> Object | None:
        """The last state of a host pod's pod that has ended and was removed there, though nobody here had asked for that."""
        return self._endings.get(_key_of(pod))

    def expect_end(self, pod: Object) -> None:
        """We have asked for the end of a host pod's pod: how it ends is of no interest."""
        self._expected.add(_key_of(pod))
        self._endings.pop(_key_of(pod), None)

    def forget(self, pod: Object) -> None:
        """A host pod's pod is gone."""
        self._known.pop(_key_of(pod), None)
        self._expected.discard(_key_of(pod))

    def note(self, there: Object) -> None:
        """The API server has told this state of a pod there."""
        key, kept = _key_of_there(there), trim(there)
        known = self._known.get(key)
        if known is None or not _is_older(kept, known.pod):
            self._known[key] = _Known(kept, time.monotonic())

    def __iter__(self) -> Iterator[Object]:
        found = (self._find(key) for key in list(self._known))
        return iter([pod for pod in found if pod is not None])

    def _take(self, change: Change) -> None:
        key = _key_of_there(change.latest)
        known = self._known.get(key)
        if change.new is not None:
            if known is None or not _is_older(change.new, known.pod):
                self._known[key] = _Known(change.new)
            return
        if known is not None and known.pod["metadata"]["uid"] != change.latest["metadata"]["uid"]:
            return
        self._known.pop(key, None)
        if key not in self._expected and status_of(change.latest).get("phase") in ("Succeeded", "Failed"):
            self._endings[key] = change.latest
            while len(self._endings) > _ENDINGS:
                self._endings.popitem(last=False)
        self._expected.discard(key)

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


def _key_of(pod: Object) -> _Key:
    """Of a host pod."""
    meta = pod["metadata"]
    return meta["uid"], names.remote_pod(meta["name"], meta["uid"])


def _key_of_there(there: Object) -> _Key:
    """Of what runs for it."""
    return labels_of(there).get(labels.HOST_UID, ""), there["metadata"]["name"]


def _is_older(one: Object, other: Object) -> bool:
    """Whether `one` is an earlier state of the same pod. API servers count versions upwards."""
    first, second = (item["metadata"].get("resourceVersion", "") for item in (one, other))
    is_same = one["metadata"]["uid"] == other["metadata"]["uid"]
    return bool(is_same and first.isdecimal() and second.isdecimal() and int(first) < int(second))
