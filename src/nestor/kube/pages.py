"""Lists of any length, page by page, so that neither side holds all of one as text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from nestor.kube import errors
from nestor.kube.kinds import Kind
from nestor.objects import Object

SIZE = 500
"""Objects in a page, as in client-go."""

Request = Callable[[str, str, dict[str, str]], Awaitable[Any]]
"""Method, path, query."""


class Listed(NamedTuple):
    """Objects, each with `apiVersion` and `kind`, and the version to watch from."""

    items: list[Object]
    version: str


async def read(request: Request, kind: Kind, namespace: str | None, query: dict[str, str]) -> Listed:
    """All objects that `query` selects, as they were at one moment. Raises `ApiError`."""
    try:
        return await _read(request, kind, namespace, query | {"limit": str(SIZE)})
    except errors.Gone:
        # The server no longer knows the moment: pages that come slowly may outlive it.
        return await _read(request, kind, namespace, query)


async def _read(request: Request, kind: Kind, namespace: str | None, query: dict[str, str]) -> Listed:
    path, items = kind.path(namespace), []
    while True:
        answer = await request("GET", path, query)
        items += [{"apiVersion": kind.api_version, "kind": kind.name, **item} for item in answer.get("items") or []]
        meta = answer.get("metadata") or {}
        if not meta.get("continue"):
            return Listed(items, meta.get("resourceVersion", ""))
        query = query | {"continue": meta["continue"]}
