"""Kubernetes quantities."""

from decimal import Decimal

import pytest

from nestor.api.quantities import find_larger, parse_quantity, write_quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [("2", "2"), ("500m", "0.5"), ("1.5", "1.5"), ("1Ki", "1024"), ("512Mi", "536870912"), ("1e3", "1000"), ("-1", "-1")],
)
def test_a_quantity_is_a_number(text: str, number: str) -> None:
    assert parse_quantity(text) == Decimal(number)


NONE = ["much", "", "1KiB", "1 Gi", "10.0.0.1", ".", "1e", "1\n", "\u0661", "inf", "nan", "1e5Gi"]
HUGE = [
    "1e9999999",
    "0e9999999",
    "1e400000",
    "1e-400000",
    "1e100",
    "9" * 33,
    "9" * 10_000,
    "0." + "9" * 10_000,
    "1e" + "9" * 10_000,
]


@pytest.mark.parametrize("text", [*NONE, *HUGE])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity") as refused:
        parse_quantity(text)
    assert f"'{text[:32]}'" in str(refused.value)
    assert len(str(refused.value)) < 100


@pytest.mark.parametrize("text", ["1e99", "9" * 32, "9" * 30 + "Ei", "1e-99", "." + "9" * 31, "5."])
def test_no_quantity_is_a_number_that_takes_long_to_handle(text: str) -> None:
    number = parse_quantity(text)
    assert abs(number.adjusted()) < 100
    assert len(write_quantity(number)) < 110


@pytest.mark.parametrize(("number", "text"), [("2", "2"), ("0.5", "500m"), ("1536", "1536")])
def test_a_number_is_written_in_whole_units_or_thousandths(number: str, text: str) -> None:
    assert write_quantity(Decimal(number)) == text


@pytest.mark.parametrize(
    ("one", "other", "larger"), [("10Gi", "9Gi", "10Gi"), ("1Gi", "2000Mi", "2000Mi"), ("1Gi", "1024Mi", "1Gi")]
)
def test_the_larger_quantity_is_found_as_it_is_written(one: str, other: str, larger: str) -> None:
    assert find_larger(one, other) == larger
