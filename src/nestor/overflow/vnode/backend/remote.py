"""A provider for a backend that is another cluster."""

from __future__ import annotations

from functools import partial

from nestor.api.backend_kinds import RemoteCluster
from nestor.api.objects import Object
from nestor.api.overflowbackend import OverflowBackendSpec
from nestor.kube import ApiError, kubeconfig
from nestor.overflow.remote import settings as remote
from nestor.overflow.remote.provider import RemoteProvider
from nestor.overflow.vnode.backend.secrets import MissingSecret, Secrets
from nestor.pods.providers.base import Backend


def build(body: Object, spec: OverflowBackendSpec, own: RemoteCluster, secrets: Secrets) -> Backend:
    """The provider. Raises `MissingSecret`, and `ValueError` with what is wrong with its settings."""
    return RemoteProvider(_read_remote(body, spec, own, secrets))


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
