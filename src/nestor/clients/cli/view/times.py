"""Times and durations, as people write them."""

import datetime

from nestor.api.times import read


def parse_time(value: str | None) -> datetime.datetime | None:
    """A time of Kubernetes (RFC 3339); None if it is missing or malformed."""
    try:
        return read(value) if value else None
    except ValueError:
        return None


def seconds_between(start: str | None, end: str | None, now: datetime.datetime) -> float | None:
    """Seconds from `start` to `end`, or to `now` while there is no end; None before the start. Never negative: clocks differ."""
    begin = parse_time(start)
    if begin is None:
        return None
    return max(0.0, ((parse_time(end) or now) - begin).total_seconds())


def age(start: str | None, now: datetime.datetime) -> str:
    """Time since `start`, in its one or two largest units, as kubectl writes it."""
    seconds = seconds_between(start, None, now)
    return "" if seconds is None else short(seconds)


def short(seconds: float) -> str:
    """`42s`, `3m5s`, `2h`, `4d`: two units below ten of the larger one, else one."""
    whole = int(seconds)
    if whole < 120:
        return f"{whole}s"
    for unit, smaller, size, next_size in (("m", "s", 60, 1), ("h", "m", 3600, 60), ("d", "h", 86400, 3600)):
        count, rest = divmod(whole, size)
        if count < {"m": 120, "h": 48}.get(unit, 10**9):
            part = rest // next_size
            return f"{count}{unit}{part}{smaller}" if part and count < 10 else f"{count}{unit}"
    raise AssertionError("unreachable")
