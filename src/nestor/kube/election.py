"""Leader election by a Lease, as Kubernetes' own components do it: one process at a time may write.

Nobody's clock is compared with another's: who waits takes over when the Lease has not changed for its whole duration as seen from
there, and who holds it stops to write some seconds before anybody can have seen that. It begins again if it can still renew the
Lease: the API server takes that only if nobody has written it since, so nobody else can have acted.
"""

import asyncio
import datetime
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from nestor.api.objects import Object, spec_of
from nestor.kube import errors, kinds
from nestor.kube.client import Api

log = logging.getLogger(__name__)
SEPARATOR = "_"
_RELEASE_TRIES = 3


class LeaseLost(Exception):
    """Another process has the Lease now, or had it: this one must end."""


@dataclass
class _Seen:
    """What was seen of the Lease, and since when."""

    holder: str
    version: str
    since: float


def find_clock() -> float:
    """Seconds of a clock that goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Election:
    """One candidate. `place` names what has one process at a time, a pod: its new process need not await its old one.

    After `duration` seconds without a change, others take the Lease. Its holder stops to write before, after so long without a
    renewal that a request which is under way by then can come to its end.
    """

    def __init__(
        self, api: Api, name: str, namespace: str, place: str, duration: float, clock: Callable[[], float] = find_clock
    ) -> None:
        self._api, self._name, self._namespace = api, name, namespace
        self._place, self._clock = place, clock
        # In the proportions of Kubernetes' controller manager: 15, 10 and 2 s.
        self._duration, self._deadline, self._retry = duration, duration * 2 / 3, duration * 2 / 15
        self.identity = f"{place}{SEPARATOR}{secrets.token_hex(4)}"
        self._held: Object | None = None
        self._renewed: float | None = None
        self._seen: _Seen | None = None

    @property
    def holder(self) -> str:
        """Who holds the Lease, as far as is known."""
        return self.identity if self._renewed is not None else self._seen.holder if self._seen else ""

    def find_left(self) -> float:
        """For so many seconds yet, this process may write. Raises `Unreachable` while a renewal is late, as if the API server did
        not answer; `LeaseLost` if the Lease is not this process's.
        """
        if self._renewed is None:
            raise LeaseLost(f"{self.identity} does not hold Lease '{self._name}'")
        left = self._renewed + self._deadline - self._clock()
        if left <= 0:
            late = f"Lease '{self._name}' has not been renewed for {self._deadline:.0f} s"
            raise errors.Unreachable(f"{late}: until it is, nothing is written")
        return left

    async def acquire(self) -> None:
        """Wait until this process holds the Lease. What cannot be read or written is tried again."""
        while not await self.attempt():  # noqa: ASYNC110 - it is in the API server
            await asyncio.sleep(self._retry)
        log.info("%s holds Lease '%s'", self.identity, self._name)

    async def keep(self) -> None:
        """Renew the Lease for ever. Raises `LeaseLost`."""
        while True:
            await asyncio.sleep(self._retry)
            await self.renew()

    async def release(self) -> None:
        """Let others have it at once. Only after the last write.

        The Lease is read first: what was last written of it may have arrived without an answer, or may yet arrive.
        """
        self._held = self._renewed = None
        for _ in range(_RELEASE_TRIES):
            try:
                found = await self._api.find(kinds.LEASE, self._name, self._namespace)
                if found is not None and spec_of(found).get("holderIdentity") == self.identity:
                    await self._write(found, self._build(found, holder="", duration=1))
                return
            except errors.Conflict as error:
                log.info("Lease '%s' is not released yet: %s", self._name, error)
            except errors.ApiError as error:
                log.info("Lease '%s' was not released: %s", self._name, error)
                return

    async def attempt(self) -> bool:
        started = self._clock()
        try:
            found = await self._api.find(kinds.LEASE, self._name, self._namespace)
            if found is not None and not self._is_free(found):
                return False
            self._held = await self._write(found, self._build(found, self.identity, self._duration))
        except errors.Conflict:  # somebody else was first
            return False
        except errors.ApiError as error:
            log.warning("Lease '%s' cannot be had: %s", self._name, error)
            return False
        self._renewed = started
        return True

    def _is_free(self, found: Object) -> bool:
        """Whether nobody holds it, or nobody has renewed it for as long as its holder said."""
        spec = spec_of(found)
        holder, version = spec.get("holderIdentity") or "", found["metadata"]["resourceVersion"]
        if self._seen is None or (self._seen.holder, self._seen.version) != (holder, version):
            if self._seen is None or self._seen.holder != holder:
                log.info("Lease '%s' is held by '%s'", self._name, holder)
            self._seen = _Seen(holder, version, self._clock())
        if not holder or holder.rpartition(SEPARATOR)[0] == self._place:
            return True
        return self._clock() - self._seen.since > float(spec.get("leaseDurationSeconds") or self._duration)

    async def renew(self) -> None:
        """Once, however late. What is not answered is only logged. Raises `LeaseLost` when the Lease is not this process's."""
        started = self._clock()
        try:
            self._held = await self._write(self._held, self._build(self._held, self.identity, self._duration))
        except errors.Conflict:
            await self._read_again()
        except errors.NotFound:
            self._lose("is gone")
        except errors.ApiError as error:
            log.warning("Lease '%s' was not renewed: %s", self._name, error)
        else:
            self._renewed = started

    async def _read_again(self) -> None:
        """Somebody has changed it: perhaps a label, or an earlier renewal whose answer was lost."""
        try:
            found = await self._api.get(kinds.LEASE, self._name, self._namespace)
        except errors.ApiError as error:
            log.warning("Lease '%s' cannot be read: %s", self._name, error)
            return
        if (holder := spec_of(found).get("holderIdentity")) != self.identity:
            self._lose(f"is held by '{holder or ''}'")
        self._held = found

    def _lose(self, why: str) -> NoReturn:
        self._renewed = None
        raise LeaseLost(f"Lease '{self._name}' {why}")

    def _build(self, found: Object | None, holder: str, duration: float) -> Object:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        old = spec_of(found or {})
        is_same = old.get("holderIdentity") == holder
        spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": max(1, round(duration)),
            "acquireTime": old.get("acquireTime", now) if is_same or not holder else now,
            "renewTime": now,
            "leaseTransitions": int(old.get("leaseTransitions") or 0) + (0 if is_same or not holder or found is None else 1),
        }
        meta = (found or {}).get("metadata") or {"name": self._name, "namespace": self._namespace}
        return {"apiVersion": kinds.LEASE.api_version, "kind": kinds.LEASE.name, "metadata": meta, "spec": spec}

    async def _write(self, found: Object | None, body: Object) -> Object:
        return await (self._api.create(kinds.LEASE, body) if found is None else self._api.replace(kinds.LEASE, body))
