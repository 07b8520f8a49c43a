"""The port of a Service that a target names."""

from __future__ import annotations

from collections.abc import Iterable

from nestor.api.objects import Object


def find_port(ports: Iterable[Object], number: int) -> Object | None:
    """The TCP port of that number; None if there is none."""
    return next((item for item in ports if item["port"] == number and item.get("protocol", "TCP") == "TCP"), None)
