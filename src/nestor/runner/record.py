"""The run's record: one ConfigMap of the nested cluster, written at each transition before the runner goes on."""

from __future__ import annotations

from pydantic import ValidationError

from nestor.contracts.runner import RECORD_KEY, RECORD_NAME, RECORD_NAMESPACE
from nestor.kube import Api, ApiError, Conflict, NotFound, kinds
from nestor.objects import Object
from nestor.runner.clock import Clock
from nestor.steps import Run

WRITE_LIMIT_SECONDS = 60.0
RETRY_SECONDS = 0.5


class Superseded(Exception):
    """Another runner, with another plan, has taken over the record; we must not write to it any more."""


class Record:
    """Reads and writes the run. A short outage of the API is waited out, at most `WRITE_LIMIT_SECONDS`."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._version: str | None = None
        self._loaded: str | None = None
        self._is_stale = False

    async def load(self) -> Run | None:
        """The run of an earlier runner; None when there is none, or none that can be read."""
        found = await self._api.find(kinds.CONFIG_MAP, RECORD_NAME, RECORD_NAMESPACE)
        if found is None:
            return None
        self._version = found["metadata"]["resourceVersion"]
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

    async def _refresh(self, run: Run) -> None:
        """Learn the ConfigMap's version, or that there is none.

        Our state is the newest, unless the record belongs to a plan that is neither ours nor its predecessor: then we are the
        runner that should already be gone.
        """
        found = await self._api.find(kinds.CONFIG_MAP, RECORD_NAME, RECORD_NAMESPACE)
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
            "data": {RECORD_KEY: run.to_json()},
        }
        if self._version is None:
            written = await self._api.create(kinds.CONFIG_MAP, body)
        else:
            body["metadata"]["resourceVersion"] = self._version
            written = await self._api.replace(kinds.CONFIG_MAP, body)
        self._version = written["metadata"]["resourceVersion"]


def _parse(found: Object) -> Run | None:
    """The run in a ConfigMap; None when it cannot be read."""
    try:
        return Run.model_validate_json((found.get("data") or {}).get(RECORD_KEY, ""))
    except ValidationError:
        return None
