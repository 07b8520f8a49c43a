"""What a provider promises: the small interface between the syncer and the place where pods run.

A pod is a plain Kubernetes object, already translated by the caller and ready to run. Its label `nestor.dev/nested-uid` is the
UID of the nested pod that it runs for (`uid_of`). A provider runs at most one pod per name, and must never mistake one UID's pod
for another's: names are reused, by StatefulSets within a second.

All methods are coroutines. They may wait a few seconds for the place to answer, but never for a pod to start or to end. They are
called concurrently for different pods. They raise one of the errors below; any other exception means that the place failed or
could not be reached, and the call is retried with increasing delays. Every method must therefore be safe to repeat.
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
"""What of a pod is patched: the pod itself, or one of its subresources."""


class ProviderError(Exception):
    """An answer from the provider. `message` is for the pod's owner; `status` is the HTTP status that says the same."""

    status = 500

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status or self.status


class NotFound(ProviderError):
    """There is no pod with that UID, or no longer."""

    status = 404


class InvalidInput(ProviderError):
    """The provider rejects this pod, or this change, and the message says why: a field, a policy, a quota.

    The owner is told. Only a different pod, or a change of the provider's rules, can help.
    """

    status = 400


class NotYet(ProviderError):
    """Not now: ask again in a second. For example, an earlier pod with this name is still terminating."""

    status = 503


class Provider(Protocol):
    """A place where pods run. Capabilities that it lacks are None (`logs`, `streams`)."""

    @property
    def logs(self) -> Logs | None:
        """Reads container logs. None: `kubectl logs` is answered with 501."""

    @property
    def streams(self) -> Streams | None:
        """Runs exec, attach and port-forward. None: they are answered with 501."""

    async def create(self, pod: Object) -> Object:
        """Run this pod; returns it as the provider knows it.

        Idempotent by UID: if a pod with this name and UID exists already, it is returned unchanged.
        Raises `InvalidInput` for a pod that the provider rejects, and `NotYet` while another UID's pod holds the name.
        """

    async def delete(self, pod: Object, *, grace_seconds: int | None = None, is_unchanged: bool = False) -> None:
        """Ask for this very pod to end, by the `metadata.uid` that the provider gave it. A pod that is gone is a success.

        `grace_seconds` is the time that its containers get, None the pod's own; a later call with less makes it end sooner.
        `is_unchanged`: only if the pod is still as `pod` says; otherwise nothing happens, which is a success too.
        """

    async def get(self, pod: Object) -> Object:
        """This very pod as it is now. Raises `NotFound` when it is gone, even if a successor has its name."""

    async def list(self) -> list[Object]:
        """All pods that the provider runs for this nested cluster, terminating ones included, and no others."""

    async def patch(self, pod: Object, patch: Object, part: Part = "") -> None:
        """Change this very pod by a strategic merge patch. Repeating the same patch changes nothing.

        Raises `NotFound` when the pod is gone, even if a successor has its name, `InvalidInput` for a change that is rejected,
        and `NotYet` when somebody else changed the pod at the same moment.
        """


class Logs(Protocol):
    """Optional: container logs."""

    def open_log(self, pod: Object, options: Options) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The log of one container, in pieces as they arrive, for as long as it is followed.

        `options` are those of the `log` subresource: `container`, `follow`, `tailLines` and so on.
        Raises `NotFound`, `InvalidInput`.
        """


class Streams(Protocol):
    """Optional: connections into a pod, in the protocols that kubectl speaks (SPDY, WebSocket)."""

    def open_stream(self, pod: Object, call: Call) -> AbstractAsyncContextManager[Connection]:
        """The answer to an upgrade request, and the connection behind it. Raises `NotFound`, `InvalidInput`."""


Options = Sequence[tuple[str, str]]
"""The query of a subresource; names may repeat."""


@dataclass(frozen=True)
class Call:
    """A caller's request for a stream. Headers are as the caller sent them; the provider decides which of them to pass on."""

    subresource: Literal["exec", "attach", "portforward"]
    method: str
    options: Options
    headers: Sequence[tuple[str, str]]
    sent: bytes = b""
    """Bytes that the caller sent right after its request."""


@dataclass(frozen=True)
class Connection:
    """An upgraded connection: from here on, bytes pass in both directions."""

    head: bytes
    """The answer's head, with its empty line, and what arrived with it: passed to the caller unchanged."""
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


def uid_of(pod: Object) -> str:
    """UID of the nested pod that a pod runs for."""
    return labels_of(pod).get(labels.NESTED_UID, "")
