"""The interface of backends: what virtual nodes need from a place outside the host cluster that runs pods.

A pod is a plain Kubernetes object (a dict), translated already: run it as it is. It is one of the host cluster, and its
`metadata.uid` is its identity. Names are reused, by StatefulSets within a second: run at most one pod per name, and
never identify a pod by name alone.

All methods of `Backend` are coroutines. They may wait a few seconds for the place to answer, but never for a pod to start or end.
Every method must be safe to repeat, and is called concurrently for different pods.

Raise one of the errors in `errors`. Any other exception means that the place failed or could not be reached; the caller then
retries with increasing delays. Changes of pods are not reported: the caller asks for `statuses`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from nestor.api.objects import Object

Part = Literal["", "status", "ephemeralcontainers", "resize"]
"""What to patch: the pod itself (empty), or one of its subresources."""


class Lists(Protocol):
    """Lists pods. Optional (`Backend.lists`)."""

    async def list(self) -> list[Object]:
        """All pods that this backend created and that still exist there, including terminating ones, and no others."""


class Updates(Protocol):
    """Changes pods that run. Optional (`Backend.updates`)."""

    async def update(self, pod: Object) -> list[str]:
        """Bring the pod up to date in what of it can change: labels, annotations, images, resources, `activeDeadlineSeconds`, and
        debug containers. Returns why some of it is refused, one message each: the rest does not depend on that.

        Raises `NotFound` if the backend does not know the pod, and `NotYet` on a conflict with a concurrent change.
        """


class Refreshes(Protocol):
    """Keeps what pods were given up to date. Optional (`Backend.refreshes`)."""

    async def refresh(self, pod: Object, inputs: Inputs) -> None:
        """Bring what the pod has of `inputs` up to date: files, and tokens before they expire. Never starts a pod.

        What `inputs` lack stays as it is. Raises `NotFound` if the backend does not know the pod.
        """


class Backend(Protocol):
    """A place outside the host cluster. Optional capabilities are None where they are missing.

    Backends may be hostile: whatever they answer is limited in size and time, checked, and reduced to what the caller asked for.
    """

    @property
    def logs(self) -> Logs | None:
        """Reads container logs."""

    @property
    def streams(self) -> Streams | None:
        """Runs exec, attach and port-forward."""

    @property
    def lists(self) -> Lists | None:
        """Lists the pods there. None: pods whose host pod vanished while nobody watched cannot be found."""

    @property
    def updates(self) -> Updates | None:
        """Changes running pods. None: a change of the host pod has no effect there, and its owner is told."""

    @property
    def refreshes(self) -> Refreshes | None:
        """Updates what pods were given. None: they keep it as it was, and their tokens expire."""

    async def create(self, pod: Object, inputs: Inputs | None = None) -> Object:
        """Run this pod. Returns it with what the provider added, such as annotations.

        Idempotent by `metadata.uid`: a pod that runs there is not started again, nor is one whose fate is unknown, because an
        earlier answer was lost; then it raises `NotYet`. Raises `InvalidInput` if the backend rejects the pod, or cannot have
        one of its fields, which is named and not dropped silently. Raises `NotYet` if `inputs` lack something.
        """

    async def delete(self, pod: Object, *, grace_seconds: int | None = None) -> None:
        """Ask for exactly this pod to end; do not wait for it. Succeeds if the pod is gone already.

        `grace_seconds`: how long its containers may take to stop; None means the pod's own `terminationGracePeriodSeconds`.
        """

    async def get(self, pod: Object) -> Object:
        """This pod with the status that `statuses` would give. Raises `NotFound` if the backend does not know it."""

    async def statuses(self, pods: Sequence[Object]) -> dict[str, Object]:
        """The `status` of these pods, by `metadata.uid`; in as few calls to the place as possible.

        `pods` come with their last known status: what has not changed keeps its times. A status has what only the place can know:
        the statuses of the pod's own containers, `phase`, `reason`, `message`, and of `conditions` `PodScheduled` (False: why it
        waits), `DisruptionTarget`, and those of a resize. The caller derives all else, and checks what it is told.
        A pod that is missing from the result is unknown to the place at this moment, or nothing could be learned about it. That
        alone does not mean that it has failed: `get` tells whether this very pod is there.
        Raises if nothing could be learned about any of the pods.
        """

    async def discover(self) -> list[Shape] | None:
        """The kinds of machines there, and what they have. None if the backend does not tell."""

    async def check(self) -> None:
        """Return if the backend answers and accepts our credentials. Otherwise raise `Unreachable` or `Unauthorized`."""

    async def close(self) -> None:
        """Close connections. Nothing may be called afterwards."""


class Logs(Protocol):
    """Reads container logs. Optional (`Backend.logs`)."""

    def open_log(self, pod: Object, options: Options) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The log of one container, in chunks as they arrive; with `follow`, until the container ends or the caller leaves.

        `options` are the query parameters of the `log` subresource: `container`, `follow`, `tailLines` and so on.
        Raises `NotFound` and `InvalidInput` on entering the context.
        """


class Streams(Protocol):
    """Opens connections into a pod, in the protocols that kubectl speaks (SPDY, WebSocket). Optional (`Backend.streams`)."""

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


@dataclass(frozen=True)
class Inputs:
    """What a pod needs besides itself, for backends that cannot read it from an API server.

    The caller has read it: whatever the pod refers to, as far as it exists.
    """

    config_maps: Mapping[str, Object] = field(default_factory=dict)
    """The ConfigMaps that the pod refers to, by name."""
    secrets: Mapping[str, Object] = field(default_factory=dict)
    """The Secrets that the pod refers to, by name, with base64 `data`; also those of its `imagePullSecrets`."""
    tokens: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Service account tokens for the pod's projected volumes, by the volume's name and the token's `path` in it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of every container, such as service links and `KUBERNETES_SERVICE_HOST`. The container's own come after these."""
    shape: str = ""
    """Name of the `Shape` whose node the pod is bound to. Empty: the backend has only one."""
    is_new: bool = False
    """No earlier process can have sent the pod: the caller has seen how it was bound to its node.

    Otherwise a backend without idempotent creation is asked about the pod first, and for a while after the start of this process
    not trusted when it does not know it: a request of the earlier process may still be at work.
    """


@dataclass(frozen=True)
class Shape:
    """One kind of machines of a backend. The caller makes it one virtual node."""

    name: str
    """Becomes part of a node's name: a DNS label. `WHOLE` if the backend is not divided."""
    capacity: Mapping[str, str] = field(default_factory=dict)
    """Kubernetes quantities by resource, such as `cpu` and `nvidia.com/gpu`. A resource that is missing stays as it is."""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Object] | None = None
    """Taints that the backend wants on the node (`key`, `value`, `effect`). None: those of the node stay as they are."""
    machines: int | None = None
    """How many machines are of this shape, if known."""
    faults: str = ""
    """What the backend says of it that is of no use, and is left out."""


JOB = "JobID"
"""Annotation in which interLink keeps the backend's own name of a pod."""
DROPPED = "nestor.dev/dropped"
"""Annotation of a pod that was created: which of its annotations the backend does not let tenants set."""
WHOLE = "default"
"""Name of the only shape of a backend that does not tell its machines apart."""
