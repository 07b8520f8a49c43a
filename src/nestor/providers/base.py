"""What a provider promises: the small interface between the syncer and the place where pods run.

A pod is a plain Kubernetes object that is ready to run there: its caller has translated it. Whose it is says its label
`nestor.dev/nested-uid`, the UID of the nested pod that it runs for (`uid_of`). A provider may run at most one pod per name, and
must never take one UID's pod for another's: names are used again, by StatefulSets within a second.

All methods are coroutines and may wait for the place to answer, seconds at the most; none waits for a pod to start or to end.
They are called for several pods at the same time, and never twice at the same time for one UID. What they raise is one of the
words below; any other exception means that the place failed or could not be reached, and the call is repeated with growing
delays. So every method must bear to be repeated.
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
    """An answer of the provider. `message` is for the pod's owner; `status` is the HTTP status that says the same."""

    status = 500

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status or self.status


class NotFound(ProviderError):
    """There is no pod of that UID (any more)."""

    status = 404


class InvalidInput(ProviderError):
    """The provider does not take this pod, or this change, and the message says why: a field, a policy, a quota.

    The owner is told. Only another pod, or another rule of the provider's, can help.
    """

    status = 400


class NotYet(ProviderError):
    """Not now: ask again in a second. An earlier pod of this name is still ending, say."""

    status = 503


class Provider(Protocol):
    """A place where pods run. What it cannot do at all, it leaves None (`logs`, `streams`)."""

    @property
    def logs(self) -> Logs | None:
        """Reads what containers wrote. None: `kubectl logs` is answered with 501."""

    @property
    def streams(self) -> Streams | None:
        """Runs exec, attach and port-forward. None: they are answered with 501."""

    async def create(self, pod: Object) -> Object:
        """Have this pod run; returns it as the provider knows it.

        Idempotent by UID: where a pod of this name and UID is there already, that one is returned and left as it is.
        Raises `InvalidInput` for a pod that is not taken, and `NotYet` while its name is still another UID's.
        """

    async def delete(self, pod: Object, *, grace_seconds: int | None = None, is_unchanged: bool = False) -> None:
        """Ask for the end of this very pod, by the `metadata.uid` that the provider gave it; what is gone is gone: no error.

        `grace_seconds` is the time that its containers get, None the pod's own; asked again with less, it ends sooner.
        `is_unchanged`: only if the pod is still as `pod` says; otherwise nothing is done, and that is no error either.
        """

    async def get(self, pod: Object) -> Object:
        """This very pod as it is now. Raises `NotFound` when it is gone, also where a successor has its name."""

    async def list(self) -> list[Object]:
        """All pods of this nested cluster that the provider runs, those that are ending included; nobody else's."""

    async def patch(self, pod: Object, patch: Object, part: Part = "") -> None:
        """Change this very pod by a strategic merge patch. The same patch again changes nothing.

        Raises `NotFound` when the pod is gone, also where a successor has its name, `InvalidInput` for a change that is not
        taken, and `NotYet` when somebody else changed it at the same moment.
        """


class Logs(Protocol):
    """Optional: what containers wrote."""

    def open_log(self, pod: Object, options: Options) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The log of one container, piece by piece, for as long as it is followed.

        `options` are those of the `log` subresource: `container`, `follow`, `tailLines` and so on.
        Raises `NotFound`, `InvalidInput`.
        """


class Streams(Protocol):
    """Optional: connections into a pod, by the protocols that kubectl speaks (SPDY, WebSocket)."""

    def open_stream(self, pod: Object, call: Call) -> AbstractAsyncContextManager[Connection]:
        """The answer to an upgrade request, and the connection behind it. Raises `NotFound`, `InvalidInput`."""


Options = Sequence[tuple[str, str]]
"""The query of a subresource; names may repeat."""


@dataclass(frozen=True)
class Call:
    """A caller's request for a stream. Headers are as the caller sent them; which of them to pass on is the provider's choice."""

    subresource: Literal["exec", "attach", "portforward"]
    method: str
    options: Options
    headers: Sequence[tuple[str, str]]
    sent: bytes = b""
    """What the caller sent right behind its request."""


@dataclass(frozen=True)
class Connection:
    """An upgraded connection: from here on, bytes pass both ways."""

    head: bytes
    """The answer's head, with its empty line, and what came with it: for the caller as it is."""
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


def uid_of(pod: Object) -> str:
    """UID of the nested pod that a pod runs for."""
    return labels_of(pod).get(labels.NESTED_UID, "")
