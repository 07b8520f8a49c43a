"""Addresses of this machine."""

import socket


def own_address() -> str | None:
    """One that is not loopback, which nothing of a user's may reach; None on a machine without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))  # sends nothing
        except OSError:
            return None
        return str(probe.getsockname()[0])
