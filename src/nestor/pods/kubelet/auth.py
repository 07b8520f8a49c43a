"""Who may call the kubelet API: an API server by its certificate, or as on a real node, whoever its API server lets in."""

import asyncio
import ssl
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nestor.api.contracts.cluster import CLIENT_AUTHORITY, KUBELET_CERTIFICATE, KUBELET_KEY
from nestor.api.objects import Object, status_of
from nestor.kube import Api, ApiError, kinds
from nestor.kube.serving.http import Request
from nestor.pods.kubelet.routes import Route

API_SERVER = "system:apiserver"
ALLOWED_SECONDS, REFUSED_SECONDS = 300, 30
"""How long an answer is kept, as kubelets do."""
REVIEWS = 5
"""Questions of a kind to the API server at the same time: anybody who reaches the port can cause one about a token, and must not
hold up those who are known by a certificate.
"""
QUEUE_LIMIT = 50
"""Further ones that wait."""
_CACHE_LIMIT = 1000
_TOKEN_LIMIT = 16 * 1024


@dataclass(frozen=True)
class Caller:
    name: str
    groups: Sequence[str] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Denied(Exception):
    """The caller gets this HTTP status and text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class ApiServerOnly:
    """Only the API server may call, and anything: it has asked for its user's rights already."""

    async def identify(self, _: Request, certificate: dict[str, Any] | None) -> Caller:
        """The authority that signs the API server's certificate also signs those of users, who must not get in."""
        caller = read_subject(certificate)
        if caller.name != API_SERVER:
            raise Denied(403, "Forbidden")
        return caller

    async def check(self, caller: Caller, route: Route, pod: Object | None) -> None:
        """It may."""


class ReviewedAccess:
    """Asks the API server, as the node that the pod is on. `find_api` returns a client for that; "" is any of our nodes."""

    def __init__(self, find_api: Callable[[str], Api | None], clock: Callable[[], float] = time.monotonic) -> None:
        self._find_api = find_api
        self._clock = clock
        self._reviews = {kind: asyncio.Semaphore(REVIEWS) for kind in (kinds.TOKEN_REVIEW, kinds.SUBJECT_REVIEW)}
        self._waiting: Counter[kinds.Kind] = Counter()
        self._known: OrderedDict[tuple[Caller, str, str], tuple[bool, float]] = OrderedDict()

    async def identify(self, request: Request, certificate: dict[str, Any] | None) -> Caller:
        caller = read_subject(certificate)
        if caller.name:
            return caller
        token = _find_token(request)
        if not token:
            raise Denied(401, "Unauthorized")
        answer = status_of(await self._ask(kinds.TOKEN_REVIEW, {"token": token}, ""))
        if not answer.get("authenticated"):
            raise Denied(401, "Unauthorized")
        user = answer.get("user") or {}
        extra = tuple((key, tuple(values)) for key, values in sorted((user.get("extra") or {}).items()))
        return Caller(user.get("username", ""), tuple(user.get("groups") or ()), user.get("uid", ""), extra)

    async def check(self, caller: Caller, route: Route, pod: Object | None) -> None:
        """Commands count as `create` in any protocol: WebSockets begin with a GET, which reads nothing.

        About a pod that does not exist, those may ask who may ask about all nodes. The refusal does not tell which it was.
        """
        node = (pod["spec"].get("nodeName") or "") if pod else ""
        verb = "get" if route.subresource == "log" else "create"
        if not await self._may(caller, verb, node):
            raise Denied(403, f"Forbidden (user={caller.name}, verb={verb}, resource=nodes, subresource=proxy)")

    async def _may(self, caller: Caller, verb: str, node: str) -> bool:
        key, now = (caller, verb, node), self._clock()
        is_allowed, until = self._known.get(key, (False, 0.0))
        if now < until:
            return is_allowed
        spec: Object = {
            "user": caller.name,
            "groups": list(caller.groups),
            "uid": caller.uid,
            "extra": {name: list(values) for name, values in caller.extra},
            "resourceAttributes": {"verb": verb, "version": "v1", "resource": "nodes", "subresource": "proxy", "name": node},
        }
        is_allowed = bool(status_of(await self._ask(kinds.SUBJECT_REVIEW, spec, node)).get("allowed"))
        self._known[key] = is_allowed, now + (ALLOWED_SECONDS if is_allowed else REFUSED_SECONDS)
        self._known.move_to_end(key)
        while len(self._known) > _CACHE_LIMIT:
            self._known.popitem(last=False)
        return is_allowed

    async def _ask(self, kind: kinds.Kind, spec: Object, node: str) -> Object:
        api = self._find_api(node)
        if api is None:
            raise Denied(503, "the node is not connected to its API server yet")
        if self._waiting[kind] >= REVIEWS + QUEUE_LIMIT:
            raise Denied(429, "too many callers wait for the API server to tell who they are")
        body = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {}, "spec": spec}
        self._waiting[kind] += 1
        try:
            async with self._reviews[kind]:
                return await api.create(kind, body)
        except ApiError as error:
            raise Denied(500, f"the API server cannot tell who may call: {error.message}") from None
        finally:
            self._waiting[kind] -= 1


Access = ApiServerOnly | ReviewedAccess
"""`identify` returns the caller, by the certificate that TLS has verified or by the request; `check` says whether it may do this
with that pod, or with one that does not exist. Both raise `Denied`.
"""


def read_subject(certificate: dict[str, Any] | None) -> Caller:
    """The user and groups that API servers read in a client's certificate; an empty name if there is none."""
    pairs = [pair for entry in (certificate or {}).get("subject", ()) for pair in entry]
    name = next((value for key, value in reversed(pairs) if key == "commonName"), "")
    return Caller(name, tuple(value for key, value in pairs if key == "organizationName"))


def build_tls(access: Path) -> ssl.SSLContext:
    """TLS settings of the kubelet API of nested nodes: our own certificate, and the authority that signs those of clients."""
    context = new_tls(access)
    context.load_verify_locations(access / CLIENT_AUTHORITY)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def new_tls(access: Path | None = None) -> ssl.SSLContext:
    """TLS settings for a server of HTTP/1.1, with the certificate in the folder, or none yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if access is not None:
        context.load_cert_chain(access / KUBELET_CERTIFICATE, access / KUBELET_KEY)
    return context


def _find_token(request: Request) -> str:
    found = next((value for name, value in request.headers if name == "authorization"), "")
    scheme, _, token = found.partition(" ")
    return token.strip()[:_TOKEN_LIMIT] if scheme.lower() == "bearer" else ""
