"""Kubernetes quantities: `500m`, `2`, `512Mi`."""

import re
from decimal import Decimal

_LARGE = "kMGTPE"
_SUFFIXES = {
    **{unit: Decimal(1000) ** -power for power, unit in enumerate(("", "m", "u", "n"))},
    **{unit: Decimal(1000) ** power for power, unit in enumerate(_LARGE, start=1)},
    **{f"{unit.upper()}i": Decimal(1024) ** power for power, unit in enumerate(_LARGE, start=1)},
}
LENGTH_LIMIT = 32
"""Characters of a quantity: an API server writes its own with fewer."""
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([eE][+-]?[0-9]{1,2})|([a-zA-Z]{0,2}))")


def parse_quantity(text: str) -> Decimal:
    """A Kubernetes quantity as a number. Raises `ValueError`, also for a text or an exponent of more digits than any real one:
    whoever may write a quantity must not choose how long it takes to handle.
    """
    match = _QUANTITY.fullmatch(text) if len(text) <= LENGTH_LIMIT else None
    if match is None or (match[3] or "") not in _SUFFIXES:
        raise ValueError(f"'{text[:LENGTH_LIMIT]}' is not a quantity")
    return Decimal(match[1] + (match[2] or "")) * _SUFFIXES[match[3] or ""]


def find_larger(one: str, other: str) -> str:
    """The larger quantity, as it is written; `one` if they are equal. Raises `ValueError`."""
    return max(one, other, key=parse_quantity)


def find_smaller(one: str, other: str) -> str:
    """The smaller quantity, as it is written; `one` if they are equal. Raises `ValueError`."""
    return min(one, other, key=parse_quantity)


def write_quantity(total: Decimal) -> str:
    """A number as a Kubernetes quantity, in whole units or thousandths."""
    return str(int(total)) if total == total.to_integral_value() else f"{int(total * 1000)}m"
