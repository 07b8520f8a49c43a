"""Questions to a backend: about its pods, many at a time, and about itself; and what its answers say."""

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from nestor.api.objects import Object
from nestor.overflow.interlink import shapes
from nestor.overflow.interlink.build import build_question
from nestor.overflow.interlink.client import Client, Excess
from nestor.overflow.interlink.settings import Settings
from nestor.overflow.interlink.wire import Created, Ping, PodAnswer
from nestor.pods.providers.base import Shape
from nestor.pods.providers.errors import NotFound, NotYet, ProviderError, Unauthorized, Unreachable, cut

_PODS_PER_CALL = 1000
_FURTHER_CALLS = 64
_STATES = ("waiting", "running", "terminated")
_JOB_LIMIT = 256
_NO_ANSWER = (Unreachable, Unauthorized, NotYet)
"""Errors that say nothing of what was asked for."""
_REMEMBERED = 10_000


class Questions:
    """What a backend knows. All methods raise `ProviderError`."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self._hop = settings.own.hop
        self._silent: dict[str, float | None] = {}
        """Since when the backend has said nothing of a pod. None: it has ended or not taken it; silence means that."""
        self._first = 0
        """The pod that comes first in the next question about many: some plugins tell of the first one only."""
        self._silent_seconds = settings.limits.silent_seconds
        self._room = settings.limits.bytes_per_pod

    async def ping(self) -> bytes:
        """The answer to the question whether the backend is well. Raises `Unreachable` or `Unauthorized` if it is not."""
        if self._hop == "Server":
            return await self.probe("POST", "/pinglink")
        return await self.probe("GET", "/status", "[]")

    async def probe(self, method: str, path: str, body: str = "", *, room: int = 0) -> bytes:
        """The answer of a path that the backend must have. `room`: see `Client.ask`.

        The server answers 500 where its plugin does not run, and so does a plugin whose batch system does not.
        """
        try:
            return await self._client.ask(method, path, body, room=room)
        except NotFound as error:
            raise Unreachable(f"{path} is not there: {error.message}") from None
        except _NO_ANSWER:
            raise
        except ProviderError as error:
            raise Unreachable(f"{path} fails: {error.message}") from None

    async def find(self, pod: Object) -> PodAnswer | None:
        """None if the backend does not know the pod.

        Raises `NotYet` if it says nothing of it: what it answered may have been another client's question, from memory. Slurm's
        plugin answers 500 for a job without an exit code that Slurm has forgotten.
        """
        uid = pod["metadata"]["uid"]
        try:
            found, is_ours = await self._call([pod])
        except NotFound:
            await self.ping()
            return None
        except _NO_ANSWER:
            raise
        except ProviderError as error:
            await self.ping()
            if self._silent.get(uid, 0.0) is None:
                raise  # it was asked to end the pod: an error is not the silence of one that has
            self._hear_nothing(uid, error.message)
            return None
        if uid in found:
            return found[uid] if _is_known(found[uid]) else None
        if not is_ours:
            raise NotYet("the backend has answered another client's question")
        self._hear_nothing(uid, "it says nothing of this pod")
        return None

    async def forget(self, pod: Object) -> None:
        """Take the pod out of the memory of interLink's server, which has kept it for ever since the last question about it."""
        if self._hop == "Server":
            with suppress(ProviderError):
                await self._client.ask("POST", "/updateCache", pod["metadata"]["uid"])

    def _hear_nothing(self, uid: str, why: str) -> None:
        since = self._silent.setdefault(uid, time.monotonic())
        if since is not None and time.monotonic() - since < self._silent_seconds:
            raise NotYet(f"the backend does not tell how the pod is: {why}")
        del self._silent[uid]

    def release(self, uid: str) -> None:
        """Take silence about the pod for its absence, from now on."""
        self._silent[uid] = None
        while len(self._silent) > _REMEMBERED:
            del self._silent[next(iter(self._silent))]

    def expect(self, uid: str) -> None:
        """The backend has the pod: silence tells nothing."""
        self._silent.pop(uid, None)

    async def find_all(self, pods: Sequence[Object]) -> dict[str, PodAnswer]:
        """What the backend knows about these pods, by UID: one call for up to a thousand of them.

        Some plugins answer with an error if they do not know one of the pods, and one pod may have more to say than all others.
        It is then looked for, by halves, so that the others keep their statuses. Raises if every call has failed, unless the
        reason is that the backend knows none of the pods.
        """
        self._first = (self._first + 1) % max(1, len(pods))
        pods = [*pods[self._first :], *pods[: self._first]]
        parts = [pods[start : start + _PODS_PER_CALL] for start in range(0, len(pods), _PODS_PER_CALL)]
        found: dict[str, PodAnswer] = {}
        failures: list[ProviderError] = []
        answered, further = False, _FURTHER_CALLS
        while parts:
            part = parts.pop()
            try:
                found |= (await self._call(part))[0]
                answered = True
            except ProviderError as error:
                is_about_pods = isinstance(error, Excess) or not isinstance(error, _NO_ANSWER)
                if is_about_pods and len(part) > 1 and further > 0:
                    if further == _FURTHER_CALLS:
                        await self.ping()  # where the backend itself is ill, parts fare no better
                    middle, further = len(part) // 2, further - 2
                    parts += [part[:middle], part[middle:]]
                else:
                    failures.append(error)
                    if isinstance(error, NotFound) and len(part) == 1:
                        await self.forget(part[0])  # or the server tells its last state the next time
        if failures and not answered:
            if not all(isinstance(error, NotFound) for error in failures):
                raise next(error for error in failures if not isinstance(error, NotFound))
            await self.ping()
        return {uid: answer for uid, answer in found.items() if _is_known(answer)}

    async def _call(self, pods: Sequence[Object]) -> tuple[dict[str, PodAnswer], bool]:
        """What the answer says of these pods, and whether it is of no others: some answer from memory, whoever has asked."""
        body = json.dumps([build_question(pod) for pod in pods])
        try:
            content = await self._client.ask("GET", "/status", body, room=len(pods) * self._room)
        except Excess:
            raise
        except Unreachable:
            self._silent = {uid: since for uid, since in self._silent.items() if since is None}
            raise
        told = read_statuses(content)
        found = {uid: answer for uid in (pod["metadata"]["uid"] for pod in pods) if (answer := told.get(uid))}
        for uid in found:
            if self._silent.get(uid) is not None:
                del self._silent[uid]
        return found, len(found) == len(told)


def read_job(content: bytes, uid: str) -> str | None:
    """The backend's own name of a created pod, empty if it has none; None if the answer is not about this pod."""
    try:
        found = from_json(content)
        created = Created.model_validate(found[0] if isinstance(found, list) and found else found)
    except (ValueError, ValidationError):
        return None
    if created.uid != uid and (created.uid or not created.job):
        return None
    return cut(created.job, _JOB_LIMIT)


def read_statuses(content: bytes) -> dict[str, PodAnswer]:
    """What the answer says, by UID; malformed entries are left out.

    Raises `Unreachable` if the answer is no list.
    """
    entries = _parse(content, "/status")
    if not isinstance(entries, list | None):
        raise Unreachable("the backend answered /status with something that is no list")
    found: dict[str, PodAnswer] = {}
    for entry in entries or []:
        try:
            answer = PodAnswer.model_validate(entry)
        except ValidationError:
            continue
        found.setdefault(answer.uid, answer)
    return found


def _is_known(answer: PodAnswer) -> bool:
    """An entry without a job and without any container's state is about a pod that the backend does not know."""
    states = [item.get("state") for item in (*answer.init_containers, *answer.containers)]
    return bool(answer.job) or any(state.get(key) is not None for state in states if isinstance(state, dict) for key in _STATES)


def read_ping(content: bytes) -> Shape | None:
    """What the answer to `/pinglink` says about the backend's machines; None for free text."""
    try:
        found = from_json(content)
    except ValueError:
        return None
    return shapes.build_shape(Ping.model_validate(found)) if isinstance(found, dict) else None


def read_peers(content: bytes, path: str) -> list[Shape]:
    """What a list of peers says, or a map of their sums. Raises `Unreachable`."""
    found = _parse(content, path)
    if isinstance(found, dict):
        amounts: TypeAdapter[dict[str, float]] = TypeAdapter(dict[str, float])
        try:
            return [shapes.build_summed_shape(amounts.validate_python(found))]
        except ValidationError:
            raise Unreachable(f"the backend's answer to {path} is malformed: each resource must be a number") from None
    if not isinstance(found, list):
        raise Unreachable(f"the backend answered {path} with neither peers nor resources")
    return shapes.build_peer_shapes(found)


def _parse(content: bytes, path: str) -> Any:
    try:
        return from_json(content)
    except ValueError:
        raise Unreachable(f"the backend answered {path} with something that is not JSON") from None
