"""Serves the metrics API to the nested API server alone, which has asked for its callers' rights already."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn

from nestor.api.contracts.cluster import KUBELET_CERTIFICATE, KUBELET_KEY, SYNCER_KUBECONFIG
from nestor.kube import Api, ApiError, credentials
from nestor.kube.serving import http
from nestor.kube.serving.connections import Connections
from nestor.kube.tasks import together
from nestor.pods.kubelet import auth
from nestor.syncer.metrics import registration
from nestor.syncer.metrics.api import MetricsApi
from nestor.syncer.metrics.registration import Proxy

log = logging.getLogger(__name__)

_RETRY_SECONDS, _KEEP_SECONDS = 2.0, 60.0

FindAddress = Callable[[], Awaitable[str]]
"""Finds the address of this pod, at which the nested API server reaches us; empty while it has none. May raise `ApiError`."""


class MetricsServer:
    """Serves from when the API server says how it shows who it is, and registers itself."""

    def __init__(self, api: MetricsApi, nested: Api, access: Path, find_address: FindAddress) -> None:
        self._api = api
        self._nested = nested
        self._access = access
        self._find_address = find_address
        self._names: tuple[str, ...] = ()
        self._connections = Connections(self._answer, "metrics API")

    async def serve(self, port: int) -> None:
        """Serve until cancelled."""
        while True:
            address, proxy = await self._await_start()
            self._names = proxy.names
            try:
                tls, authority = build_tls(self._access, proxy.authority), read_authority(self._access)
                await together(self._connections.serve(port, tls, address), self._keep(address, port, authority))
            except (OSError, TypeError, ValueError) as error:  # the authority may be none; the rest of the syncer goes on
                log.warning("the metrics API cannot be served at %s: %s", address, error)
                await asyncio.sleep(_KEEP_SECONDS)

    async def _await_start(self) -> tuple[str, Proxy]:
        while True:
            try:
                address, proxy = await self._find_address(), await registration.read_proxy(self._nested)
                if address and proxy:
                    return address, proxy
            except ApiError as error:
                log.info("the metrics API cannot start yet: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)

    async def _keep(self, address: str, port: int, authority: str) -> NoReturn:
        while True:
            delay = _KEEP_SECONDS
            try:
                await registration.register(self._nested, address, port, authority)
            except ApiError as error:
                log.info("the metrics API cannot be registered: %s", error)
                delay = _RETRY_SECONDS
            await asyncio.sleep(delay)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await http.read_request(reader)
        if request is None:
            return
        caller = auth.read_subject(writer.get_extra_info("peercert"))
        if self._names and caller.name not in self._names:
            await http.respond(writer, 403, "Forbidden")
            return
        self._connections.allow()
        status, body = await self._api.answer(request)
        await http.respond(writer, status, json.dumps(body, separators=(",", ":")), kind="application/json")


def build_tls(access: Path, authority: str) -> ssl.SSLContext:
    """Our own certificate, and the authority that signs the API server's as a proxy."""
    context = auth.new_tls()
    context.load_cert_chain(access / KUBELET_CERTIFICATE, access / KUBELET_KEY)
    context.load_verify_locations(cadata=authority)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def read_authority(access: Path) -> str:
    """The authority that signs our certificate, PEM as base64: the nested API server's own."""
    (cluster,) = credentials.read_files(str(access / SYNCER_KUBECONFIG)).clusters.values()
    found: str = cluster.content["certificate-authority-data"]
    return found
