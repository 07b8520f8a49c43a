"""The bare control plane of the integration tests, for providers that need one."""

from tests.integration.conftest import control_plane, host, namespace

__all__ = ["control_plane", "host", "namespace"]
