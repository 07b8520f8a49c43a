"""Times as Kubernetes writes them: RFC 3339, whole seconds, UTC."""

from __future__ import annotations

import datetime


def now() -> datetime.datetime:
    """The current time."""
    return datetime.datetime.now(datetime.UTC)


def write(time: datetime.datetime) -> str:
    """The time as Kubernetes writes it."""
    return time.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(text: str) -> datetime.datetime:
    """The time that is written. Raises `ValueError`."""
    return datetime.datetime.fromisoformat(text)


def timestamp() -> str:
    """The current time, written."""
    return write(now())


def seconds_since(text: str, at: datetime.datetime | None = None) -> float:
    """Seconds from a written time until `at` (until now, when left out); negative for a time that is yet to come."""
    return ((at or now()) - read(text)).total_seconds()
