"""`Api`: the few verbs that Nestor uses on the objects of one API server."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

from nestor.api.objects import Object
from nestor.kube import credentials, errors, pages
from nestor.kube.connection import Connection
from nestor.kube.kinds import POD, Kind
from nestor.kube.pace import Pace
from nestor.kube.pages import Trim
from nestor.kube.transport import Transport

Patch = Literal["merge", "json", "strategic", "apply"]

_PATCH_TYPES: dict[Patch, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class Api(Transport):
    """A client of one API server. Close it, or use it as an async context manager.

    Every call may raise `nestor.kube.errors.ApiError` or one of its subclasses; nothing here retries. With a `pace`, `create`,
    `replace` and `patch` may also raise `RetryLater`, without having asked the server.
    """

    def __init__(self, connection: Connection, *, manager: str = "nestor", timeout: float = 30) -> None:
        super().__init__(connection, timeout=timeout)
        self._manager = manager
        self.pace: Pace | None = None
        self._trims: dict[Kind, Trim] = {}

    @classmethod
    async def connect(
        cls, kubeconfig: str | None = None, context: str | None = None, *, manager: str = "nestor", timeout: float = 30
    ) -> Self:
        """Connect by a context of `kubeconfig` when given, else by the pod's service account, else by the user's own kubeconfig.

        Raises `Unreachable` if none of them can be used.
        """
        if kubeconfig is None and credentials.is_in_cluster() and not os.environ.get("KUBECONFIG"):
            return cls(credentials.connect_pod(), manager=manager, timeout=timeout)
        return cls(await credentials.connect_files(kubeconfig, context), manager=manager, timeout=timeout)

    @classmethod
    async def from_kubeconfig(
        cls, content: Object, *, manager: str = "nestor", timeout: float = 30, token: Callable[[], str] | None = None
    ) -> Self:
        """Connect by a kubeconfig that is already in memory.

        `token` reads the bearer token for each request. It must not wait, and may raise `ApiError`.
        """
        connection = await credentials.connect_content(content)
        if token is not None:
            connection = replace(connection, authorization=lambda: f"Bearer {token()}")
        return cls(connection, manager=manager, timeout=timeout)

    def with_certificate(self, file: Path) -> Api:
        """A client of the same server that shows the certificate in `file`, which holds its key as well, and nothing of ours."""
        return self._as(certificate=file, key=file, authorization=None)

    def in_the_name_of(self, user: str, groups: Sequence[str]) -> Api:
        """A client of the same server, with connections of its own, that acts as a user in these groups. RBAC must let ours
        `impersonate` them.
        """
        return self._as(person=(("Impersonate-User", user), *(("Impersonate-Group", group) for group in groups)))

    def _as(self, **identity: Any) -> Api:
        return Api(replace(self._connection, **identity), manager=self._manager, timeout=self._timeout)

    def trim(self, kind: Kind, trim: Trim) -> None:
        """Have all objects of a kind trimmed as soon as they are parsed, because those that users write may be huge."""
        self._trims[kind] = trim

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        return self._trim(kind, await self.request("GET", kind.path(namespace, name)))

    async def find(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        try:
            return await self.get(kind, name, namespace)
        except errors.NotFound:
            return None

    async def list(
        self, kind: Kind, namespace: str | None = None, *, labels: str = "", fields: str = "", trim: Trim | None = None
    ) -> list[Object]:
        """All objects that match the label and field selectors, each with `apiVersion` and `kind` filled in; of each only what
        `trim` keeps, since they may be many, and however large.
        """
        own = trim or self._trims.get(kind)
        return (await pages.read(self.request, kind, namespace, _select(labels, fields), own)).items

    async def create(
        self, kind: Kind, body: Object, *, subresource: str | None = None, name: str | None = None, strict: bool = False
    ) -> Object:
        """Create `body` (its namespace is read from its metadata). Raises `Conflict` when it exists.

        `strict`: fields that the server does not know raise `Invalid`, which names them; otherwise they are dropped.
        """
        self._check_pace(body)
        namespace = body.get("metadata", {}).get("namespace")
        path = kind.path(namespace, name, subresource)
        result: Object = await self.request("POST", path, self._query(strict=strict), body)
        return result

    async def try_create(self, kind: Kind, body: Object) -> None:
        """Have the server answer as to `create`, and create nothing."""
        path = kind.path(body["metadata"].get("namespace"))
        await self.request("POST", path, self._query(strict=False) | {"dryRun": "All"}, body)

    async def replace(self, kind: Kind, body: Object, *, subresource: str | None = None) -> Object:
        """Replace the object; with a `resourceVersion` in it, only if nobody changed it since (else `Conflict`)."""
        self._check_pace(body)
        meta = body["metadata"]
        path = kind.path(meta.get("namespace"), meta["name"], subresource)
        result: Object = await self.request("PUT", path, {"fieldManager": self._manager}, body)
        return result

    async def apply(self, kind: Kind, body: Object, *, subresource: str | None = None) -> Object:
        """Server-side apply, ours winning over other managers; creates what is missing."""
        meta = body["metadata"]
        path = kind.path(meta.get("namespace"), meta["name"], subresource)
        query = {"fieldManager": self._manager, "force": "true"}
        full = {"apiVersion": kind.api_version, "kind": kind.name, **body}
        how = _PATCH_TYPES["apply"]
        return self._trim(kind, await self.request("PATCH", path, query, full, content_type=how))

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str | None,
        patch: Any,
        *,
        subresource: str | None = None,
        how: Patch = "merge",
        strict: bool = False,
    ) -> Object:
        """Patch one object. JSON patches may carry `test` operations (failed ones raise `Invalid`). `strict`: see `create`."""
        self._check_pace(patch)
        path = kind.path(namespace, name, subresource)
        query = self._query(strict=strict)
        return self._trim(kind, await self.request("PATCH", path, query, patch, content_type=_PATCH_TYPES[how]))

    def _trim(self, kind: Kind, found: Object) -> Object:
        trim = self._trims.get(kind)
        return trim(found) if trim else found

    def _query(self, *, strict: bool) -> dict[str, str]:
        return {"fieldManager": self._manager} | ({"fieldValidation": "Strict"} if strict else {})

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        version: str | None = None,
        grace_seconds: int | None = None,
    ) -> bool:
        """Ask for deletion; False when it was gone already. `uid` guards against a successor of the same name, and `version`
        beside it against a change since then.
        """
        options: Object = {"propagationPolicy": "Background"}
        if uid:
            options["preconditions"] = {"uid": uid} | ({"resourceVersion": version} if version else {})
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        try:
            await self.request("DELETE", kind.path(namespace, name), None, options, parse=bool)  # the object, which nobody reads
        except errors.NotFound:
            return False
        except errors.Conflict:
            if uid:  # the precondition: another object has this name by now, ours is gone
                return False
            raise
        return True

    async def delete_all(self, kind: Kind, namespace: str) -> None:
        """Ask for the deletion of all of a kind in a namespace. The answer, all that is deleted, is not read."""
        async with self.open("DELETE", kind.path(namespace), None, {"propagationPolicy": "Background"}):
            pass

    def _check_pace(self, body: Any) -> None:
        if self.pace is not None:
            self.pace.check(body)

    async def read_log(self, name: str, namespace: str, container: str, *, limit: int) -> bytes:
        """What a pod's container has said so far: its first `limit` bytes at most."""
        query = {"container": container, "limitBytes": str(limit)}
        found = bytearray()
        async with self.open("GET", POD.path(namespace, name, "log"), query) as response:
            async for chunk in response.content.iter_any():
                found += chunk
                if len(found) >= limit:
                    break
        return bytes(found[:limit])

    async def watch(self, kind: Kind, namespace: str | None, query: dict[str, str]) -> AsyncGenerator[Object, None]:
        """Raw watch events until the server ends the stream. Raises `Gone` when the version is too old. Close it (`aclosing`)."""
        async with self.open("GET", kind.path(namespace), {**query, "watch": "true"}, timeout=0) as response:
            pending = b""
            async for chunk in response.content.iter_any():
                *lines, pending = (pending + chunk).split(b"\n")
                self._check_length(pending)
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        status = event["object"]
                        raise errors.from_response(status.get("code", 500), json.dumps(status).encode())
                    yield event
                await asyncio.sleep(0)


def _select(labels: str, fields: str) -> dict[str, str]:
    return {key: value for key, value in (("labelSelector", labels), ("fieldSelector", fields)) if value}
