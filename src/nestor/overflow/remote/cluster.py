"""The other cluster: one client, one watch of the backend's pods, and its errors in the words of `providers.errors`."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager

from nestor.api import labels, names
from nestor.api.objects import Object, labels_of
from nestor.kube import Api, ApiError, Conflict, Forbidden, Informer, Invalid, errors, kinds
from nestor.overflow.remote.build import build_marks
from nestor.overflow.remote.settings import Settings
from nestor.pods.providers.errors import (
    InvalidInput,
    NoRoom,
    NotFound,
    NotYet,
    ProviderError,
    Unauthorized,
    Unreachable,
    cut,
    hide,
)
from nestor.pods.providers.host import EXCEEDED
from nestor.pods.translate.container_status import RUN

_WATCH_SECONDS = 60
"""A stream that is silent for half a minute more is cut off: the server sends bookmarks about once a minute."""
_SYNC_SECONDS = 20.0
"""For the first list of all pods."""
_ANNOTATION_LIMIT = 16 * 1024
"""Characters: labels of host pods have less."""
_ANNOTATIONS = (labels.NESTED_NAME, labels.NESTED_NAMESPACE, labels.HOST_LABELS)
_META = ("name", "namespace", "uid", "resourceVersion", "labels", "deletionTimestamp", "deletionGracePeriodSeconds")
_SPEC = ("nodeName", "schedulingGates", "restartPolicy", "terminationGracePeriodSeconds")
_CONTAINER = ("name", "image", "restartPolicy")
_STATUS = ("phase", "reason", "message", "conditions", "initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_NO_RIGHT = re.compile(r'forbidden: User "[^"]*" cannot [a-z]+ ')
"""What RBAC says. Admission, which refuses objects, has the same status."""
_NONSENSE = (KeyError, TypeError, AttributeError, IndexError, RecursionError, ValueError)
"""What becomes of an answer that is none of an API server's."""


class Cluster:
    """Its pods are found by their own names, and by the UIDs of their host pods: others may be able to create pods in the
    namespace, with any labels. One that has another name than a host pod's has there says nothing about it.
    """

    def __init__(self, settings: Settings, api: Api) -> None:
        self.settings = settings
        self.api = api
        selector = f"{labels.BACKEND_UID}={settings.uid}"
        self._pods = Informer(api, kinds.POD, settings.namespace, labels=selector, watch_seconds=_WATCH_SECONDS, trim=trim)
        self._watch = asyncio.create_task(self._pods.run())

    async def close(self) -> None:
        self._watch.cancel()
        await asyncio.gather(self._watch, return_exceptions=True)
        await self.api.close()

    async def look(self) -> Informer:
        """All pods of the backend. Raises `ProviderError` if the API server does not answer at the moment."""
        await self.ask()
        try:
            async with asyncio.timeout(_SYNC_SECONDS):
                await self._pods.synced.wait()
        except TimeoutError:
            raise Unreachable("the pods in the cluster are not known yet") from None
        return self._pods

    def recall(self, pod: Object) -> Object | None:
        """The pod that runs for a host pod, as the watch has told it, or an answer to a request of ours before."""
        found = self._pods.get(_name(pod), self.settings.namespace)
        return found if labels_of(found).get(labels.HOST_UID) == pod["metadata"]["uid"] else None

    def note(self, there: Object) -> None:
        self._pods.put(there)

    async def ask(self) -> None:
        """A small request that needs our credentials, and the right to list pods. Raises `ProviderError`."""
        with self.in_our_words():
            # By name, an API server looks at one key, however many pods there are.
            answer = await self.api.request(
                "GET", kinds.POD.path(self.settings.namespace), {"fieldSelector": "metadata.name=nestor"}
            )
            if not isinstance(answer, dict):
                raise Unreachable("the server at this URL is no API server")

    async def find(self, pod: Object) -> Object | None:
        """The pod that runs for a host pod, asked for just now. Raises `ProviderError`."""
        with self.in_our_words():
            there = await self.api.find(kinds.POD, _name(pod), self.settings.namespace)
            if there is not None:
                self._check_owner(pod, there)
        return there

    def where(self, pod: Object) -> tuple[str, str]:
        """The namespace and the name that a host pod's pod has there."""
        return self.settings.namespace, _name(pod)

    @contextmanager
    def in_our_words(self, *, is_stream: bool = False) -> Iterator[None]:
        """Turn API errors into provider errors, with our credentials masked, which a hostile server might repeat.

        `is_stream`: there is no answer to be read but bytes, and other errors are those of whoever reads them.
        """
        try:
            yield
        except ApiError as error:
            raise _build_error(error, cut(self._hide(error.message))) from None
        except _NONSENSE as error:
            if is_stream:
                raise
            what = cut(self._hide(f"{type(error).__name__}: {error}"), 200)
            raise Unreachable(f"the API server answers nonsense: {what}") from error

    def _check_owner(self, pod: Object, there: Object) -> None:
        """Raise `NotYet` if somebody else's pod has the name, however unlikely."""
        marks, found = build_marks(pod, self.settings), labels_of(there)
        if any(found.get(key) != marks[key] for key in (labels.HOST_UID, labels.BACKEND_UID)):
            raise NotYet(f"pod '{there['metadata']['name']}' in the cluster belongs to another backend")

    def _hide(self, text: str) -> str:
        try:
            return hide(text, self.settings.access.list_secrets())
        except ApiError:  # the token is gone
            return text


def trim(pod: Object) -> Object:
    meta, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    own = {key: meta[key] for key in _META if key in meta}
    notes = meta.get("annotations") or {}
    own["annotations"] = {key: notes[key] for key in _ANNOTATIONS if len(notes.get(key, "")) in range(1, _ANNOTATION_LIMIT)}
    kept = {key: spec[key] for key in _SPEC if key in spec}
    for group in RUN:
        if spec.get(group):
            kept[group] = [{key: item[key] for key in _CONTAINER if key in item} for item in spec[group]]
    return {"metadata": own, "spec": kept, "status": {key: status[key] for key in _STATUS if key in status}}


def lacks_right(error: ApiError) -> bool:
    """Whether our account lacks a right, by RBAC."""
    return isinstance(error, Forbidden) and _NO_RIGHT.search(error.message) is not None


def _build_error(error: ApiError, text: str) -> ProviderError:
    """What an error means; `text` is what the API server says about it."""
    if isinstance(error, errors.Unreachable) or error.status in (502, 503, 504):
        return Unreachable(text or "no answer", 503)
    if error.status == 401 or lacks_right(error):
        return Unauthorized(f"the cluster refuses our credentials: {text}", error.status)
    if error.status == 404 or error.is_replaced:
        return NotFound(text)
    if isinstance(error, Forbidden):
        quota = text.partition(EXCEEDED)
        if quota[1]:
            return NoRoom("".join(quota[1:]), error.status)
        return NotYet(text) if error.is_terminating else InvalidInput(text, error.status)
    if isinstance(error, Invalid):
        return InvalidInput(text, error.status)
    if isinstance(error, Conflict) or error.status in (408, 410, 425, 429):
        return NotYet(text)
    return ProviderError(text, error.status if error.status >= 400 else 502)


def _name(pod: Object) -> str:
    """The name that a host pod's pod has there."""
    return names.remote_pod(pod["metadata"]["name"], pod["metadata"]["uid"])
