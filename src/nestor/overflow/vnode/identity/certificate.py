"""One certificate of this process: obtained, stored, renewed before it ends."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from nestor.api import times
from nestor.cluster.certificates import new_key
from nestor.kube import Api, ApiError, kinds
from nestor.kube.kinds import right
from nestor.overflow.vnode.identity import request
from nestor.overflow.vnode.identity.request import Answer, Wish

log = logging.getLogger(__name__)

RIGHTS = (right(kinds.CERTIFICATE_REQUEST, "create", "get"),)
"""The permissions that the process's ServiceAccount needs."""

WAIT_SECONDS = 120.0
"""How long a request may stay unanswered before another one is made."""
NOTICE_SECONDS = 30.0
"""How long there may be none before that is told: some clouds sign for their own machines only."""
LOOK_SECONDS = 0.5
RETRY_SECONDS = (5.0, 300.0)
"""Pause after a failure; doubled each time, up to the second number: each request stays in the cluster for a while."""


class Certificate:
    """A certificate and its key in one file, and why there is none if so. `api` is this process's own client."""

    def __init__(self, api: Api, wish: Wish, folder: Path, on_change: Callable[[], None] = lambda: None) -> None:
        """`on_change` is called whenever `is_lacking` changes."""
        self._api = api
        self._on_change = on_change
        self._wish = wish
        self.file = folder / f"{wish.purpose}-{wish.node}.pem"
        self._what = f"the {wish.purpose} certificate of node '{wish.node}'"
        self.problem = f"{self._what} was not issued yet"
        """Empty once it is there."""
        self.is_lacking = False
        """There is none, and the cluster takes long over it, or refuses it; `problem` says why."""
        self._begin = time.monotonic()
        self._renewal: float | None = None

    async def obtain(self) -> None:
        """Wait until there is a valid one: the stored one, which a new container finds again, or a new one."""
        self._renewal = self._read()
        pause = RETRY_SECONDS[0]
        while self._renewal is None:
            await self._try(pause)
            pause = min(2 * pause, RETRY_SECONDS[1])

    async def keep(self, on_renewal: Callable[[], Awaitable[None]]) -> None:
        """Renew it in time until cancelled; `on_renewal` is called each time. Call `obtain` first."""
        pause = RETRY_SECONDS[0]
        while True:
            due = self._read()
            await asyncio.sleep((due or 0) * random.uniform(0.9, 1.0))
            if await self._try(pause):
                pause = RETRY_SECONDS[0]
                await on_renewal()
            else:
                pause = min(2 * pause, RETRY_SECONDS[1])

    def discard(self) -> None:
        """The cluster does not accept it any more: the next process asks for another one."""
        self.file.unlink(missing_ok=True)

    async def _try(self, pause: float) -> bool:
        """One request. After a failure, waits for `pause` seconds."""
        try:
            answer = await self._request()
            why = answer.refusal
        except (ApiError, ValueError, TypeError) as error:
            answer, why = Answer(), str(error)
        self._renewal = self._read()
        if answer.certificate and self._renewal is not None:
            return True
        why = why or "the signer gave another one than was asked for"
        log.warning("%s: %s", self._what, why)
        if self._renewal is None:
            self._lack(why)
        await asyncio.sleep(pause)
        return False

    async def _request(self) -> Answer:
        key, what = new_key(), ""
        made = await self._api.create(kinds.CERTIFICATE_REQUEST, request.build_request(self._wish, key))
        name = made["metadata"]["name"]
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while True:
                    found = await self._api.get(kinds.CERTIFICATE_REQUEST, name)
                    answer, what = request.read_answer(found, key), f"request {name} {request.describe_wait(found)}"
                    if answer.certificate or answer.refusal:
                        break
                    if self._renewal is None:
                        self._lack(what)
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            return Answer(refusal=what or f"request {name} cannot be read")
        if answer.certificate:
            self._store(answer.certificate + key)
        return answer

    def _read(self) -> float | None:
        try:
            found = request.find_renewal(self.file.read_bytes(), self._wish, times.now())
        except OSError:
            return None
        if found is not None:
            was_lacking, self.problem, self.is_lacking = self.is_lacking, "", False
            if was_lacking:
                self._on_change()
        return found

    def _lack(self, why: str) -> None:
        self.problem = f"{self._what}: {why}"
        if not self.is_lacking and time.monotonic() - self._begin > NOTICE_SECONDS:
            self.is_lacking = True
            self._on_change()

    def _store(self, content: bytes) -> None:
        """At once or not at all, and readable by nobody else."""
        fresh = self.file.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(content)
        fresh.replace(self.file)


def describe_lacking(certificates: Iterable[Certificate]) -> str:
    """What the cluster does not issue, as far as it is known; empty if it issues all."""
    return "; ".join(item.problem for item in certificates if item.is_lacking)
