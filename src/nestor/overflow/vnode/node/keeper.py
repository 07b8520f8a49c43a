"""Keeps one virtual Node: its status always, its Lease only while the backend answers."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from nestor.api import times
from nestor.api.objects import owner_reference, without_managers
from nestor.kube import Api, ApiError, Informer, NotFound, kinds
from nestor.overflow.vnode.backend.health import Health
from nestor.overflow.vnode.node import status
from nestor.overflow.vnode.node.status import NodeFacts

log = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
RENEW_SECONDS = 10.0
"""As kubelets do."""
FULL_SECONDS = (30.0, 600.0)
"""How long a node takes no further pods after one was taken back: as long as that had waited, within these limits. Then it is
open for at least as long: whoever has pods that never start must not close it for all others for good.
"""


class NodeKeeper:
    """Writes as the node itself. `find_facts` returns what it is made of, `count_pods` how many pods it has."""

    def __init__(
        self,
        api: Api,
        name: str,
        health: Health,
        find_facts: Callable[[], NodeFacts],
        count_pods: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._name = name
        self._health = health
        self._find_facts = find_facts
        self._count_pods = count_pods
        self._clock = clock
        self._full_until = 0.0
        self._open_until = 0.0
        self._wake = asyncio.Event()
        self.informer = Informer(api, kinds.NODE, fields=f"metadata.name={name}", trim=without_managers)
        self.informer.on_change(lambda _: self._wake.set())
        health.on_change(self._wake.set)

    def note_full(self, seconds: float) -> None:
        """The backend has left a pod waiting for so long: there is no room for others for a while."""
        now, length = self._clock(), min(max(seconds, FULL_SECONDS[0]), FULL_SECONDS[1])
        if now >= self._open_until:
            self._full_until, self._open_until = now + length, now + 2 * length
        self._wake.set()

    def look(self) -> None:
        self._wake.set()

    @property
    def is_full(self) -> bool:
        return self._clock() < self._full_until

    async def run(self) -> None:
        await self.informer.synced.wait()
        while True:
            self._wake.clear()
            # The Lease first, and whatever becomes of the status: a backend may tell what no API server accepts.
            for part in (self.renew, self.write):
                try:
                    await part()
                except ApiError as error:
                    log.warning("node %s: %s", self._name, error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RENEW_SECONDS):
                    await self._wake.wait()

    async def write(self) -> None:
        """Write the status if the Node has another one. A Node that is gone is made again by the operator."""
        node = self.informer.get(self._name)
        if node is None:
            return
        room = self._count_pods() if self.is_full else None
        desired = status.build_status(self._find_facts(), self._find_problem(), room, times.timestamp())
        patch = status.build_patch(node, desired)
        if patch is not None:
            await self._api.patch(kinds.NODE, self._name, None, patch, subresource="status", how="strategic")

    async def renew(self) -> None:
        """Renew the Lease, unless the backend has stopped to answer: then the node's pods go elsewhere in time."""
        node = self.informer.get(self._name)
        if node is None or not self._health.is_answering:
            return
        now = times.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": self._name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
        try:
            await self._api.patch(kinds.LEASE, self._name, LEASE_NAMESPACE, {"spec": spec})
        except NotFound:
            owner = owner_reference("v1", "Node", self._name, node["metadata"]["uid"])
            meta = {"name": self._name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]}
            kind = {"apiVersion": kinds.LEASE.api_version, "kind": kinds.LEASE.name}
            await self._api.create(kinds.LEASE, kind | {"metadata": meta, "spec": spec})

    def _find_problem(self) -> tuple[str, str] | None:
        if self._health.is_answering:
            return None
        reason, message = self._health.problem
        return f"Backend{reason}", message
