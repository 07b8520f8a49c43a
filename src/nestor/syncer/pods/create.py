"""Creates the host pod for a nested pod, or reports why it cannot."""

import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from nestor.api import conditions
from nestor.api.objects import Object, labels_of
from nestor.api.policy import Policy
from nestor.api.times import timestamp
from nestor.kube import ApiError, Conflict, Forbidden, Invalid, NotFound, RetryLater, kinds
from nestor.kube.tasks import each_to_its_end
from nestor.pods.providers.errors import InvalidInput, NoRoom, NotYet
from nestor.pods.providers.host import HostProvider
from nestor.pods.translate import hostname, ignored, messages, refusals, status
from nestor.pods.translate import pod as translate
from nestor.pods.translate.gang import Membership
from nestor.pods.translate.placement import Place
from nestor.syncer import limits
from nestor.syncer.copies.memory import Told
from nestor.syncer.pods import room
from nestor.syncer.pods.gangs import Gangs, NoGang
from nestor.syncer.pods.isolation import Isolation
from nestor.syncer.pods.own_nodes import OwnNodes, build_mark
from nestor.syncer.pods.places import Places
from nestor.syncer.pods.room import Room
from nestor.syncer.view.context import Context

REFUSED, IGNORED = "PodRefused", "FieldsIgnored"
_SUSPENDED = "The nested cluster is suspended; the pod will start when the cluster is resumed."
_NO_ROOM = "no room"
"""Stands for all messages about a quota: its numbers change all the time."""
_NO_PLACE = "no place"
"""The same for those about the pods of its Job."""
_PLACE_SECONDS = 60
"""Until a pod asks again that has no place, should nobody wake it."""

Need = Callable[[Object], Awaitable[None]]
"""Provides something that a nested pod needs before its host pod is created. May raise `ApiError` and `RetryLater`."""


class NoPlace(Exception):
    """The pod may run nowhere for now. Says why."""


@dataclass(frozen=True)
class _Pause:
    """When a refused pod is tried again, unless its spec changes."""

    until: float
    generation: int | None
    count: int
    """Refusals in a row."""


@dataclass
class PodCreator:
    """Creates host pods, and what they need first."""

    context: Context
    provider: HostProvider
    needs: Sequence[Need]
    places: Places
    gangs: Gangs
    own_nodes: OwnNodes
    isolation: Isolation

    def __post_init__(self) -> None:
        self.room = Room()
        self.creating = 0
        """Number of creations in progress: these host pods may still appear."""
        self._told: Told[str] = Told()
        self._ignored: Told[str] = Told()
        self._pauses: dict[str, _Pause] = {}
        self._namespaces = self.context.caches.nested(kinds.NAMESPACE)

    async def create(self, nested: Object) -> None:
        policy, uid, size = self.context.caches.policy, nested["metadata"]["uid"], room.find_size(nested)
        if found := refusals.find_refusals(self.own_nodes.resolve(nested), policy):
            self.room.leave(uid)
            await self._refuse(nested, "; ".join(found))
        elif reason := self.room.find_wait(uid, size):
            await self.gangs.note_wait(nested, policy)
            await self._refuse(nested, reason, news=_NO_ROOM)  # called again when it is its turn
        else:
            try:
                if await self._is_prepared(nested) and await self._create(nested, policy):
                    self._pauses.pop(uid, None)
                    self.room.admit(uid, size)
                    self.gangs.admit(uid)
            except NoRoom as error:
                await self._queue_up(nested, size, error)
            except (NoPlace, NoGang) as error:
                self.room.leave(uid)
                await self._refuse(nested, f"the pod has to wait: {error}", news=_NO_PLACE)
                raise RetryLater(_PLACE_SECONDS, str(error)) from error
            except Exception as error:
                self.room.leave(uid)
                if isinstance(error, (Forbidden, Invalid, InvalidInput)):
                    await self._postpone(nested, error)
                raise

    def find_pause(self, nested: Object) -> float:
        """Seconds until the pod may be tried again after a refusal. A changed pod may be tried at once."""
        pause, meta = self._pauses.get(nested["metadata"]["uid"]), nested["metadata"]
        return max(0, pause.until - time.monotonic()) if pause is not None and pause.generation == meta.get("generation") else 0

    async def hold(self, nested: Object) -> None:
        """Give the pod no host pod while the cluster is suspended, and say so in its condition."""
        self._start_anew(nested["metadata"]["uid"])
        await self._write_waiting(nested, conditions.SUSPENDED, _SUSPENDED)

    def forget(self, uid: str) -> None:
        self._ignored.forget(uid)
        self._start_anew(uid)

    def _start_anew(self, uid: str) -> None:
        self._told.forget(uid)
        self._pauses.pop(uid, None)
        self.room.leave(uid)
        self.places.leave(uid)
        self.gangs.forget(uid)

    async def _is_prepared(self, nested: Object) -> bool:
        """False if the pod is gone already, so that no token can be bound to it."""
        try:
            await each_to_its_end(*(need(nested) for need in self.needs), self._tell_ignored(nested))
        except (NotFound, Conflict) as error:
            if self.context.caches.nested_by_uid.get(nested["metadata"]["uid"]) is None:
                return False
            await self._postpone(nested, error)  # for example, its service account is missing; no event tells us when it appears
        return True

    async def _create(self, nested: Object, policy: Policy) -> bool:
        """False if the pod may not be created any more: cluster or policy have changed, and it is queued again."""
        gang = await self.gangs.find(nested, policy)
        place = await self.places.choose(nested, policy.places, is_gang=gang is not None)
        if place.where == "Wait":
            raise NoPlace(place.reason)
        is_created = False
        try:
            is_created = await self._create_at(place, nested, policy, gang)
        finally:
            if not is_created:
                self.places.leave(nested["metadata"]["uid"])
        return is_created

    async def _create_at(self, place: Place, nested: Object, policy: Policy, gang: Membership | None) -> bool:
        caches = self.context.caches
        namespaces = {item["metadata"]["name"]: labels_of(item) for item in self._namespaces}
        resolved = self.own_nodes.resolve(nested)
        host = translate.build_pod(resolved, self.context.target, namespaces, policy, place, gang)
        host["metadata"]["annotations"] |= build_mark(nested, resolved)
        host["metadata"]["labels"] |= self.isolation.find(nested)
        if caches.is_suspended or caches.policy != policy:
            return False
        if message := limits.find_excess_of_data(caches.copied_bytes.value, None, host):
            raise Forbidden(403, "Forbidden", message)
        self.creating += 1
        try:
            caches.host(kinds.POD).put(await self.provider.create(host))
            return True
        except NotYet as error:
            raise RetryLater(1, error.message) from None
        finally:
            self.creating -= 1

    async def _tell_ignored(self, nested: Object) -> None:
        """Post one event about what of the pod has no effect. What all pods of a StatefulSet lack is told once, at the set."""
        target, recorder = self.context.target, self.context.recorder
        own = self.own_nodes.find_ignored(nested)
        found = "; ".join([*ignored.find_ignored(nested, self.context.caches.policy, target), *own])
        of_set = hostname.find_ignored_of_set(nested)
        if not (found or of_set) or not self._ignored.is_news(nested["metadata"]["uid"], found):
            return
        if found:
            await recorder.post(nested, "Warning", IGNORED, found)
        if of_set:
            about, message = of_set
            await recorder.post_once(about, "Normal", IGNORED, message)

    async def _postpone(self, nested: Object, error: ApiError | InvalidInput) -> NoReturn:
        message = messages.translate(error.message, messages.build_words(nested, self.context.target))
        await self._refuse(nested, message)
        pause = self._pauses.get(nested["metadata"]["uid"])
        count = pause.count + 1 if pause is not None else 1
        raise self._pause(nested, room.find_delay(count), count) from error

    async def _queue_up(self, nested: Object, size: str, error: NoRoom) -> None:
        target = self.context.target
        reason = messages.translate(limits.advise(error.message, target.quota_class), messages.build_words(nested, target))
        delay = self.room.refuse(nested["metadata"]["uid"], size, reason)
        self.gangs.refuse(nested["metadata"]["uid"])
        await self._refuse(nested, reason, news=_NO_ROOM)
        if delay is not None:
            raise self._pause(nested, delay) from error

    def _pause(self, nested: Object, delay: float, count: int = 0) -> RetryLater:
        """Remember when to try again: news about the pod, such as its own condition, must not bring that forward."""
        meta = nested["metadata"]
        self._pauses[meta["uid"]] = _Pause(time.monotonic() + delay, meta.get("generation"), count)
        return RetryLater(delay, "refused")

    async def _refuse(self, nested: Object, message: str, *, news: str = "") -> None:
        """Report the refusal: once as an event, and in PodScheduled, the condition that explains why a pod is Pending.

        `news`: what it is about, if the same refusal may come in other words.
        """
        uid = nested["metadata"]["uid"]
        if self._told.is_news(uid, news or message):
            await self.context.recorder.post(nested, "Warning", REFUSED, message)
            await self._write_waiting(nested, REFUSED, message)

    async def _write_waiting(self, nested: Object, reason: str, message: str) -> None:
        desired = status.build_waiting(nested, reason, message, timestamp())
        patch = status.build_patch(nested, desired, partial=True)
        meta = nested["metadata"]
        if patch is not None:
            with contextlib.suppress(NotFound, Conflict):  # gone or replaced meanwhile: another event follows
                await self.context.nested.patch(
                    kinds.POD, meta["name"], meta["namespace"], patch, subresource="status", how="strategic"
                )
