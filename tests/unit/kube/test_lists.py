"""Lists are read item by item, and only their own items are trimmed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nestor.kube import kinds, pages
from nestor.kube.errors import Unreachable

Object = dict[str, Any]
WITH_ALL: Object = {
    "apiVersion": "v1",
    "metadata": {"resourceVersion": "9", "items": [{"a": 1}]},
    "items": [{"metadata": {"name": 'a"],}'}, "items": [{"b": [1, {"c": None}]}]}, {"x": "ü\ud800\n", "y": -1.5e3}, {}],
    "kind": "PodList",
}


@pytest.mark.parametrize(
    "found", [WITH_ALL, {"items": []}, {"items": None}, {"items": {"a": 1}}, {}, {"kind": "Status", "code": 404}], ids=str
)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_is_read_as_it_was_written(found: Object, indent: int | None) -> None:
    assert pages.parse_list(json.dumps(found, indent=indent).encode(), lambda item: item) == found
    assert pages.parse_list(json.dumps(found, ensure_ascii=True).encode(), dict) == found


def test_only_its_own_items_are_trimmed_each_before_the_next_is_read() -> None:
    seen: list[Object] = []

    def trim(item: Object) -> Object:
        seen.append(item)
        return {"number": len(seen)}

    with pytest.raises(json.JSONDecodeError):
        pages.parse_list(json.dumps(WITH_ALL)[:-60].encode(), trim)
    assert seen[0] == WITH_ALL["items"][0]
    seen.clear()
    found = pages.parse_list(json.dumps(WITH_ALL).encode(), trim)
    assert seen == WITH_ALL["items"]
    assert found == WITH_ALL | {"items": [{"number": 1}, {"number": 2}, {"number": 3}]}


@pytest.mark.parametrize("text", ["", "x", "[]", "{", '{"items": [', '{"items": [1', '{"items": [1 2]}', '{"a" 1}', '{"a": 1,}'])
def test_what_is_no_list_is_told(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        pages.parse_list(text.encode(), lambda item: item)


async def test_an_answer_that_is_no_json_is_as_bad_as_none() -> None:
    async def answer(*_: Any, **__: Any) -> str:
        return "<html>"

    with pytest.raises(Unreachable, match="the answer is not a list"):
        await pages.read(answer, kinds.POD, None, {})
