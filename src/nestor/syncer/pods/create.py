"""A host pod for a nested pod, or the reason why there is none."""

from __future__ import annotations

import asyncio
import contextlib
from typing import NoReturn

from nestor.api import conditions
from nestor.kube import ApiError, Conflict, Forbidden, Invalid, NotFound, RetryLater, kinds
from nestor.objects import Object
from nestor.syncer.config import ConfigController
from nestor.syncer.context import Context
from nestor.syncer.service_links import LinksController
from nestor.syncer.tokens import TokenController
from nestor.times import timestamp
from nestor.translate import messages, refusals, status
from nestor.translate import pod as translate
from nestor.translate.references import find_references
from nestor.translate.target import nested_uid

REFUSED = "PodRefused"
_SUSPENDED = "The nested cluster is suspended: the pod starts when it is resumed."
_RETRY_SECONDS = 5
"""A quota or policy of the host may give way, what is missing may come; nothing tells us when."""


class PodCreator:
    """Creates host pods, after what they mount."""

    def __init__(self, context: Context, config: ConfigController, tokens: TokenController, links: LinksController) -> None:
        self._context = context
        self._config = config
        self._tokens = tokens
        self._links = links
        self._told: dict[str, str] = {}
        self.creating = 0
        """Host pods that may appear without being asked for again: their creation is under way."""

    async def create(self, nested: Object) -> None:
        """Create the host pod, or tell why not."""
        if found := refusals.find_refusals(nested, self._context.caches.policy):
            await self._refuse(nested, "; ".join(found))
            return
        try:
            if await self._is_prepared(nested):
                await self._create(nested)
        except (Forbidden, Invalid) as error:
            await self._postpone(nested, error)

    async def hold(self, nested: Object) -> None:
        """The pod gets no host pod for now: say so where people look for it."""
        self.forget(nested["metadata"]["uid"])
        await self._write_waiting(nested, conditions.SUSPENDED, _SUSPENDED)

    def forget(self, uid: str) -> None:
        """The pod is gone; what was told about it does not matter any more."""
        self._told.pop(uid, None)

    async def _is_prepared(self, nested: Object) -> bool:
        """False when the pod is gone already: no token can be bound to it."""
        try:
            await self._prepare(nested)
        except (NotFound, Conflict) as error:
            if self._context.caches.nested_by_uid.get(nested["metadata"]["uid"]) is None:
                return False
            await self._postpone(nested, error)  # its service account is missing, say; nobody tells us when that comes
        return True

    async def _create(self, nested: Object) -> None:
        caches = self._context.caches
        host = translate.build_pod(nested, self._context.target, caches.namespace_labels(), caches.policy)
        if caches.is_suspended:
            return  # since we began; this pod is looked at again
        self.creating += 1
        try:
            await self._context.host.create(kinds.POD, host)
        except Conflict:
            await self._check_name(nested, host)
        finally:
            self.creating -= 1

    async def _prepare(self, nested: Object) -> None:
        steps = [self._config.ensure(find_references(nested)), self._tokens.ensure(nested)]
        if nested["spec"].get("enableServiceLinks", True) is not False:
            steps.append(self._links.ensure(nested["metadata"]["namespace"]))
        await asyncio.gather(*steps)

    async def _postpone(self, nested: Object, error: ApiError) -> NoReturn:
        message = messages.translate(error.message, messages.build_words(nested, self._context.target))
        await self._refuse(nested, message)
        raise RetryLater(_RETRY_SECONDS, message) from error

    async def _check_name(self, nested: Object, host: Object) -> None:
        """The name is taken: by this very pod (the cache was behind), or by an earlier one that is still ending."""
        meta = host["metadata"]
        there = await self._context.host.find(kinds.POD, meta["name"], meta["namespace"])
        if there is None or nested_uid(there) != nested["metadata"]["uid"]:
            raise RetryLater(1, "an earlier pod of this name is still ending")

    async def _refuse(self, nested: Object, message: str) -> None:
        """Say it once by an event, and for as long as it lasts by the condition that tells why a pod is Pending."""
        uid = nested["metadata"]["uid"]
        if self._told.get(uid) == message:
            return
        self._told[uid] = message
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
