"""Kubernetes quantities: `500m`, `2`, `512Mi`."""

from __future__ import annotations

import re
from decimal import Decimal

_SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18,
    "Ki": Decimal(2) ** 10,
    "Mi": Decimal(2) ** 20,
    "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40,
    "Pi": Decimal(2) ** 50,
    "Ei": Decimal(2) ** 60,
}
_QUANTITY = re.compile(r"^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]{0,2})$")


def parse_quantity(text: str) -> Decimal:
    """A Kubernetes quantity as a number. Raises `ValueError`."""
    match = _QUANTITY.match(text)
    if not match or match[2] not in _SUFFIXES:
        raise ValueError(f"'{text}' is not a quantity")
    return Decimal(match[1]) * _SUFFIXES[match[2]]


def find_larger(one: str, other: str) -> str:
    """The larger quantity, as it is written; `one` if they are equal. Raises `ValueError`."""
    return max(one, other, key=parse_quantity)


def find_smaller(one: str, other: str) -> str:
    """The smaller quantity, as it is written; `one` if they are equal. Raises `ValueError`."""
    return min(one, other, key=parse_quantity)


def write_quantity(total: Decimal) -> str:
    """A number as a Kubernetes quantity, in whole units or thousandths."""
    return str(int(total)) if total == total.to_integral_value() else f"{int(total * 1000)}m"
