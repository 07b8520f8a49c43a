"""The virtual nodes of this process: one set of parts for each, begun and ended as the operator makes and removes them."""

import asyncio
import logging
from dataclasses import dataclass
from functools import partial

from nestor.api.objects import labels_of
from nestor.kube import Api, Informer, kinds
from nestor.kube.process import spawn
from nestor.overflow.vnode.backend.health import Health
from nestor.overflow.vnode.backend.view import BackendView, NodeRef, find_capacity
from nestor.overflow.vnode.identity import Certificate, Wish
from nestor.overflow.vnode.node.keeper import NodeKeeper
from nestor.overflow.vnode.node.status import NodeFacts
from nestor.overflow.vnode.pods.controller import PodController
from nestor.overflow.vnode.pods.entry import Home
from nestor.overflow.vnode.pods.trim import trim_pod
from nestor.overflow.vnode.restart import IdentityRefused, Restart, watch_identity
from nestor.overflow.vnode.settings import Settings

log = logging.getLogger(__name__)

_ARCHITECTURE = "kubernetes.io/arch"


@dataclass
class _Parts:
    task: asyncio.Task[None]
    certificate: Certificate
    pods: Informer | None = None
    keeper: NodeKeeper | None = None


class Nodes:
    """All virtual nodes. `api` is the client of this process itself."""

    def __init__(
        self, api: Api, settings: Settings, view: BackendView, health: Health, pods: PodController, server_version: str
    ) -> None:
        self._api = api
        self._settings = settings
        self._view = view
        self._health = health
        self._pods = pods
        self._server_version = server_version
        self._parts: dict[NodeRef, _Parts] = {}
        self._changed = asyncio.Event()
        self.speaker: str = ""
        """The node that the kubelet API's certificate names."""
        view.on_change(self._on_change)
        pods.on_bounce(self._on_bounce)
        self._changed.set()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(ref.name for ref in self._view.nodes)

    @property
    def informers(self) -> list[Informer]:
        found = [(parts.pods, parts.keeper) for parts in self._parts.values()]
        return [item for pods, keeper in found for item in (pods, keeper.informer if keeper else None) if item is not None]

    @property
    def certificates(self) -> list[Certificate]:
        return [parts.certificate for parts in self._parts.values()]

    def find_problem(self) -> str | None:
        """Why not all nodes work, if so."""
        for ref, parts in self._parts.items():
            if parts.certificate.problem:
                return parts.certificate.problem
            if parts.pods is None or not parts.pods.synced.is_set():
                return f"the pods of node '{ref.name}' are not known yet"
        return None

    async def wait_for_one(self) -> NodeRef:
        """Wait until the operator has made a node; returns the first one by name."""
        changed = asyncio.Event()
        self._view.on_change(changed.set)
        while not (found := self._view.nodes):
            await changed.wait()
            changed.clear()
        return min(found, key=lambda ref: ref.name)

    async def run(self) -> None:
        """Keep the nodes that there should be until cancelled. Raises `Restart` when the kubelet API's own is gone."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._changed.wait()
                self._changed.clear()
                wanted = self._view.nodes
                for ref in self._parts.keys() - wanted:
                    await self._end(ref)
                for ref in sorted(wanted - self._parts.keys(), key=lambda item: item.name):
                    self._begin(group, ref)

    def _begin(self, group: asyncio.TaskGroup, ref: NodeRef) -> None:
        log.info("node %s, shape %s", ref.name, ref.shape)
        own = Wish(self._view.name, ref.name, "client")
        certificate = Certificate(self._api, own, self._settings.folder, self._view.look)
        task = spawn(group, self._run(ref, certificate), f"node {ref.name}")
        self._parts[ref] = _Parts(task, certificate)

    async def _end(self, ref: NodeRef) -> None:
        log.info("node %s is gone", ref.name)
        task = self._parts.pop(ref).task
        task.cancel()
        await asyncio.wait([task])
        self._pods.registry.leave(ref.name)
        if ref.name == self.speaker:
            raise Restart(f"node '{ref.name}', which the kubelet API's certificate names, is gone")

    async def _run(self, ref: NodeRef, certificate: Certificate) -> None:
        await certificate.obtain()
        async with self._api.with_certificate(certificate.file) as api:
            pods = Informer(api, kinds.POD, fields=f"spec.nodeName={ref.name}", trim=trim_pod)
            self._pods.registry.watch(Home(ref.name, ref.shape, api), pods)
            count = partial(self._pods.registry.count_active, ref.name)
            keeper = NodeKeeper(api, ref.name, self._health, lambda: self._find_facts(ref, keeper), count)
            self._parts[ref].pods, self._parts[ref].keeper = pods, keeper
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(certificate.keep(api.reconnect), name=f"certificate of {ref.name}")
                    group.create_task(watch_identity(api, ref.name), name=f"identity of {ref.name}")
                    for part in (pods, keeper.informer, keeper):
                        spawn(group, part.run(), f"a part of node {ref.name}")
            except* IdentityRefused:
                certificate.discard()
                raise

    def _find_facts(self, ref: NodeRef, keeper: NodeKeeper) -> NodeFacts:
        capacity = find_capacity(self._view.shapes, ref.shape, self._view.spec.node.pods)
        architecture = labels_of(keeper.informer.get(ref.name)).get(_ARCHITECTURE, "")
        own = self._settings
        return NodeFacts(capacity, own.address, own.kubelet_port, self._server_version, architecture)

    def _keepers(self) -> dict[str, NodeKeeper]:
        return {ref.name: parts.keeper for ref, parts in self._parts.items() if parts.keeper is not None}

    def _on_change(self) -> None:
        self._changed.set()
        for keeper in self._keepers().values():
            keeper.look()

    def _on_bounce(self, node: str, seconds: float) -> None:
        keeper = self._keepers().get(node)
        if keeper is not None:
            keeper.note_full(seconds)
