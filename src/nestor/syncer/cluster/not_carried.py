"""Tells the owners of objects whose kinds Nestor does not carry to the host cluster. Their content is never read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.kube import Api, ApiError, Change, Informer, Kind, WorkQueue, kinds
from nestor.kube.informer import Key
from nestor.pods.translate.device_claims import NO_DEVICES
from nestor.pods.translate.volumes import NO_SNAPSHOTS
from nestor.syncer.copies.memory import Told
from nestor.syncer.view.caches import OPTIONAL
from nestor.syncer.view.context import RETRY_LIMIT, Context
from nestor.syncer.view.watches import discover

log = logging.getLogger(__name__)

REASON = "NotCarried"
_ROUTES = (
    "Nestor does not carry it to the host cluster: it has an effect only if a controller in this nested cluster acts on it. From "
    "outside, Services of type NodePort or LoadBalancer are reached if the class allows them (`services`), and the targets of a "
    "job's AppDef"
)
_SNAPSHOTS = f"Nestor does not carry it to the host cluster, whose volumes these are: {NO_SNAPSHOTS}, so that none is made"
_CLAIMS = f"Nestor does not carry it to the host cluster, which has the devices: {NO_DEVICES}; pods that refer to it are refused"

_BUILT_IN = {kinds.INGRESS: _ROUTES, kinds.RESOURCE_CLAIM: _CLAIMS}
"""Kinds that API servers have from some version on."""
_DEFINED = {
    "gateways.gateway.networking.k8s.io": _ROUTES,
    "grpcroutes.gateway.networking.k8s.io": _ROUTES,
    "httproutes.gateway.networking.k8s.io": _ROUTES,
    "tcproutes.gateway.networking.k8s.io": _ROUTES,
    "tlsroutes.gateway.networking.k8s.io": _ROUTES,
    "udproutes.gateway.networking.k8s.io": _ROUTES,
    "volumesnapshots.snapshot.storage.k8s.io": _SNAPSHOTS,
}
"""Kinds that somebody may define, by the name of their CustomResourceDefinition."""

_ANSWER_BYTES = 4 * 2**20
_MOST = 10_000
"""Objects of a kind. An admin may have some kinds served by a server of his own, which may say that there are millions."""
_RETRY_SECONDS, _PAUSE_SECONDS = 1.0, 60.0

_Item = tuple[Kind, Key]


class NotCarried:
    """One event per object. A kind that the nested cluster does not have costs nothing."""

    def __init__(self, context: Context) -> None:
        self._api: Api = context.nested
        self._metadata = context.nested.with_metadata_only().with_limit(_ANSWER_BYTES)
        self._recorder = context.recorder
        self._synced = context.caches
        self._caches: dict[Kind, Informer] = {}
        self._notes = dict(_BUILT_IN)
        self._told: Told[_Item] = Told()
        self.queue: WorkQueue[_Item] = WorkQueue(self._tell, workers=1, name="not-carried", max_delay=RETRY_LIMIT)

    async def run(self) -> None:
        """Follow the kinds that there are, until cancelled."""
        definitions, changed = Informer(self._metadata, kinds.CRD, trim=_trim), asyncio.Event()
        definitions.on_change(lambda _: changed.set())
        tasks: dict[str, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            group.create_task(definitions.run())
            for kind in _BUILT_IN:
                group.create_task(_keep(partial(self._follow_built_in, kind)))
            while True:
                await changed.wait()
                changed.clear()
                there = {item["metadata"]["name"] for item in definitions} & _DEFINED.keys()
                for name in tasks.keys() - there:
                    tasks.pop(name).cancel()
                for name in there - tasks.keys():
                    tasks[name] = group.create_task(_keep(partial(self._follow_defined, name)))

    async def _follow_built_in(self, kind: Kind) -> None:
        if await discover(self._api, kind.api_version, kind.name) is not None:
            await self._follow(kind)

    async def _follow_defined(self, name: str) -> None:
        """Look the kind up, which the API server serves a moment after its definition."""
        while True:
            spec = (await self._api.get(kinds.CRD, name))["spec"]
            version = next(item["name"] for item in spec["versions"] if item["storage"])
            if (kind := await discover(self._api, f"{spec['group']}/{version}", spec["names"]["kind"])) is not None:
                self._notes[kind] = _DEFINED[name]
                await self._follow(kind)
            await asyncio.sleep(_RETRY_SECONDS)

    async def _follow(self, kind: Kind) -> None:
        self._caches[kind] = cache = Informer(self._metadata, kind, trim=_trim, most=_MOST)
        cache.on_change(lambda change: self._on_change(kind, change))
        await cache.run()

    def _on_change(self, kind: Kind, change: Change) -> None:
        if change.new is None:
            self._told.forget((kind, change.key))
        elif change.old is None:
            self.queue.add((kind, change.key))

    async def _tell(self, item: _Item) -> None:
        kind, (namespace, name) = item
        found = self._caches[kind].get(name, namespace)
        if is_carried(kind, self._synced.policy):
            return
        if found is not None and self._told.is_news(item, found["metadata"]["uid"]):
            about: Object = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": found["metadata"]}
            await self._recorder.post_once(about, "Warning", REASON, self._notes[kind])


def is_carried(kind: Kind, policy: Policy) -> bool:
    """Whether the class has Nestor carry this kind, so that a row says what is to be said."""
    return any((kind.group, kind.plural) == (item.group, item.plural) and asks(policy) for item, asks in OPTIONAL.items())


async def _keep(follow: Callable[[], Awaitable[None]]) -> None:
    """Nothing that a kind's server or definition says ends what we do for others."""
    while True:
        try:
            return await follow()
        except ApiError as error:
            log.info("cannot look up a kind that is not synced, retrying: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)
        except Exception:
            log.exception("a kind that is not synced cannot be watched")
            await asyncio.sleep(_PAUSE_SECONDS)


def _trim(item: Object) -> Object:
    """What an event needs."""
    kept = ("name", "namespace", "uid", "resourceVersion")
    return {"metadata": {key: value for key, value in item["metadata"].items() if key in kept}}
