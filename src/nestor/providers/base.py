"""The provider interface: what the syncer needs from a place where pods run.

Pods: a pod is a plain Kubernetes object (a dict). The caller has translated it already; run it as it is. Its label
`nestor.dev/nested-uid` holds the UID of the nested pod that it runs for (`uid_of`); its `metadata.uid` is yours to assign.
Names are reused, by StatefulSets within a second. So run at most one pod per name, and never identify a pod by name alone.

Waiting: all methods of `Provider` are coroutines. They may wait a few seconds for the place to answer, but never for a pod to
start or end.

Repetition: every method must be safe to repeat, and is called concurrently for different pods.

Errors: raise one of the errors below. Any other exception means that the place failed or could not be reached; the caller then
retries with increasing delays.

Not covered yet: telling the syncer that a pod has changed. It watches the host cluster for that.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from nestor.api import labels
from nestor.objects import Object, labels_of

Part = Literal["", "status", "ephemeralcontainers", "resize"]
"""What to patch: the pod itself (empty), or one of its subresources."""


class ProviderError(Exception):
    """The base of all provider errors. `message` is shown to the pod's owner; `status` is the equivalent HTTP status."""

    status = 500

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status or self.status


class NotFound(ProviderError):
    """No pod with that UID exists (any more)."""

    status = 404


class InvalidInput(ProviderError):
    """The provider rejects this pod or change. The message says why: a field, a policy, a quota.

    The owner is told. The same request can only succeed after the provider's rules or quotas have changed.
    """

    status = 400


class NoRoom(InvalidInput):
    """There is no room for this pod, nor for any of its size, until others have ended or a quota was raised."""

    status = 403


class NotYet(ProviderError):
    """Not possible right now: the caller retries after a second. For example, an earlier pod still holds the name."""

    status = 503


class Provider(Protocol):
    """A place where pods run. Optional capabilities (`logs`, `streams`) are None where they are missing."""

    @property
    def logs(self) -> Logs | None:
        """Reads container logs. None: `kubectl logs` gets status 501."""

    @property
    def streams(self) -> Streams | None:
        """Runs exec, attach and port-forward. None: they get status 501."""

    async def create(self, pod: Object) -> Object:
        """Run this pod. Returns the pod as the provider stored it, with its `metadata.uid`.

        Idempotent by name and nested UID (`uid_of`): return an existing pod unchanged, also when calls run at the same time.
        Raises `InvalidInput` if the provider rejects the pod or does not know one of its fields, which it must not drop silently,
        and `NotYet` while a pod with another nested UID has the name.
        """

    async def delete(self, pod: Object, *, grace_seconds: int | None = None, is_unchanged: bool = False) -> None:
        """Ask for exactly this pod (by `metadata.uid`) to end; do not wait for it. Succeeds if the pod is gone already.

        `grace_seconds`: how long its containers may take to stop; None means the pod's own `terminationGracePeriodSeconds`.
        A later call with fewer seconds shortens the time.
        `is_unchanged`: delete only if `metadata.resourceVersion` is still that of `pod`; otherwise do nothing, and succeed.
        """

    async def get(self, pod: Object) -> Object:
        """The current state of exactly this pod. Raises `NotFound` if it is gone, even if a successor has its name."""

    async def list(self) -> list[Object]:
        """All pods of this nested cluster, including terminating ones, and no others."""

    async def patch(self, pod: Object, patch: Object, part: Part = "") -> None:
        """Apply a strategic merge patch to exactly this pod. Repeating a patch changes nothing.

        Raises `NotFound` if the pod is gone, even if a successor has its name; `InvalidInput` if the provider rejects the change;
        and `NotYet` on a conflict with a concurrent change.
        """


class Logs(Protocol):
    """Reads container logs. Optional (`Provider.logs`)."""

    def open_log(self, pod: Object, options: Options) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The log of one container, in chunks as they arrive; with `follow`, until the container ends or the caller leaves.

        `options` are the query parameters of the `log` subresource: `container`, `follow`, `tailLines` and so on.
        Raises `NotFound` and `InvalidInput` on entering the context.
        """


class Streams(Protocol):
    """Opens connections into a pod, in the protocols that kubectl speaks (SPDY, WebSocket). Optional (`Provider.streams`)."""

    def open_stream(self, pod: Object, call: Call) -> AbstractAsyncContextManager[Connection]:
        """The upgraded connection for this request. Raises `NotFound` and `InvalidInput` on entering the context."""


Options = Sequence[tuple[str, str]]
"""Query parameters of a subresource as (name, value); names may repeat."""


@dataclass(frozen=True)
class Call:
    """A caller's request for a stream. Headers are as the caller sent them, names in lower case; the provider filters them."""

    subresource: Literal["exec", "attach", "portforward"]
    method: str
    options: Options
    headers: Sequence[tuple[str, str]]
    sent: bytes = b""
    """Bytes that the caller sent right after the request; pass them on first."""


@dataclass(frozen=True)
class Connection:
    """An upgraded connection, over which bytes now flow in both directions."""

    head: bytes
    """The response head with its empty line, and any bytes that arrived with it. The caller gets them unchanged."""
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


def uid_of(pod: Object) -> str:
    """UID of the nested pod that `pod` runs for."""
    return labels_of(pod).get(labels.NESTED_UID, "")
