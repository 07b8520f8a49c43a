"""The kubelet API of all virtual nodes: one server, one certificate."""

import asyncio
import ssl
from collections.abc import Callable

from nestor.api.contracts import vnode
from nestor.kube import Api, ApiError, kinds
from nestor.overflow.vnode.identity import Certificate, Wish
from nestor.overflow.vnode.nodes import Nodes
from nestor.overflow.vnode.pods import status
from nestor.overflow.vnode.pods.registry import Registry
from nestor.overflow.vnode.settings import Settings
from nestor.pods.kubelet import auth
from nestor.pods.kubelet.auth import ReviewedAccess
from nestor.pods.kubelet.routes import Route
from nestor.pods.kubelet.server import Find, KubeletServer, Served
from nestor.pods.providers.base import Backend

_RETRY_SECONDS = 5.0


class NodeApi:
    """Serves logs and streams of the pods on all nodes. `problem` says why it does not yet."""

    def __init__(
        self,
        api: Api,
        settings: Settings,
        nodes: Nodes,
        backend: Backend,
        registry: Registry,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_change` is called when the cluster begins or stops to issue what was asked for."""
        self._api = api
        self._on_change = on_change
        self._settings = settings
        self._nodes = nodes
        self._server = KubeletServer(backend, build_finder(registry), ReviewedAccess(registry.find_api), is_shared=True)
        self._certificate: Certificate | None = None
        self._is_open = False

    @property
    def certificates(self) -> list[Certificate]:
        """The serving certificate, once it is asked for."""
        return [self._certificate] if self._certificate is not None else []

    def find_problem(self) -> str | None:
        """Why it does not serve, if that may soon change. Without nodes there is nobody to serve; and where the cluster issues no
        serving certificate, the nodes take pods all the same: only logs and commands fail, which the operator tells.
        """
        if self._certificate is None or self._certificate.is_lacking:
            return None
        return self._certificate.problem or (None if self._is_open else "the kubelet API is not open yet")

    async def run(self, backend: str) -> None:
        first = await self._nodes.wait_for_one()
        self._nodes.speaker = first.name
        wish = Wish(backend, first.name, "serving", self._settings.address)
        certificate = self._certificate = Certificate(self._api, wish, self._settings.folder, self._on_change)
        await certificate.obtain()
        tls = build_tls(certificate, await self._read_authority())

        async def renew() -> None:
            tls.load_cert_chain(certificate.file)

        async with asyncio.TaskGroup() as group:
            group.create_task(certificate.keep(renew))
            self._is_open = True
            await self._server.serve(self._settings.kubelet_port, lambda: tls, self._settings.address)

    async def _read_authority(self) -> str:
        """Those that sign clients' certificates. When they are replaced, our own certificates are not accepted either, and that
        begins a new process.
        """
        while True:
            try:
                found = await self._api.get(kinds.CONFIG_MAP, vnode.AUTHENTICATION_CONFIG_MAP, vnode.AUTHENTICATION_NAMESPACE)
            except ApiError:
                found = {}
            if authority := (found.get("data") or {}).get(vnode.AUTHENTICATION_KEY):
                return str(authority)
            await asyncio.sleep(_RETRY_SECONDS)


def build_tls(certificate: Certificate, authority: str) -> ssl.SSLContext:
    """TLS settings: clients may show a certificate, or a token in their request."""
    context = auth.new_tls()
    context.load_cert_chain(certificate.file)
    context.load_verify_locations(cadata=authority)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def build_finder(registry: Registry) -> Find:
    """Finds the pods on the nodes. If a call names a UID, it must match."""

    def find(route: Route) -> Served | None:
        entry = registry.find(route.namespace, route.pod)
        if entry is None or (route.uid and route.uid != entry.uid):
            return None
        # A backend may be silent, or answer with texts of its own, for as long as such a container has no log.
        is_waiting = not entry.mark or (entry.remote is not None and status.is_waiting(entry.remote, route.container))
        words = f'container "{route.container}" in pod "{route.pod}" is waiting to start'
        return Served(entry.last, str, words if is_waiting and not entry.is_over else "")

    return find
