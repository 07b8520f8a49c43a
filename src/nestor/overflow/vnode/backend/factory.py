"""Makes the provider that an OverflowBackend asks for, with the Secrets that it names.

A process has one backend, and imports what that takes.
"""
# ruff: noqa: PLC0415

import asyncio
import base64
import binascii
from collections.abc import Callable, Iterable
from functools import partial

from nestor.api.backend_kinds import Interlink, RemoteCluster
from nestor.api.model import SecretKey
from nestor.api.objects import Object, spec_of
from nestor.api.overflowbackend import OverflowBackendSpec
from nestor.kube import Api, ApiError, NotFound, kinds, kubeconfig
from nestor.overflow.vnode.restart import Restart
from nestor.pods.providers.base import Backend
from nestor.pods.providers.errors import Unauthorized

LOOK_SECONDS = 30.0
CLUSTER_PERIOD_SECONDS = 1.0
"""Between two looks at the statuses of a backend that watches its pods: that costs it nothing."""


class MissingSecret(Exception):
    """A Secret, or a key of it, is not there. The text names it."""


class Secrets:
    """Secrets of the operator's namespace, by name. What was read with `current` may change; the rest begins a new process."""

    def __init__(self, api: Api, namespace: str, names: Iterable[str]) -> None:
        self._api = api
        self._namespace = namespace
        self._names = tuple(names)
        self._data: dict[str, dict[str, str]] = {}
        self._used: set[tuple[str, str]] = set()

    async def load(self) -> None:
        """Read all of them. Raises `ApiError`; one that is missing has no keys."""
        for name in self._names:
            try:
                found = await self._api.get(kinds.SECRET, name, self._namespace)
                self._data[name] = found.get("data") or {}
            except NotFound:
                self._data[name] = {}

    async def watch(self) -> None:
        """Keep them up to date until cancelled. Raises `Restart`."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            before = {key: self._data.get(key[0], {}).get(key[1]) for key in self._used}
            try:
                await self.load()
            except ApiError:
                continue
            for (name, key), value in before.items():
                if self._data.get(name, {}).get(key) != value:
                    raise Restart(f"Secret '{name}' has changed")

    def read(self, name: str, key: str) -> str:
        """The value that this process is set up with. Raises `MissingSecret`."""
        self._used.add((name, key))
        return self.current(name, key)

    def current(self, name: str, key: str) -> str:
        """The value as it is now. Raises `MissingSecret`."""
        text = self._data.get(name, {}).get(key)
        if text is None:
            raise MissingSecret(f"key '{key}' of Secret '{name}'")
        try:
            return base64.b64decode(text).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise MissingSecret(f"key '{key}' of Secret '{name}' is no text") from None

    def read_ref(self, ref: SecretKey | None) -> str:
        """The same as `read`; empty if there is no reference."""
        return self.read(ref.name, ref.key) if ref is not None else ""


async def build_backend(body: Object, secrets: Secrets) -> Backend:
    """The provider of this OverflowBackend. Raises `MissingSecret`, and `ValueError` with what is wrong with it."""
    spec = OverflowBackendSpec.model_validate(spec_of(body))
    if spec.interlink is not None:
        return _build_interlink(spec.interlink, secrets)
    if spec.kubernetes is not None:
        return await _build_remote(body, spec, spec.kubernetes, secrets)
    raise ValueError(f"backends of type '{spec.type}' are not supported by this version")


def find_period(spec: OverflowBackendSpec) -> float:
    """Seconds between two calls for statuses."""
    return spec.interlink.status_period_seconds if spec.interlink is not None else CLUSTER_PERIOD_SECONDS


def find_patience(spec: OverflowBackendSpec) -> float:
    """Seconds that a call may take."""
    if spec.interlink is not None:
        return spec.interlink.timeout_seconds
    from nestor.overflow.remote.settings import CALL_SECONDS

    return CALL_SECONDS


def _build_interlink(own: Interlink, secrets: Secrets) -> Backend:
    from nestor.overflow.interlink.provider import InterlinkProvider
    from nestor.overflow.interlink.settings import Limits, Settings, Tls

    tls = Tls()
    if own.tls is not None:
        name = own.tls.client_certificate_secret_name
        pair = (secrets.read(name, "tls.crt"), secrets.read(name, "tls.key")) if name else ("", "")
        tls = Tls(secrets.read_ref(own.tls.ca_ref), *pair)
    settings = Settings(
        own,
        secrets.read_ref(own.oidc.client_secret_ref if own.oidc else None),
        partial(_read_token, secrets, own.token_ref, Unauthorized) if own.token_ref else None,
        tls,
        Limits(call_seconds=own.timeout_seconds),
    )
    return InterlinkProvider(settings)


def _read_token(secrets: Secrets, ref: SecretKey, refuse: Callable[[str], Exception]) -> str:
    try:
        return secrets.current(ref.name, ref.key).strip()
    except MissingSecret as error:
        raise refuse(f"{error} is missing") from None


async def _build_remote(body: Object, spec: OverflowBackendSpec, own: RemoteCluster, secrets: Secrets) -> Backend:
    from nestor.overflow.remote.provider import RemoteProvider
    from nestor.overflow.remote.settings import Access, Settings

    if own.server is None:
        access = Access(kubeconfig.read_other(secrets.read_ref(own.kubeconfig_ref)))
    else:
        content = kubeconfig.build_with_token(own.server.url, secrets.read_ref(own.server.ca_ref))
        refuse = partial(ApiError, 401, "Unauthorized")
        access = Access(content, partial(_read_token, secrets, own.server.token_ref, refuse))
    settings = Settings(
        access,
        body["metadata"]["name"],
        body["metadata"]["uid"],
        own.namespace,
        own.node_selector,
        own.shape_labels,
        own_shapes={shape.name: shape.labels for shape in spec.shapes} if spec.shapes is not None else None,
    )
    return RemoteProvider(settings, await access.connect())
