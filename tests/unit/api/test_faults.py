"""Whatever a user wrote gives a sentence, and one that can be shown."""

from typing import Any

import pytest

from nestor.api import faults


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"a": [1, "x", None, True, 1.5, {}]}, None),
        ({"a": float("nan")}, "`x.a` must be a finite number"),
        ({"a": [float("inf")]}, "`x.a[0]` must be a finite number"),
        ({"a": 2**63}, "`x.a` must be a number of at most 63 bits"),
        ({"a": 10**5000}, "`x.a` must be a number of at most 63 bits"),
        ({"a": "\ud800"}, "`x.a` must not contain half a character (a `\\ud…` escape without its other half)"),
        ({"\udfff": 1}, "`x` must not contain half a character (a `\\ud…` escape without its other half) in its keys"),
    ],
)
def test_what_json_cannot_carry_is_named(value: Any, fault: str | None) -> None:
    assert faults.find_fault(value, "x") == fault


def test_aliases_that_multiply_end_at_the_limit() -> None:
    bomb: Any = ["lol"] * 10
    for _ in range(30):
        bomb = [bomb] * 10
    assert faults.find_fault(bomb, "x") == "`x` must not contain more than 100000 values"


@pytest.mark.parametrize(
    ("path", "name"), [(("a", 0, "b"), "x.a[0].b"), (("a\nb`c",), "x.a?b?c"), (("k" * 100,), "x." + "k" * 80 + "…"), ((), "x")]
)
def test_fields_have_names_that_fit_into_a_message(path: tuple[str | int, ...], name: str) -> None:
    assert faults.name_field("x", path) == name


@pytest.mark.parametrize("value", ["x" * 100_000, [[[[[[[[1]]]]]]]], {"a": "\ud800" * 1000}, [10**5000], [-(10**5000)]])
def test_values_are_shown_short(value: Any) -> None:
    assert len(faults.show(value)) < 200
    assert faults.show(value).encode()
