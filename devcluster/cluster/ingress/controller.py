"""Watches Ingresses and what they refer to, keeps caddy's configuration and the Ingresses' status right."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import aiohttp

from devcluster.cluster import settings
from devcluster.cluster.ingress import caddyfile, routes
from nestor.kube import Api, ApiError, Informer, NotFound, kinds

log = logging.getLogger(__name__)

DEBOUNCE_SECONDS = 0.05
"""A rollout changes several objects at once; one configuration for all of them."""
RETRY_SECONDS = 1.0
CADDY_SECONDS = 15.0
STATUS = {"loadBalancer": {"ingress": [{"ip": settings.INGRESS_IP}]}}


class Refused(Exception):
    """caddy did not take a configuration."""


class Controller:
    """One for the whole cluster."""

    def __init__(self, api: Api, caddy_socket: Path, ports: settings.Ports) -> None:
        self._api = api
        self._socket = caddy_socket
        self._ports = ports
        self._loaded: dict[str, Any] | None = None
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
            except (ApiError, Refused, aiohttp.ClientError, OSError) as error:
                log.warning("will try again in %.0f s: %s", RETRY_SECONDS, error)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            await self._changed.wait()
            await asyncio.sleep(DEBOUNCE_SECONDS)

    async def _configure(self) -> None:
        world = routes.World(self._ingresses, self._services, self._slices, self._secrets)
        wanted = caddyfile.build(routes.build(world), self._ports, str(self._socket))
        if wanted == self._loaded:
            return
        await load(self._socket, wanted)
        self._loaded = wanted
        log.info("configured %d hosts", len(wanted["apps"]["http"]["servers"]["http"]["routes"]) - 1)

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


async def load(socket: Path, config: dict[str, Any]) -> None:
    """Give caddy a whole new configuration. Raises `Refused` with caddy's reason."""
    timeout = aiohttp.ClientTimeout(total=CADDY_SECONDS)
    async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(socket)), timeout=timeout) as session:
        headers = {"Content-Type": "application/json"}
        async with session.post("http://localhost/load", data=json.dumps(config), headers=headers) as answer:
            if answer.status != 200:
                raise Refused(f"caddy: {(await answer.text())[:500]}")
