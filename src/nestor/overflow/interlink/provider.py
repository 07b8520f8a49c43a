"""The provider: pods of the host cluster on an interLink backend. A pod's identity there is the UID of its host pod."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from weakref import WeakValueDictionary

from nestor.api import conditions, times
from nestor.api.contracts import vnode
from nestor.api.objects import Object, annotations_of, conditions_of, status_of
from nestor.api.pod_status import is_terminal
from nestor.overflow.interlink import build
from nestor.overflow.interlink.client import Client, Lost
from nestor.overflow.interlink.questions import Questions, read_job, read_peers, read_ping
from nestor.overflow.interlink.settings import Settings
from nestor.overflow.interlink.statuses import Endings, build_status
from nestor.overflow.interlink.wishes import choose, list_wishes
from nestor.pods.providers.base import DROPPED, JOB, Inputs, Options, Shape
from nestor.pods.providers.errors import InvalidInput, NotFound, NotYet, ProviderError, Rejected, Unauthorized, Unreachable

_CONFLICT = 409


class _Fates:
    """Remembers which pods were sent, and lets only one request at a time change a pod.

    The fate of a request to create may be unknown: nothing may run twice, so nothing is repeated while one may be at work.
    """

    def __init__(self, settle_seconds: float) -> None:
        self._settle = settle_seconds
        self._sent: dict[str, float | None] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._started = time.monotonic()

    def hold(self, uid: str) -> asyncio.Lock:
        return self._locks.setdefault(uid, asyncio.Lock())

    def lose(self, uid: str) -> None:
        """A request to create this pod is about to be sent, or its answer was lost just now."""
        self._sent[uid] = time.monotonic()

    def settle(self, uid: str) -> None:
        """The answer is here, whatever it says."""
        self._sent[uid] = None

    def forget(self, uid: str) -> None:
        self._sent.pop(uid, None)

    def was_sent(self, uid: str) -> bool:
        return uid in self._sent

    def is_lost(self, uid: str) -> bool:
        """True while the backend may still be at work on a request of this process whose answer was lost."""
        at = self._sent.get(uid)
        return at is not None and time.monotonic() - at < self._settle

    def may_be_lost(self, uid: str) -> bool:
        """The same, also for a request of an earlier process, of which nothing is known."""
        return self.is_lost(uid) or (uid not in self._sent and time.monotonic() - self._started < self._settle)


class InterlinkProvider:
    """One backend. See `nestor.pods.providers.base.Backend` for what the methods promise."""

    lists = None
    refreshes = None
    streams = None
    updates = None

    def __init__(self, settings: Settings, *, now: Callable[[], datetime] = times.now) -> None:
        self._settings = settings
        self._limits = settings.limits
        self._client = Client(settings)
        self._fates = _Fates(settings.limits.settle_seconds)
        self._endings = Endings(settings.limits.restart_seconds)
        self._questions = Questions(self._client, settings)
        self._now = now

    @property
    def logs(self) -> InterlinkProvider:
        return self

    async def close(self) -> None:
        await self._client.close()

    async def create(self, pod: Object, inputs: Inputs | None = None) -> Object:
        """The backend is asked about the pod first if it may have been sent before."""
        given = inputs or Inputs()
        if refusals := build.find_refusals(pod):
            raise InvalidInput("; ".join(refusals))
        wishes = list_wishes(pod)
        allowed = choose(wishes, {item.key: item.pattern for item in self._settings.own.allowed_annotations})
        request = build.build_create(pod, given, {**self._settings.own.annotations, **allowed})
        message = request if self._settings.own.hop == "Server" else build.build_plugin_create(request)
        uid = pod["metadata"]["uid"]
        async with self._fates.hold(uid):
            made = await self._create(pod, json.dumps(message), is_repeated=not given.is_new or self._fates.was_sent(uid))
            self._questions.expect(uid)
            return _annotate(made, {DROPPED: ", ".join(dropped)} if (dropped := sorted(wishes.keys() - allowed)) else {})

    async def _create(self, pod: Object, body: str, *, is_repeated: bool) -> Object:
        uid = pod["metadata"]["uid"]
        if is_repeated:
            if there := await self._look_for(pod):
                return there
            if self._fates.may_be_lost(uid):
                raise NotYet("the backend has not said yet whether it has accepted this pod")
        try:
            return await self._send_create(pod, body)
        except InvalidInput:
            # Some backends call it a mistake that they have the pod already.
            if is_repeated and (there := await self._look_for(pod)):
                return there
            self._fates.forget(uid)
            raise

    async def delete(self, pod: Object, *, grace_seconds: int | None = None) -> None:
        """Raises `NotYet` while a request to create the pod may still be at work."""
        uid = pod["metadata"]["uid"]
        body = json.dumps(build.build_delete(pod, grace_seconds, times.write(self._now())))
        async with self._fates.hold(uid):
            await self._send_delete(pod, body)
            self._questions.release(uid)
            sent = conditions.find(conditions_of(pod), vnode.SENT) or {}
            # Nobody knows then what has become of the request to create the pod: it may be one of an earlier process.
            is_unanswered = sent.get("reason") == vnode.SENDING
            if self._fates.may_be_lost(uid) if is_unanswered else self._fates.is_lost(uid):
                raise NotYet("the backend may still be about to start this pod")
            self._fates.forget(uid)
            self._endings.forget(uid)

    async def get(self, pod: Object) -> Object:
        found = await self._questions.find(pod)
        if found is None:
            await self._questions.forget(pod)
            raise NotFound(f"the backend does not know pod '{pod['metadata']['name']}'")
        return pod | {"status": status_of(pod) | self._endings.build(pod, found, self._now(), time.monotonic())}

    async def statuses(self, pods: Sequence[Object]) -> dict[str, Object]:
        found = await self._questions.find_all(pods)
        now, at = self._now(), time.monotonic()
        known = [(pod["metadata"]["uid"], pod) for pod in pods if pod["metadata"]["uid"] in found]
        return {uid: self._endings.build(pod, found[uid], now, at) for uid, pod in known}

    async def discover(self) -> list[Shape] | None:
        if self._settings.own.discovery == "None":
            return None
        if self._settings.own.discovery == "Peers":
            path = self._settings.own.peers_path
            return read_peers(await self._questions.probe("GET", path, room=self._limits.peers_bytes), path)
        shape = read_ping(await self._questions.ping())
        return [shape] if shape else None

    async def check(self) -> None:
        await self._questions.ping()

    @asynccontextmanager
    async def open_log(self, pod: Object, options: Options) -> AsyncIterator[AsyncIterator[bytes]]:
        request = build.build_log_request(pod, options, self._now())
        idle = None if request["Opts"]["Follow"] else self._limits.log_idle_seconds
        async with (
            self._client.stream("/getLogs", json.dumps(request), idle_seconds=idle) as pieces,
            aclosing(_limit(pieces, build.read_log_limit(options))) as found,
        ):
            yield found

    async def _look_for(self, pod: Object) -> Object | None:
        """The pod, if the backend has it. What it answers here never counts against the pod."""
        try:
            there = await self._questions.find(pod)
        except (Unreachable, Unauthorized):
            raise
        except ProviderError as error:
            raise NotYet(error.message) from None
        if there is None:
            return None
        self._fates.settle(pod["metadata"]["uid"])
        return _with_job(pod, there.job)

    async def _send_create(self, pod: Object, body: str) -> Object:
        uid = pod["metadata"]["uid"]
        self._fates.lose(uid)
        try:
            content = await self._client.send(
                "POST", "/create", body, seconds=max(self._limits.create_seconds, self._limits.call_seconds)
            )
        except Lost:
            self._fates.lose(uid)
            raise
        except ProviderError as error:
            self._fates.settle(uid)
            if error.status == _CONFLICT:
                return pod
            self._questions.release(uid)
            if isinstance(error, NotFound):
                raise Unreachable(f"nothing creates pods at this URL: {error.message}") from None
            raise Rejected(error.message, error.status) if type(error) is ProviderError else error from None
        job = read_job(content, uid)
        if job is not None:
            self._fates.settle(uid)
            return _with_job(pod, job)
        # Perhaps not the backend has answered, but something on the way, such as a page for logging in.
        self._fates.lose(uid)
        if there := await self._look_for(pod):
            return there
        raise Lost("the backend answered /create with something else than the pod")

    async def _send_delete(self, pod: Object, body: str) -> None:
        try:
            await self._client.ask("DELETE" if self._settings.own.hop == "Server" else "POST", "/delete", body)
        except NotFound:
            await self._questions.ping()  # something on the way may have said so, which knows nothing of the backend
        except (Unauthorized, NotYet):
            raise
        except ProviderError as error:
            if isinstance(error, Unreachable) and not isinstance(error, Lost):
                raise
            # Some backends call it an error, or break off. There is nothing to do for a pod that is unknown there, or has ended.
            there = await self._questions.find(pod)
            if there and not is_terminal({"status": build_status(pod, there, self._now(), restarts=True)}):
                raise


def _with_job(pod: Object, job: str) -> Object:
    return _annotate(pod, {JOB: job} if job else {})


def _annotate(pod: Object, given: Mapping[str, str]) -> Object:
    return pod | {"metadata": pod["metadata"] | {"annotations": {**annotations_of(pod), **given}}} if given else pod


async def _limit(pieces: AsyncIterator[bytes], limit: int | None) -> AsyncGenerator[bytes, None]:
    """No more than `limit` bytes, whatever the backend sends; None means no limit."""
    sent = 0
    async for piece in pieces:
        part = piece if limit is None else piece[: limit - sent]
        sent += len(part)
        if part:
            yield part
        if limit is not None and sent >= limit:
            return
