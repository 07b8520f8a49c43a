"""Watches Ingresses and what they refer to, keeps the proxy's table and the Ingresses' status right."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import aiohttp

from devcluster.cluster import settings
from devcluster.cluster.ingress import proxy, routes, tls
from nestor.kube import Api, ApiError, Informer, NotFound, kinds
from nestor.kube.events import EventRecorder

log = logging.getLogger(__name__)

DEBOUNCE_SECONDS = 0.05
"""A rollout changes several objects at once; one table for all of them."""
RETRY_SECONDS = 1.0
STATUS = {"loadBalancer": {"ingress": [{"ip": settings.INGRESS_IP}]}}


class Controller:
    """One for the whole cluster."""

    def __init__(self, api: Api, socket: Path) -> None:
        self._api = api
        self._socket = socket
        self._events = EventRecorder(api, settings.INGRESS_CONTROLLER)
        self._loaded: dict[str, Any] | None = None
        self._reported: frozenset[tls.Problem] = frozenset()
        self._changed = asyncio.Event()
        self._ingresses = Informer(api, kinds.INGRESS)
        self._services = Informer(api, kinds.SERVICE)
        self._slices = Informer(api, kinds.ENDPOINT_SLICE)
        self._secrets = Informer(api, kinds.SECRET, fields="type=kubernetes.io/tls")
        self._informers = (self._ingresses, self._services, self._slices, self._secrets)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in self._informers:
                informer.on_change(lambda _: self._changed.set())
                group.create_task(informer.run())
            group.create_task(self._follow())

    async def _follow(self) -> None:
        """Configure once everything is known, then after every change."""
        for informer in self._informers:
            await informer.synced.wait()
        while True:
            self._changed.clear()
            try:
                await self._configure()
                await self._write_status()
            except (ApiError, proxy.Refused, aiohttp.ClientError, OSError) as error:
                log.warning("will try again in %.0f s: %s", RETRY_SECONDS, error)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            await self._changed.wait()
            await asyncio.sleep(DEBOUNCE_SECONDS)

    async def _configure(self) -> None:
        world = routes.World(self._ingresses, self._services, self._slices)
        hosts = routes.build(world)
        found = tls.build(routes.by_age(self._ingresses), self._secrets)
        await self._report(found.problems)
        wanted = proxy.table(hosts, found.certificates)
        if wanted == self._loaded:
            return
        try:
            await proxy.load(self._socket, wanted)
        except proxy.Refused:
            if found.certificates:  # whatever the proxy has against one of them, HTTP must go on
                await proxy.load(self._socket, proxy.table(hosts, {}))
            raise
        self._loaded = wanted
        log.info("configured %d hosts, %d of them with TLS", len(hosts), len(found.certificates))

    async def _report(self, problems: tuple[tls.Problem, ...]) -> None:
        """Tell the owners of Ingresses, once, what is wrong with their TLS."""
        for problem in problems:
            if problem not in self._reported:
                log.warning("Ingress %s/%s: %s", problem.namespace, problem.ingress, problem.message)
                meta = {"namespace": problem.namespace, "name": problem.ingress, "uid": problem.uid}
                about = {"apiVersion": kinds.INGRESS.api_version, "kind": kinds.INGRESS.name, "metadata": meta}
                await self._events.post(about, "Warning", "NoTLS", problem.message)
        self._reported = frozenset(problems)

    async def _write_status(self) -> None:
        for ingress in routes.by_age(self._ingresses):
            if ingress.get("status") != STATUS:
                meta = ingress["metadata"]
                try:
                    await self._api.patch(
                        kinds.INGRESS, meta["name"], meta["namespace"], {"status": STATUS}, subresource="status"
                    )
                except NotFound:
                    continue  # deleted meanwhile
