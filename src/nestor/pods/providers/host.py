"""The host cluster as a provider: pods run in one of its namespaces; labels tell which nested cluster they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nestor.api.objects import Object
from nestor.kube import Api, Conflict, Forbidden, Invalid, kinds
from nestor.kube import NotFound as NotThere
from nestor.kube.kinds import right
from nestor.pods.providers.base import Part, uid_of
from nestor.pods.providers.errors import InvalidInput, NoRoom, NotFound, NotYet
from nestor.pods.providers.upgrade import PodStreams

RIGHTS = (
    right(kinds.POD, "get", "list", "create", "patch", "delete"),
    right(kinds.POD, "get", subresource="log"),
    # get: WebSocket upgrades; create: SPDY, and WebSocket since Kubernetes 1.35.
    *(right(kinds.POD, "get", "create", subresource=name) for name in ("exec", "attach", "portforward")),
    *(right(kinds.POD, "patch", subresource=name) for name in ("ephemeralcontainers", "resize", "status")),
)
"""The permissions it needs in the host namespace."""

EXCEEDED = "exceeded quota: "
"""How the message of `NoRoom` begins. The name of the quota follows."""


class HostProvider:
    """Runs pods in `namespace`; `selector` selects those of this nested cluster."""

    def __init__(self, api: Api, namespace: str, selector: str) -> None:
        self._api = api
        self._namespace = namespace
        self._selector = selector
        self.logs = self.streams = PodStreams(api, _where, _in_our_words)

    async def create(self, pod: Object) -> Object:
        """Only names are unique on the host: if one is taken, the UID of its pod decides."""
        meta = pod["metadata"]
        try:
            with _in_our_words():
                return await self._api.create(kinds.POD, pod, strict=True)
        except Conflict:
            there = await self._api.find(kinds.POD, meta["name"], meta["namespace"])
            if there is None or uid_of(there) != uid_of(pod):
                raise NotYet("an earlier pod with this name is still terminating") from None
            return there

    async def delete(self, pod: Object, *, grace_seconds: int | None = None, is_unchanged: bool = False) -> None:
        meta = pod["metadata"]
        version = meta["resourceVersion"] if is_unchanged else None
        with _in_our_words():
            await self._api.delete(
                kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"], version=version, grace_seconds=grace_seconds
            )

    async def get(self, pod: Object) -> Object:
        meta = pod["metadata"]
        with _in_our_words():
            found = await self._api.get(kinds.POD, meta["name"], meta["namespace"])
        if found["metadata"]["uid"] != meta["uid"]:
            raise NotFound(f"pod {meta['name']} was replaced")
        return found

    async def list(self) -> list[Object]:
        return await self._api.list(kinds.POD, self._namespace, labels=self._selector)

    async def patch(self, pod: Object, patch: Object, part: Part = "") -> None:
        """The UID in the patch makes the API server reject it for a successor."""
        meta = pod["metadata"]
        body = patch | {"metadata": {"uid": meta["uid"]} | (patch.get("metadata") or {})}
        try:
            with _in_our_words():
                await self._api.patch(
                    kinds.POD, meta["name"], meta["namespace"], body, subresource=part or None, how="strategic", strict=True
                )
        except Conflict as error:
            raise NotYet(error.message) from None


def _where(pod: Object) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Turn API errors into provider errors. The HTTP status stays that of the host API server."""
    try:
        yield
    except NotThere as error:
        raise NotFound(error.message, error.status) from error
    except (Conflict, Forbidden, Invalid) as error:
        if error.is_replaced:
            raise NotFound(error.message) from error
        if isinstance(error, Conflict):
            raise
        quota = error.message.partition(EXCEEDED)
        if isinstance(error, Forbidden) and quota[1]:
            raise NoRoom("".join(quota[1:]), error.status) from error
        raise InvalidInput(error.message, error.status) from error
