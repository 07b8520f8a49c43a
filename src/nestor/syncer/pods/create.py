"""A host pod for a nested pod, or the reason why there is none."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn

from nestor.api import conditions
from nestor.api.policy import Policy
from nestor.kube import ApiError, Conflict, Forbidden, Invalid, NotFound, RetryLater, kinds
from nestor.objects import Object, labels_of
from nestor.providers.base import InvalidInput, NotYet, Provider
from nestor.syncer.copies.memory import Told
from nestor.syncer.view.context import Context
from nestor.times import timestamp
from nestor.translate import messages, refusals, status
from nestor.translate import pod as translate

REFUSED = "PodRefused"
_SUSPENDED = "The nested cluster is suspended; the pod will start when the cluster is resumed."
_RETRY_SECONDS = 5
"""A quota or policy of the host may give way, what is missing may come; nothing tells us when."""


Need = Callable[[Object], Awaitable[None]]
"""Has something ready that a nested pod needs, before its host pod is created. May raise `ApiError` and `RetryLater`."""


class PodCreator:
    """Creates host pods, after what they need."""

    def __init__(self, context: Context, provider: Provider, needs: Sequence[Need]) -> None:
        self._context = context
        self._provider = provider
        self._needs = needs
        self._told: Told[str] = Told()
        self._namespaces = context.caches.nested(kinds.NAMESPACE)
        self.creating = 0
        """Host pods that may appear without being asked for again: their creation is under way."""

    async def create(self, nested: Object) -> None:
        """Create the host pod, or tell why not."""
        policy = self._context.caches.policy
        if found := refusals.find_refusals(nested, policy):
            await self._refuse(nested, "; ".join(found))
            return
        try:
            if await self._is_prepared(nested):
                await self._create(nested, policy)
        except (Forbidden, Invalid, InvalidInput) as error:
            await self._postpone(nested, error)

    async def hold(self, nested: Object) -> None:
        """The pod gets no host pod for now: say so where people look for it."""
        self.forget(nested["metadata"]["uid"])
        await self._write_waiting(nested, conditions.SUSPENDED, _SUSPENDED)

    def forget(self, uid: str) -> None:
        """The pod is gone; what was told about it does not matter any more."""
        self._told.forget(uid)

    async def _is_prepared(self, nested: Object) -> bool:
        """False when the pod is gone already: no token can be bound to it."""
        try:
            await self._prepare(nested)
        except (NotFound, Conflict) as error:
            if self._context.caches.nested_by_uid.get(nested["metadata"]["uid"]) is None:
                return False
            await self._postpone(nested, error)  # its service account is missing, say; nobody tells us when that comes
        return True

    async def _create(self, nested: Object, policy: Policy) -> None:
        caches = self._context.caches
        namespaces = {item["metadata"]["name"]: labels_of(item) for item in self._namespaces}
        host = translate.build_pod(nested, self._context.target, namespaces, policy)
        if caches.is_suspended or caches.policy != policy:
            return  # since we began; this pod is looked at again
        self.creating += 1
        try:
            await self._provider.create(host)
        except NotYet as error:
            raise RetryLater(1, error.message) from None
        finally:
            self.creating -= 1

    async def _prepare(self, nested: Object) -> None:
        await asyncio.gather(*(need(nested) for need in self._needs))

    async def _postpone(self, nested: Object, error: ApiError | InvalidInput) -> NoReturn:
        message = messages.translate(error.message, messages.build_words(nested, self._context.target))
        await self._refuse(nested, message)
        raise RetryLater(_RETRY_SECONDS, message) from error

    async def _refuse(self, nested: Object, message: str) -> None:
        """Say it once by an event, and for as long as it lasts by the condition that tells why a pod is Pending."""
        uid = nested["metadata"]["uid"]
        if self._told.is_news(uid, message):
            await self._context.recorder.post(nested, "Warning", REFUSED, message)
            await self._write_waiting(nested, REFUSED, message)

    async def _write_waiting(self, nested: Object, reason: str, message: str) -> None:
        desired = status.build_waiting(nested, reason, message, timestamp())
        patch = status.build_patch(nested, desired, partial=True)
        meta = nested["metadata"]
        if patch is not None:
            with contextlib.suppress(NotFound, Conflict):  # gone or replaced meanwhile: its own event follows
                await self._context.nested.patch(
                    kinds.POD, meta["name"], meta["namespace"], patch, subresource="status", how="strategic"
                )
