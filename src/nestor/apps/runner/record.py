"""The run's record: one ConfigMap of the nested cluster, written at each transition before the runner goes on."""

import uuid

from nestor.api.contracts.runner import RECORD_KEY, RECORD_NAME, RECORD_NAMESPACE, RECORD_OWNER_KEY
from nestor.api.objects import Object
from nestor.api.observed import RunStatus
from nestor.apps.runner.attempt import Clock
from nestor.apps.steps import state
from nestor.kube import Api, ApiError, Conflict, NotFound, kinds

WRITE_LIMIT_SECONDS = 60.0
RETRY_SECONDS = 0.5


class Superseded(Exception):
    """Another runner has taken over the record; we must neither write to it nor run anything any more."""


class Record:
    """Reads and writes the run. A short outage of the API is waited out, at most `WRITE_LIMIT_SECONDS`.

    The last runner that began to write owns it: each signs with a name of its own. One whose node was cut off may live on beside
    its successor; it learns of that at its next write.
    """

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._owner = uuid.uuid4().hex
        self._predecessor: str | None = None

    async def load(self) -> RunStatus | None:
        """The run of an earlier runner; None when there is none, or none that can be read."""
        found = await self._find()
        if found is None:
            return None
        self._predecessor = _owner_of(found)
        try:
            return state.read((found.get("data") or {}).get(RECORD_KEY, ""))
        except (ValueError, RecursionError):
            return None

    async def save(self, run: RunStatus) -> None:
        """Write the run. Raises `ApiError` when the API stays away or refuses, `Superseded` when another has taken over."""
        deadline = self._clock.seconds() + WRITE_LIMIT_SECONDS
        while True:
            try:
                await self._write(run)
                return
            except ApiError as error:
                # A conflict is another writer, NotFound a cluster whose namespaces are still to come.
                may_pass = error.is_transient or isinstance(error, Conflict | NotFound)
                if not may_pass or self._clock.seconds() > deadline:
                    raise
            await self._clock.sleep(RETRY_SECONDS)

    async def _write(self, run: RunStatus) -> None:
        found = await self._find()
        meta = {"name": RECORD_NAME, "namespace": RECORD_NAMESPACE}
        if found is not None:
            if _owner_of(found) not in (None, self._owner, self._predecessor):
                raise Superseded("another runner has taken over; this one stops")
            meta["resourceVersion"] = found["metadata"]["resourceVersion"]
        data = {RECORD_KEY: state.write(run), RECORD_OWNER_KEY: self._owner}
        body: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
        await (self._api.create if found is None else self._api.replace)(kinds.CONFIG_MAP, body)

    async def _find(self) -> Object | None:
        return await self._api.find(kinds.CONFIG_MAP, RECORD_NAME, RECORD_NAMESPACE)


def _owner_of(found: Object) -> str | None:
    """The runner that wrote the record; None where nobody signed it."""
    return (found.get("data") or {}).get(RECORD_OWNER_KEY)
