"""Who may call the kubelet API."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from nestor.api.contracts.cluster import CLIENT_AUTHORITY, KUBELET_CERTIFICATE, KUBELET_KEY
from nestor.api.objects import Object
from nestor.kube.serving.http import Request
from nestor.pods.kubelet.routes import Route

API_SERVER = "system:apiserver"


@dataclass(frozen=True)
class Caller:
    """Somebody whose name was checked."""

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


class Access(Protocol):
    """Decides who may call."""

    async def identify(self, request: Request, certificate: dict[str, Any] | None) -> Caller:
        """The caller, by the certificate that TLS has verified, or by the request. Raises `Denied`."""

    async def check(self, caller: Caller, route: Route, pod: Object | None) -> None:
        """Raises `Denied` unless the caller may do this with that pod; None: with one that does not exist."""


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


def read_subject(certificate: dict[str, Any] | None) -> Caller:
    """The user and groups that API servers read in a client's certificate; an empty name if there is none."""
    pairs = [pair for entry in (certificate or {}).get("subject", ()) for pair in entry]
    name = next((value for key, value in reversed(pairs) if key == "commonName"), "")
    return Caller(name, tuple(value for key, value in pairs if key == "organizationName"))


def build_tls(access: Path) -> ssl.SSLContext:
    """TLS settings of the kubelet API of nested nodes: our own certificate, and the authority that signs those of clients."""
    context = new_tls()
    context.load_cert_chain(access / KUBELET_CERTIFICATE, access / KUBELET_KEY)
    context.load_verify_locations(access / CLIENT_AUTHORITY)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def new_tls() -> ssl.SSLContext:
    """TLS settings for a server of HTTP/1.1, without a certificate yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context
