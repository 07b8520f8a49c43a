"""Equal parts of objects are kept once, and nothing is taken for equal that is not."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestor.kube.sharing import TEXT_LIMIT, Sharing

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, "", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("most", [1, 3, 1000])
@settings(deadline=None)
@given(values=st.lists(VALUES, max_size=8))
def test_what_comes_out_is_what_went_in(most: int, values: list[Any]) -> None:
    share, before = Sharing(most), copy.deepcopy(values)
    found = [share(value) for value in values]
    assert json.dumps(found) == json.dumps(before)  # not only equal: `1`, `1.0` and `true` are different
    assert json.dumps(values) == json.dumps(before)


def build_pod(number: int) -> dict[str, Any]:
    """One of many."""
    return {
        "metadata": {"name": f"pod-{number}"},
        "spec": {"containers": [{"name": "app", "env": [{"name": "A", "value": "x"}]}]},
    }


def test_equal_parts_are_one() -> None:
    share = Sharing()
    one, two = share(build_pod(1)), share(build_pod(2))
    assert one["spec"] is two["spec"]
    assert one["metadata"] is not two["metadata"]


def test_as_many_are_remembered_as_there_may_be() -> None:
    share = Sharing(10)
    first = share(build_pod(1))["spec"]
    for number in range(100):
        assert share(build_pod(number))["spec"] == first
        assert len(share._known) <= 10


def test_very_long_texts_are_not_remembered() -> None:
    share = Sharing()
    share("x" * (TEXT_LIMIT + 1))
    assert not share._known
