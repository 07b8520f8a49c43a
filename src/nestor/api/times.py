"""Times in Kubernetes' format: RFC 3339, whole seconds, UTC."""

from __future__ import annotations

import datetime


def now() -> datetime.datetime:
    """The current time, with time zone UTC."""
    return datetime.datetime.now(datetime.UTC)


def write(time: datetime.datetime) -> str:
    """Format a time, for example `2025-01-31T12:00:00Z`."""
    return time.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(text: str) -> datetime.datetime:
    """Parse a time. Raises `ValueError` for malformed text, such as a time without a zone."""
    found = datetime.datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"no time zone in '{text}'")
    return found


def timestamp() -> str:
    """The current time, formatted."""
    return write(now())


def seconds_since(text: str, at: datetime.datetime | None = None) -> float:
    """Seconds from the time in `text` until `at` (default: now); negative if `text` lies in the future."""
    return ((at or now()) - read(text)).total_seconds()
