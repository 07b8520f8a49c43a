"""What the demo decides about a job that it meets."""

from __future__ import annotations

from typing import Any

import pytest

from devcluster.demo import follow, show

Object = dict[str, Any]


def test_a_delay_says_what_is_waited_for() -> None:
    waiting = {"type": "Ready", "status": "False", "reason": "ServerNotReady", "message": "not yet"}
    assert follow.describe_delay({"metadata": {}, "status": {"conditions": [waiting]}}) == "ServerNotReady: not yet"
    assert "operator" in follow.describe_delay({"metadata": {}})


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ({"a": 1}, {"a": 1, "className": "default"}, True),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 2, "d": 3}]}}, True),
        ({"a": [1]}, {"a": [1, 2]}, False),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {}, False),
        ({"a": {}}, {"a": []}, False),
    ],
)
def test_defaults_of_the_server_make_no_difference(wanted: Object, found: Object, same: bool) -> None:
    assert show.is_same(wanted, found) is same
