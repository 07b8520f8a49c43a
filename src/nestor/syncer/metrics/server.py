"""Serves the metrics API to the nested API server alone, which has asked for its callers' rights already.

It makes the API known in the nested cluster, and keeps it so.
"""

import asyncio
import json
import logging
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn

from nestor.api import labels
from nestor.api.contracts.cluster import METRICS_HOST, SYNCER_KUBECONFIG
from nestor.api.objects import Object, labels_of
from nestor.kube import Api, ApiError, credentials, kinds
from nestor.kube.serving import http
from nestor.kube.serving.connections import Connections
from nestor.kube.tasks import together
from nestor.pods.kubelet import auth
from nestor.syncer.metrics.api import GROUP, VERSION, MetricsApi

log = logging.getLogger(__name__)

NAME, NAMESPACE = METRICS_HOST.split(".")[:2]
_SERVICE_PORT = 443
_AUTHENTICATION = "extension-apiserver-authentication"
_OURS = {labels.MANAGED_BY: "nestor"}
_RETRY_SECONDS, _KEEP_SECONDS = 2.0, 60.0

FindAddress = Callable[[], Awaitable[str]]
"""Finds the address of this pod, at which the nested API server reaches us; empty while it has none. May raise `ApiError`."""


Proxy = tuple[str, list[str]]
"""How the nested API server shows who it is when it passes requests on: by a certificate of this authority (PEM), and with one of
these names; empty: any.
"""


class MetricsServer:
    """Serves from when the API server says how it shows who it is, and registers itself."""

    def __init__(self, api: MetricsApi, nested: Api, access: Path, find_address: FindAddress) -> None:
        self._api = api
        self._nested = nested
        self._access = access
        self._find_address = find_address
        self._names: list[str] = []
        self._connections = Connections(self._answer, "metrics API")

    async def serve(self, port: int) -> None:
        while True:
            address, (signer, self._names) = await self._await_start()
            try:
                tls, authority = build_tls(self._access, signer), read_authority(self._access)
                await together(self._connections.serve(port, tls, address), self._keep(address, port, authority))
            except (OSError, TypeError, ValueError) as error:  # the authority may be none; the rest of the syncer goes on
                log.warning("the metrics API cannot be served at %s: %s", address, error)
                await asyncio.sleep(_KEEP_SECONDS)

    async def _await_start(self) -> tuple[str, Proxy]:
        while True:
            try:
                address, proxy = await self._find_address(), await read_proxy(self._nested)
                if address and proxy:
                    return address, proxy
            except ApiError as error:
                log.info("the metrics API cannot start yet: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)

    async def _keep(self, address: str, port: int, authority: str) -> NoReturn:
        while True:
            delay = _KEEP_SECONDS
            try:
                await register(self._nested, address, port, authority)
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
    context = auth.new_tls(access)
    context.load_verify_locations(cadata=authority)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def read_authority(access: Path) -> str:
    """The authority that signs our certificate, PEM as base64: the nested API server's own."""
    (cluster,) = credentials.read_files(str(access / SYNCER_KUBECONFIG)).clusters.values()
    found: str = cluster.content["certificate-authority-data"]
    return found


async def read_proxy(nested: Api) -> Proxy | None:
    """As the API server says; None as long as it does not, or an admin has written something else. Raises `ApiError`."""
    found = await nested.find(kinds.CONFIG_MAP, _AUTHENTICATION, "kube-system")
    data = (found or {}).get("data") or {}
    authority = data.get("requestheader-client-ca-file")
    try:
        names = json.loads(data.get("requestheader-allowed-names") or "[]")
    except (ValueError, RecursionError):
        return None
    if not authority or not authority.isascii():
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return authority, names


async def register(nested: Api, address: str, port: int, authority: str) -> None:
    """Make or renew the objects. A tenant's own metrics-server is left alone. Raises `ApiError`.

    `authority`: PEM as base64, of this server's certificate.
    """
    found = await nested.find(kinds.API_SERVICE, f"{VERSION}.{GROUP}")
    if found is not None and labels_of(found).get(labels.MANAGED_BY) != "nestor":
        return
    await nested.apply(kinds.SERVICE, build_service())
    await nested.apply(kinds.ENDPOINT_SLICE, build_slice(address, port))
    await nested.apply(kinds.CLUSTER_ROLE, build_role())
    await nested.apply(kinds.API_SERVICE, build_api_service(authority))


def build_service() -> Object:
    """Headless, so that it takes no address, and without a selector."""
    meta = {"name": NAME, "namespace": NAMESPACE, "labels": _OURS}
    return {"metadata": meta, "spec": {"clusterIP": "None", "ports": [{"name": "https", "port": _SERVICE_PORT}]}}


def build_slice(address: str, port: int) -> Object:
    """Where the server is: the API server calls endpoints, not Services."""
    of = {"kubernetes.io/service-name": NAME, "endpointslice.kubernetes.io/managed-by": "nestor"}
    return {
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": _OURS | of},
        "addressType": "IPv6" if ":" in address else "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }


def build_role() -> Object:
    """Lets those who may view a namespace see what its pods use, as metrics-server's own role does."""
    aggregated = {f"rbac.authorization.k8s.io/aggregate-to-{role}": "true" for role in ("view", "edit", "admin")}
    rules = [{"apiGroups": [GROUP], "resources": ["pods", "nodes"], "verbs": ["get", "list"]}]
    return {"metadata": {"name": "system:aggregated-metrics-reader", "labels": _OURS | aggregated}, "rules": rules}


def build_api_service(authority: str) -> Object:
    return {
        "metadata": {"name": f"{VERSION}.{GROUP}", "labels": _OURS},
        "spec": {
            "group": GROUP,
            "version": VERSION,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "caBundle": authority,
            "service": {"name": NAME, "namespace": NAMESPACE, "port": _SERVICE_PORT},
        },
    }
