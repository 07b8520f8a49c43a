"""Makes the provider that an OverflowBackend asks for."""

from __future__ import annotations

from nestor.api.objects import Object, spec_of
from nestor.api.overflowbackend import OverflowBackendSpec
from nestor.overflow.vnode.backend.secrets import Secrets
from nestor.pods.providers.base import Backend

CLUSTER_PERIOD_SECONDS = 1.0
"""Between two looks at the statuses of a backend that watches its pods: that costs it nothing."""
CLUSTER_PATIENCE_SECONDS = 30.0
"""How long an API server may take to answer."""


def build_backend(body: Object, secrets: Secrets) -> Backend:
    """The provider of this OverflowBackend. Raises `MissingSecret`, and `ValueError` with what is wrong with it."""
    spec = OverflowBackendSpec.model_validate(spec_of(body))
    # Each where it is needed: a process has one backend, and imports what that takes.
    if spec.interlink is not None:
        from nestor.overflow.vnode.backend import interlink  # noqa: PLC0415

        return interlink.build(spec.interlink, secrets)
    if spec.kubernetes is not None:
        from nestor.overflow.vnode.backend import remote  # noqa: PLC0415

        return remote.build(body, spec, spec.kubernetes, secrets)
    raise ValueError(f"backends of type '{spec.type}' are not supported by this version")


def find_period(spec: OverflowBackendSpec) -> float:
    """Seconds between two calls for statuses."""
    return spec.interlink.status_period_seconds if spec.interlink is not None else CLUSTER_PERIOD_SECONDS


def find_patience(spec: OverflowBackendSpec) -> float:
    """Seconds that a call may take."""
    return spec.interlink.timeout_seconds if spec.interlink is not None else CLUSTER_PATIENCE_SECONDS
