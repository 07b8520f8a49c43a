"""Times in Kubernetes' format: RFC 3339, whole seconds, UTC; and durations as people write them."""

import datetime
import re

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


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
    return write(now())


def seconds_since(text: str, at: datetime.datetime | None = None) -> float:
    """Seconds from the time in `text` until `at` (default: now); negative if `text` lies in the future."""
    return ((at or now()) - read(text)).total_seconds()


def parse_duration(text: str) -> float:
    """`90s`, `10m`, `1h30m`, or a number of seconds. Raises `ValueError` with a sentence."""
    if text.isdigit():
        return float(text)
    if not text or _DURATION.sub("", text):
        raise ValueError(f"'{text}' is not a duration; write, for example, '90s', '10m' or '1h30m'")
    return sum(float(count) * _UNITS[unit] for count, unit in _DURATION.findall(text))
