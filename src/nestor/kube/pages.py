"""Lists of any length, page by page, so that neither side holds all of one as text."""

import json
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from nestor.api.objects import Object
from nestor.kube import errors
from nestor.kube.kinds import Kind

SIZE = 500
"""Objects in a page, as in client-go."""

SMALL_SIZE = 10
"""The same where they are huge: each may have a megabyte or more."""

PAGE_BYTES = 16 * 1024 * 1024
"""How long a page may be, which is in memory as text: about what a small one has at the most."""

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

    Pages become short where objects are large, since 500 of a megabyte would end this process, and long again after them. With
    `trim`, each object is trimmed before the next is read.
    """
    path, next_page = kind.path(namespace), ""
    items: list[Object] = []
    size: int | None = SIZE

    def complete(item: Object) -> Object:
        full = {"apiVersion": kind.api_version, "kind": kind.name, **item}
        return trim(full) if trim else full

    while True:
        page = query | ({"limit": str(size)} if size else {}) | ({"continue": next_page} if next_page else {})
        longest = PAGE_BYTES if size and size > SMALL_SIZE else None
        try:
            answer = await request("GET", path, page, parse=partial(parse_list, trim=complete), most=longest)
        except errors.TooLong:
            if longest is None:
                raise
            size = SMALL_SIZE
            continue
        except errors.Gone:
            if size is None:
                raise
            # The server no longer knows the moment: pages that come slowly may outlive it. All in one page do not.
            items, next_page, size = [], "", None
            continue
        if not isinstance(answer, dict):
            raise errors.Unreachable(f"GET {path}: the answer is not a list")
        items += answer.get("items") or []
        if most is not None and len(items) > most:
            raise errors.TooLong(f"GET {path}: there are more than {most}")
        meta = answer.get("metadata") or {}
        next_page = meta.get("continue") or ""
        if not next_page:
            return Listed(items, meta.get("resourceVersion", ""))
        size = min(SIZE, 2 * size) if size else None


def parse_list(content: bytes, trim: Trim) -> Object:
    """A list whose items are parsed and trimmed one by one, so that a page is never in memory as objects.

    Only its own items are trimmed, whatever the objects contain. Raises `json.JSONDecodeError`.
    """
    text, at = content.decode(errors="replace"), 0

    def take(marks: str) -> str:
        """The next character, which must be one of these, and the space around it."""
        nonlocal at
        found = _MARK.match(text, at)
        if found is None or found[1] not in marks:
            raise json.JSONDecodeError(f"expecting one of {marks}", text, at)
        at = found.end()
        return found[1]

    def read() -> Any:
        nonlocal at
        found, at = _DECODER.raw_decode(text, at)
        return found

    def read_all(begin: str, end: str, read_one: Callable[[], T]) -> list[T]:
        """What is between two marks, divided by commas."""
        take(begin)
        if text.startswith(end, at):
            take(end)
            return []
        found = [read_one()]
        while take("," + end) != end:
            found.append(read_one())
        return found

    def read_member() -> tuple[str, Any]:
        key = read()
        take(":")
        if key == "items" and text.startswith("[", at):
            return key, read_all("[", "]", lambda: trim(read()))
        return key, read()

    return dict(read_all("{", "}", read_member))


_MARK = re.compile(r"[ \t\n\r]*([\[\]{},:])[ \t\n\r]*")
_DECODER = json.JSONDecoder()
