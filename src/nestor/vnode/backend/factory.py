"""Makes the provider that an OverflowBackend asks for."""

from __future__ import annotations

from functools import partial

from nestor.api.overflowbackend import Interlink, OverflowBackendSpec, RemoteCluster
from nestor.kube import ApiError, kubeconfig
from nestor.objects import Object, spec_of
from nestor.providers.base import Backend, Unauthorized
from nestor.providers.interlink.provider import InterlinkProvider
from nestor.providers.interlink.settings import Limits, Oidc, Settings, Tls
from nestor.providers.remote import settings as remote
from nestor.providers.remote.provider import RemoteProvider
from nestor.vnode.backend.secrets import MissingSecret, Secrets

CLUSTER_PERIOD_SECONDS = 1.0
"""Between two looks at the statuses of a backend that watches its pods: that costs it nothing."""
CLUSTER_PATIENCE_SECONDS = 30.0
"""How long an API server may take to answer."""


def build_backend(body: Object, secrets: Secrets) -> Backend:
    """The provider of this OverflowBackend. Raises `MissingSecret`, and `ValueError` with what is wrong with it."""
    spec = OverflowBackendSpec.model_validate(spec_of(body))
    if spec.interlink is not None:
        return InterlinkProvider(_read_interlink(spec.interlink, secrets))
    if spec.kubernetes is not None:
        return RemoteProvider(_read_remote(body, spec, spec.kubernetes, secrets))
    raise ValueError(f"backends of type '{spec.type}' are not supported by this version")


def find_period(spec: OverflowBackendSpec) -> float:
    """Seconds between two calls for statuses."""
    return spec.interlink.status_period_seconds if spec.interlink is not None else CLUSTER_PERIOD_SECONDS


def find_patience(spec: OverflowBackendSpec) -> float:
    """Seconds that a call may take."""
    return spec.interlink.timeout_seconds if spec.interlink is not None else CLUSTER_PATIENCE_SECONDS


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


def _read_remote(body: Object, spec: OverflowBackendSpec, own: RemoteCluster, secrets: Secrets) -> remote.Settings:
    meta = body["metadata"]
    return remote.Settings(
        _read_access(own, secrets),
        meta["name"],
        meta["uid"],
        own.namespace,
        own.node_selector,
        own.shape_labels,
        own_shapes={shape.name: shape.labels for shape in spec.shapes} if spec.shapes is not None else None,
    )


def _read_access(own: RemoteCluster, secrets: Secrets) -> remote.Access:
    if own.server is None:
        return remote.Access(kubeconfig.read_other(secrets.read_ref(own.kubeconfig_ref)))
    server, token = own.server, own.server.token_ref
    content = kubeconfig.build_with_token(server.url, secrets.read_ref(server.ca_ref))
    return remote.Access(content, partial(_read_account_token, secrets, token.name, token.key))


def _read_account_token(secrets: Secrets, name: str, key: str) -> str:
    try:
        return secrets.current(name, key).strip()
    except MissingSecret as error:
        raise ApiError(401, "Unauthorized", f"{error} is missing") from None


def _read_token(secrets: Secrets, name: str, key: str) -> str:
    try:
        return secrets.current(name, key)
    except MissingSecret as error:
        raise Unauthorized(f"{error} is missing") from None
