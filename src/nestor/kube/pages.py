"""Lists of any length, page by page, so that neither side holds all of one as text."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeVar

from nestor.api.objects import Object
from nestor.kube import errors
from nestor.kube.kinds import Kind

SIZE = 500
"""Objects in a page, as in client-go."""

SMALL_SIZE = 10
"""Where each object is trimmed as it is read: then each may have a megabyte or more, and a page is in memory as text."""

PAGE_BYTES = 16 * 1024 * 1024
"""How long the answer may be where pages have sizes that fit the objects: about what a small page has at the most."""

T = TypeVar("T")

Trim = Callable[[Object], Object]
"""What is kept of an object. Changes nothing of its argument."""

Parse = Callable[[bytes], Any]
"""Reads an answer. Raises `ValueError` if it is not JSON."""

Request = Callable[..., Awaitable[Any]]


class Listed(NamedTuple):
    """Objects, each with `apiVersion` and `kind`, and the version to watch from."""

    items: list[Object]
    version: str


async def read(
    request: Request, kind: Kind, namespace: str | None, query: dict[str, str], trim: Trim | None = None, most: int | None = None
) -> Listed:
    """All objects that `query` selects, as they were at one moment. Raises `ApiError`, as `TooLong` for more than `most`.

    With `trim`, pages are small. Otherwise they are only where objects are large: 500 of a megabyte would end this process.
    """
    try:
        return await _read(request, kind, namespace, query, trim, SMALL_SIZE if trim else SIZE, most)
    except errors.Gone:
        # The server no longer knows the moment: pages that come slowly may outlive it.
        return await _read(request, kind, namespace, query, trim, None, most)


async def read_many(request: Request, kind: Kind, namespace: str | None, query: dict[str, str], trim: Trim) -> list[Object]:
    """Like `read`, for very many objects of which few should be huge, and none need be believed to be small.

    Pages become longer as long as their answers are short. Raises `ApiError`; `Gone` if it takes longer than the server knows
    the moment.
    """
    return (await _read(request, kind, namespace, query, trim, SIZE)).items


async def _read(
    request: Request,
    kind: Kind,
    namespace: str | None,
    query: dict[str, str],
    trim: Trim | None,
    first: int | None,
    most: int | None = None,
) -> Listed:
    """`first`: how many objects the first page has, and no other has more; None for all of them in one."""
    path, items, next_page, size = kind.path(namespace), [], "", first
    parse = partial(parse_list, trim=trim) if trim else json.loads
    while True:
        page = query | ({"limit": str(size)} if size else {}) | ({"continue": next_page} if next_page else {})
        try:
            longest = PAGE_BYTES if size and size > SMALL_SIZE else None
            answer = await request("GET", path, page, parse=parse, most=longest)
        except errors.TooLong:
            size = SMALL_SIZE
            continue
        if not isinstance(answer, dict):
            raise errors.Unreachable(f"GET {path}: the answer is not a list")
        items += [{"apiVersion": kind.api_version, "kind": kind.name, **item} for item in answer.get("items") or []]
        if most is not None and len(items) > most:
            raise errors.TooLong(f"GET {path}: there are more than {most}")
        meta = answer.get("metadata") or {}
        next_page = meta.get("continue") or ""
        if not next_page:
            return Listed(items, meta.get("resourceVersion", ""))
        size = min(first, 2 * size) if first and size else None


def parse_list(content: bytes, trim: Trim) -> Object:
    """A list whose items are parsed and trimmed one by one, so that a page is never in memory as objects.

    Only its own items are trimmed, whatever the objects contain. Raises `json.JSONDecodeError`.
    """
    reader = _Reader(content.decode(errors="replace"))

    def read_member() -> tuple[str, Any]:
        key = reader.read_value()
        reader.take(":")
        if key == "items" and reader.peek() == "[":
            reader.take("[")
            return key, [trim(item) for item in reader.read_all(reader.read_value, "]")]
        return key, reader.read_value()

    reader.take("{")
    return dict(reader.read_all(read_member, "}"))


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def peek(self) -> str:
        """The next character that is not space; empty at the end."""
        self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches nothing, too
        return self._text[self._at : self._at + 1]

    def take(self, *marks: str) -> str:
        """The next character, which must be one of these."""
        found = self.peek()
        if found not in marks:
            raise json.JSONDecodeError(f"expecting {' or '.join(marks)}", self._text, self._at)
        self._at += 1
        return found

    def read_value(self) -> Any:
        self.peek()
        found, self._at = _DECODER.raw_decode(self._text, self._at)
        return found

    def read_all(self, read: Callable[[], T], end: str) -> Iterator[T]:
        """What `read` finds between commas, up to the mark at the end."""
        if self.peek() == end:
            self.take(end)
            return
        yield read()
        while self.take(",", end) != end:
            yield read()


_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
