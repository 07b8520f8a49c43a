"""Where the backend listens."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ports:
    """TCP ports of its address."""

    server: int = 3000
    """Hop 1, plain HTTP."""
    server_tls: int = 3443
    """Hop 1, for clients with a certificate."""
    plugin: int = 4000
    """Hop 2, plain HTTP."""
    plugin_tls: int = 4443
    """Hop 2, for clients with a certificate."""
