"""Lists of any length, page by page, so that neither side holds all of one as text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol

from nestor.kube import errors
from nestor.kube.kinds import Kind
from nestor.objects import Object

SIZE = 500
"""Objects in a page, as in client-go."""

SMALL_SIZE = 50
"""Where each object is shortened as it is read: then they may be large, and a page is in memory as text."""

Shorten = Callable[[Object], Any]
"""Given each JSON object of an answer as soon as it is parsed; returns what takes its place."""


class Request(Protocol):
    """`Api.request`."""

    def __call__(
        self, method: str, path: str, query: dict[str, str] | None = None, *, shorten: Shorten | None = None
    ) -> Awaitable[Any]:
        """The parsed answer."""


def shorten_objects(trim: Callable[[Object], Object]) -> Shorten:
    """Trims each Kubernetes object as soon as it is parsed, so that a page is never in memory as a whole."""

    def shorten(found: Object) -> Object:
        meta = found.get("metadata")
        is_object = isinstance(meta, dict) and all(key in meta for key in ("uid", "resourceVersion", "name"))
        return trim(found) if is_object else found

    return shorten


class Listed(NamedTuple):
    """Objects, each with `apiVersion` and `kind`, and the version to watch from."""

    items: list[Object]
    version: str


async def read(
    request: Request, kind: Kind, namespace: str | None, query: dict[str, str], shorten: Shorten | None = None
) -> Listed:
    """All objects that `query` selects, as they were at one moment. Raises `ApiError`."""
    try:
        size = SMALL_SIZE if shorten else SIZE
        return await _read(request, kind, namespace, query | {"limit": str(size)}, shorten)
    except errors.Gone:
        # The server no longer knows the moment: pages that come slowly may outlive it.
        return await _read(request, kind, namespace, query, shorten)


async def _read(request: Request, kind: Kind, namespace: str | None, query: dict[str, str], shorten: Shorten | None) -> Listed:
    path, items = kind.path(namespace), []
    while True:
        answer = await (request("GET", path, query, shorten=shorten) if shorten else request("GET", path, query))
        items += [{"apiVersion": kind.api_version, "kind": kind.name, **item} for item in answer.get("items") or []]
        meta = answer.get("metadata") or {}
        if not meta.get("continue"):
            return Listed(items, meta.get("resourceVersion", ""))
        query = query | {"continue": meta["continue"]}
