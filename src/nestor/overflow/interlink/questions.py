"""Questions to a backend: about its pods, many at a time, and about itself."""

from __future__ import annotations

import json
from collections.abc import Sequence

from nestor.api.objects import Object
from nestor.overflow.interlink import answers
from nestor.overflow.interlink.build import build_question
from nestor.overflow.interlink.client import Client, Excess
from nestor.overflow.interlink.settings import Settings
from nestor.overflow.interlink.wire import PodAnswer
from nestor.pods.providers.errors import NotFound, NotYet, ProviderError, Unauthorized, Unreachable

_PODS_PER_CALL = 1000
_FURTHER_CALLS = 64


class Questions:
    """What a backend knows. All methods raise `ProviderError`."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self._hop = settings.hop
        self._room = settings.limits.bytes_per_pod

    async def ping(self) -> bytes:
        """The answer to the question whether the backend is well. Raises `Unreachable` or `Unauthorized` if it is not."""
        if self._hop == "Server":
            return await self.probe("POST", "/pinglink")
        return await self.probe("GET", "/status", "[]")

    async def probe(self, method: str, path: str, body: str = "", *, room: int = 0) -> bytes:
        """The answer of a path that the backend must have. `room`: see `Client.ask`."""
        try:
            return await self._client.ask(method, path, body, room=room)
        except NotFound as error:
            raise Unreachable(f"{path} is not there: {error.message}") from None

    async def find(self, pod: Object) -> PodAnswer | None:
        """What the backend knows about one pod; None if it does not know it."""
        uid = pod["metadata"]["uid"]
        try:
            return (await self._call([pod])).get(uid)
        except NotFound:
            await self.ping()
            return None

    async def find_all(self, pods: Sequence[Object]) -> dict[str, PodAnswer]:
        """What the backend knows about these pods, by UID: one call for up to a thousand of them.

        Some plugins answer with an error if they do not know one of the pods, and one pod may have more to say than all others.
        It is then looked for, by halves, so that the others keep their statuses. Raises if every call has failed, unless the
        reason is that the backend knows none of the pods.
        """
        parts = [pods[start : start + _PODS_PER_CALL] for start in range(0, len(pods), _PODS_PER_CALL)]
        found: dict[str, PodAnswer] = {}
        failures: list[ProviderError] = []
        answered, further = False, _FURTHER_CALLS
        while parts:
            part = parts.pop()
            try:
                found |= await self._call(part)
                answered = True
            except ProviderError as error:
                is_about_pods = isinstance(error, Excess) or not isinstance(error, (Unreachable, Unauthorized, NotYet))
                if is_about_pods and len(part) > 1 and further > 0:
                    middle, further = len(part) // 2, further - 2
                    parts += [part[:middle], part[middle:]]
                else:
                    failures.append(error)
        if failures and not answered:
            if not all(isinstance(error, NotFound) for error in failures):
                raise next(error for error in failures if not isinstance(error, NotFound))
            await self.ping()
        return found

    async def _call(self, pods: Sequence[Object]) -> dict[str, PodAnswer]:
        body = json.dumps([build_question(pod) for pod in pods])
        content = await self._client.ask("GET", "/status", body, room=len(pods) * self._room)
        return answers.read_statuses(content, {pod["metadata"]["uid"] for pod in pods})
