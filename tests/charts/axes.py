"""Scales and the words beside them. Pure."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable

NAMES = {"reqps": "requests/s", "ops": "per second"}
"""What the numbers of a unit count, where the numbers alone do not say it."""
_FACTORS = (1, 2, 2.5, 5, 10)
_SECONDS = (5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)
_BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def find_ticks(most: float, unit: str, count: int = 4) -> list[float]:
    """Round numbers from 0 to at least `most`: about so many steps."""
    if unit == "bool_yes_no" or most == 0:
        return [0, 1]
    least = 1 if unit == "short" and most >= 1 else 0
    rough = max(most / count, least)
    scale = next((size for size, _ in _BYTES if rough >= size), 1) if unit == "bytes" else 1
    power = 10 ** math.floor(math.log10(rough / scale))
    factors = [factor for factor in _FACTORS if not (least and factor * power % 1)]
    step = scale * power * next(factor for factor in factors if factor * power * scale >= rough * 0.999)
    return [number * step for number in range(math.ceil(most / step - 1e-9) + 1)]


def format_value(value: float, unit: str) -> str:
    """A number of Grafana's `unit`, as short as it can be."""
    if unit == "bool_yes_no":
        return "Yes" if value else "No"
    if unit == "bytes":
        size, name = next(((size, name) for size, name in _BYTES if value >= size), (1, "B"))
        return f"{value / size:.3g} {name}"
    if unit == "s" and 0 < value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g}{' s' if unit == 's' else ''}"


def find_times(start: float, end: float, count: int = 5) -> list[float]:
    """Round times between these, at most so many, in seconds since the epoch."""
    step = next((step for step in _SECONDS if (end - start) / step <= count), _SECONDS[-1])
    first = math.ceil(start / step) * step
    return [float(time) for time in range(first, math.floor(end) + 1, step)]


def format_times(times: Iterable[float]) -> list[str]:
    """Times of the day, in UTC; with seconds where one of them is not a whole minute."""
    found = [datetime.datetime.fromtimestamp(time, datetime.UTC) for time in times]
    form = "%H:%M:%S" if any(moment.second for moment in found) else "%H:%M"
    return [moment.strftime(form) for moment in found]
