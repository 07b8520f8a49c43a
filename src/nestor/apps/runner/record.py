"""The run's record: one ConfigMap of the nested cluster, written at each transition before the runner goes on."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable

from pydantic import ValidationError

from nestor.api.contracts.runner import RECORD_KEY, RECORD_NAME, RECORD_NAMESPACE, RECORD_OWNER_KEY
from nestor.api.objects import Object
from nestor.apps.runner.attempt import Attempt, Clock, Execute
from nestor.apps.runner.command import Outcome
from nestor.apps.steps import Run
from nestor.kube import Api, ApiError, Conflict, NotFound, kinds

WRITE_LIMIT_SECONDS = 60.0
RETRY_SECONDS = 0.5
POLL_SECONDS = 2.0
"""How long a runner that was replaced may go on."""


class Superseded(Exception):
    """Another runner has taken over the record; we must neither write to it nor run anything any more."""


class Record:
    """Reads and writes the run. A short outage of the API is waited out, at most `WRITE_LIMIT_SECONDS`.

    The last runner that began to write owns it: each signs with a name of its own.
    """

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._owner = uuid.uuid4().hex
        self._predecessor: str | None = None
        self._version: str | None = None
        self._loaded: str | None = None
        self._is_stale = False

    async def load(self) -> Run | None:
        """The run of an earlier runner; None when there is none, or none that can be read."""
        found = await self._api.find(kinds.CONFIG_MAP, RECORD_NAME, RECORD_NAMESPACE)
        if found is None:
            return None
        self._version = found["metadata"]["resourceVersion"]
        self._predecessor = _owner_of(found)
        run = _parse(found)
        self._loaded = run.hash if run else None
        return run

    async def save(self, run: Run) -> None:
        """Write the run. Raises `ApiError` when the API stays away or refuses, `Superseded` when another has taken over."""
        deadline = self._clock.seconds() + WRITE_LIMIT_SECONDS
        while True:
            try:
                await self._write(run)
                return
            except (Conflict, NotFound) as error:
                # Another writer, a deleted ConfigMap, a cluster whose namespaces are still to come.
                self._is_stale = True
                problem: ApiError = error
            except ApiError as error:
                if not error.is_transient:
                    raise
                problem = error
            if self._clock.seconds() > deadline:
                raise problem
            await self._clock.sleep(RETRY_SECONDS)

    async def check(self) -> None:
        """Raises `Superseded` when another runner has begun to write since we did; nothing when the API does not answer."""
        try:
            found = await self._api.find(kinds.CONFIG_MAP, RECORD_NAME, RECORD_NAMESPACE)
        except ApiError:
            return  # whoever cannot read the record cannot change anything else in that cluster either
        if found is not None:
            self._check_owner(found)

    def _check_owner(self, found: Object) -> None:
        if _owner_of(found) not in (None, self._owner, self._predecessor):
            raise Superseded("another runner has taken over; this one stops")

    async def _refresh(self, run: Run) -> None:
        """Learn the ConfigMap's version, or that there is none.

        Our state is the newest, unless another runner signed the record after us, or it belongs to a plan that is neither ours
        nor its predecessor: then we are the runner that should already be gone.
        """
        found = await self._api.find(kinds.CONFIG_MAP, RECORD_NAME, RECORD_NAMESPACE)
        if found is not None:
            self._check_owner(found)
        stored = _parse(found) if found else None
        if stored is not None and stored.hash not in (run.hash, self._loaded):
            raise Superseded("a runner with another plan has taken over; this one stops")
        self._version = found["metadata"]["resourceVersion"] if found else None
        self._is_stale = False

    async def _write(self, run: Run) -> None:
        if self._is_stale:
            await self._refresh(run)
        body: Object = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": RECORD_NAME, "namespace": RECORD_NAMESPACE},
            "data": {RECORD_KEY: run.to_json(), RECORD_OWNER_KEY: self._owner},
        }
        if self._version is None:
            written = await self._api.create(kinds.CONFIG_MAP, body)
        else:
            body["metadata"]["resourceVersion"] = self._version
            written = await self._api.replace(kinds.CONFIG_MAP, body)
        self._version = written["metadata"]["resourceVersion"]


def _owner_of(found: Object) -> str | None:
    """The runner that wrote the record; None where nobody signed it."""
    return (found.get("data") or {}).get(RECORD_OWNER_KEY)


def _parse(found: Object) -> Run | None:
    try:
        return Run.model_validate_json((found.get("data") or {}).get(RECORD_KEY, ""))
    except ValidationError:
        return None


class Fence:
    """Executes steps by `execute`; `check` raises when they must not go on.

    One runner at a time: a pod that its node's kubelet no longer reports (a network that is cut, a Node object that is deleted)
    may be replaced while its processes live on. They can reach the nested API, and so learn there that they have a successor.
    """

    def __init__(self, check: Callable[[], Awaitable[None]], clock: Clock, execute: Execute) -> None:
        self._check = check
        self._clock = clock
        self._execute = execute

    async def execute(self, attempt: Attempt) -> Outcome:
        """One attempt. Raises what `execute` raises, or what `check` does once all processes of the attempt have ended."""
        work, watch = asyncio.ensure_future(self._execute(attempt)), asyncio.ensure_future(self._watch())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() else watch.result()
        finally:
            work.cancel()
            watch.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _watch(self) -> Outcome:
        while True:
            await self._clock.sleep(POLL_SECONDS)
            await self._check()
