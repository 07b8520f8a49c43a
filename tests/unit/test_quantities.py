"""Kubernetes quantities."""

from __future__ import annotations

from decimal import Decimal

import pytest

from nestor.quantities import find_larger, parse_quantity, write_quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [("2", "2"), ("500m", "0.5"), ("1.5", "1.5"), ("1Ki", "1024"), ("512Mi", "536870912"), ("1e3", "1000"), ("-1", "-1")],
)
def test_a_quantity_is_a_number(text: str, number: str) -> None:
    assert parse_quantity(text) == Decimal(number)


@pytest.mark.parametrize("text", ["much", "", "1KiB", "1 Gi", "10.0.0.1"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises((ValueError, ArithmeticError)):
        parse_quantity(text)


def test_the_refusal_names_the_text() -> None:
    with pytest.raises(ValueError, match="'much' is not a quantity"):
        parse_quantity("much")


@pytest.mark.parametrize(("number", "text"), [("2", "2"), ("0.5", "500m"), ("1536", "1536")])
def test_a_number_is_written_in_whole_units_or_thousandths(number: str, text: str) -> None:
    assert write_quantity(Decimal(number)) == text


@pytest.mark.parametrize(
    ("one", "other", "larger"), [("10Gi", "9Gi", "10Gi"), ("1Gi", "2000Mi", "2000Mi"), ("1Gi", "1024Mi", "1Gi")]
)
def test_the_larger_quantity_is_found_as_it_is_written(one: str, other: str, larger: str) -> None:
    assert find_larger(one, other) == larger
