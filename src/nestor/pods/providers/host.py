"""The host cluster as the place where the pods of a nested cluster run."""

from collections.abc import Iterator
from contextlib import contextmanager

from nestor.api.objects import Object
from nestor.kube import Api, Conflict, Forbidden, Invalid, kinds
from nestor.kube import NotFound as NotThere
from nestor.pods.providers.base import Part
from nestor.pods.providers.errors import InvalidInput, NoRoom, NotFound, NotYet
from nestor.pods.providers.upgrade import PodStreams
from nestor.pods.translate.target import nested_uid

EXCEEDED = "exceeded quota: "
"""How the message of `NoRoom` begins. The name of the quota follows."""


class HostProvider:
    """Runs the pods of a nested cluster. Every method may be repeated, and touches exactly its pod, never a successor.

    Raises the errors of `providers.errors`, and `ApiError` if the host's API server failed or could not be reached.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self.logs = self.streams = PodStreams(api, _where, _in_our_words)

    async def create(self, pod: Object) -> Object:
        """Run this pod, and return it as it is stored. One that runs for the same nested pod already is returned unchanged.

        Raises `InvalidInput` if the host rejects the pod or does not know one of its fields, and `NotYet` while another nested
        pod's has the name.
        """
        meta = pod["metadata"]
        try:
            with _in_our_words():
                return await self._api.create(kinds.POD, pod, strict=True)
        except Conflict:
            there = await self._api.find(kinds.POD, meta["name"], meta["namespace"])
            if there is None or nested_uid(there) != nested_uid(pod):
                raise NotYet("an earlier pod with this name is still terminating") from None
            return there

    async def delete(self, pod: Object, *, grace_seconds: int | None = None, is_unchanged: bool = False) -> None:
        """Ask for the pod to end; do not wait for it. A later call with fewer seconds shortens the time.

        `is_unchanged`: only if its `metadata.resourceVersion` is still that of `pod`.
        """
        meta = pod["metadata"]
        version = meta["resourceVersion"] if is_unchanged else None
        with _in_our_words():
            await self._api.delete(
                kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"], version=version, grace_seconds=grace_seconds
            )

    async def patch(self, pod: Object, patch: Object, part: Part = "") -> None:
        """Apply a strategic merge patch. Raises `NotFound`, `InvalidInput`, and `NotYet` on a conflict with another change."""
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
