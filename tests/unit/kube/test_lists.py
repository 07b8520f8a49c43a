"""Lists are read item by item, and only their own items are trimmed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.kube import kinds, pages
from nestor.kube.errors import TooLong, Unreachable

LISTED = re.compile(r"\.list\(\s*kinds\.(POD|SERVICE|CONFIG_MAP|SECRET)\b(?![^\n]*trim=)")
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


class Server:
    """Answers lists of objects of these sizes in bytes, page by page."""

    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes
        self.pages: list[int] = []
        self.longest = 0

    async def __call__(
        self, method: str, path: str, query: dict[str, str] | None = None, *, parse: Any = json.loads, most: int | None = None
    ) -> Any:
        """One page."""
        begin, limit = int((query or {}).get("continue", "0")), int((query or {})["limit"])
        chosen = self.sizes[begin : begin + limit]
        if most is not None and sum(chosen) > most:
            self.longest = max(self.longest, most)
            raise TooLong("too long")
        self.pages.append(len(chosen))
        self.longest = max(self.longest, sum(chosen))
        end = begin + len(chosen)
        more = {"continue": str(end)} if end < len(self.sizes) else {}
        items = [{"metadata": {"name": str(begin + index)}} for index in range(len(chosen))]
        return parse(json.dumps({"metadata": {"resourceVersion": "1"} | more, "items": items}).encode())


MEGABYTE = 1024 * 1024


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ([1000] * 1200, [500, 500, 200]),
        ([], [0]),
        ([1000] * 600 + [MEGABYTE] * 200 + [1000] * 2000, None),
        ([MEGABYTE] * 300, [10] * 30),
        ([1000, MEGABYTE] * 200, None),
    ],
)
@pytest.mark.parametrize("trim", [None, dict])
async def test_objects_are_read_in_long_pages_unless_they_are_large(sizes: list[int], found: list[int] | None, trim: Any) -> None:
    server = Server(*sizes)
    listed = await pages.read(server, kinds.POD, None, {}, trim)
    assert [item["metadata"]["name"] for item in listed.items] == [str(number) for number in range(len(sizes))]
    assert server.longest <= pages.PAGE_BYTES
    if found is not None:
        assert server.pages == found
    else:
        assert len(server.pages) < len(sizes) / 7
        assert len(sizes) < 1000 or server.pages[-2] == pages.SIZE, "long again after large ones"


def test_what_users_write_is_listed_trimmed() -> None:
    """Pods may have more than a megabyte each; the operator and the virtual nodes look at those of everybody."""
    folder = Path(__file__).parents[3] / "src" / "nestor"
    found = [
        path for part in ("operator", "overflow") for path in (folder / part).rglob("*.py") if LISTED.search(path.read_text())
    ]
    assert found == []
