"""A provider for a backend that speaks interLink."""

from __future__ import annotations

from functools import partial

from nestor.api.backend_kinds import Interlink
from nestor.overflow.interlink.provider import InterlinkProvider
from nestor.overflow.interlink.settings import Limits, Oidc, Settings, Tls
from nestor.overflow.vnode.backend.secrets import MissingSecret, Secrets
from nestor.pods.providers.base import Backend
from nestor.pods.providers.errors import Unauthorized


def build(own: Interlink, secrets: Secrets) -> Backend:
    """The provider. Raises `MissingSecret`, and `ValueError` with what is wrong with its settings."""
    return InterlinkProvider(_read_interlink(own, secrets))


def _read_interlink(own: Interlink, secrets: Secrets) -> Settings:
    oidc, token = own.oidc, own.token_ref
    return Settings(
        own.url,
        own.hop,
        own.discovery,
        own.peers_path,
        oidc=Oidc(oidc.token_url, oidc.client_id, secrets.read_ref(oidc.client_secret_ref), oidc.scopes, oidc.audience or "")
        if oidc
        else None,
        bearer=partial(_read_token, secrets, token.name, token.key) if token else None,
        tls=_read_tls(own, secrets),
        limits=Limits(call_seconds=own.timeout_seconds),
    )


def _read_tls(own: Interlink, secrets: Secrets) -> Tls:
    tls = own.tls
    if tls is None:
        return Tls()
    name = tls.client_certificate_secret_name
    return Tls(
        secrets.read_ref(tls.ca_ref),
        secrets.read(name, "tls.crt") if name else "",
        secrets.read(name, "tls.key") if name else "",
        tls.server_name or "",
    )


def _read_token(secrets: Secrets, name: str, key: str) -> str:
    try:
        return secrets.current(name, key)
    except MissingSecret as error:
        raise Unauthorized(f"{error} is missing") from None
