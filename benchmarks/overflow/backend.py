"""A light interLink API server: pods start and end by the clock, so whatever takes longer is not the backend's."""

import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.test_utils import TestServer
from pydantic_core import from_json, to_json

from nestor.api import times
from nestor.api.objects import Object

FOREVER = float("inf")


@dataclass
class Life:
    """One pod at the backend; times are monotonic."""

    containers: list[str]
    begun: float
    ends: float
    started: str = field(default_factory=times.timestamp)

    @property
    def has_ended(self) -> bool:
        """Whether its containers have ended."""
        return time.monotonic() >= self.ends


class LightBackend:
    """`seconds`: how long the containers of pods run that are created from now on."""

    def __init__(self, seconds: float = FOREVER) -> None:
        self.seconds = seconds
        self.pods: dict[str, Life] = {}
        self.ended: dict[str, float] = {}
        """When the pods that ended did so, also those that were deleted since."""
        self.creations: Counter[str] = Counter()
        self.questions: list[tuple[float, int]] = []
        """Of each call for statuses: when, and about how many pods."""

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Listen; yields the URL."""
        app = web.Application(client_max_size=2**28)
        app.router.add_post("/pinglink", self._ping)
        app.router.add_post("/create", self._create)
        app.router.add_delete("/delete", self._delete)
        app.router.add_get("/status", self._status)
        async with TestServer(app) as server:
            yield str(server.make_url("")).rstrip("/")

    def end_all(self) -> None:
        """All pods end now."""
        now = time.monotonic()
        for uid, life in self.pods.items():
            life.ends = min(life.ends, now)
            self.ended.setdefault(uid, life.ends)

    async def _ping(self, _: web.Request) -> web.Response:
        return web.Response(text="well")

    async def _create(self, request: web.Request) -> web.Response:
        pod = from_json(await request.read())["pod"]
        uid, now = pod["metadata"]["uid"], time.monotonic()
        self.creations[uid] += 1
        self.pods[uid] = Life([item["name"] for item in pod["spec"]["containers"]], now, now + self.seconds)
        if self.seconds != FOREVER:
            self.ended[uid] = now + self.seconds
        return web.json_response({"PodUID": uid, "PodJID": f"job-{len(self.creations)}"})

    async def _delete(self, request: web.Request) -> web.Response:
        uid = from_json(await request.read())["metadata"]["uid"]
        return web.Response(status=200 if self.pods.pop(uid, None) else 404)

    async def _status(self, request: web.Request) -> web.Response:
        pods = from_json(await request.read())
        if pods:
            self.questions.append((time.monotonic(), len(pods)))
        uids = [pod["metadata"]["uid"] for pod in pods]
        answer = [self._describe(uid) for uid in uids if uid in self.pods]
        return web.Response(body=to_json(answer), content_type="application/json")

    def _describe(self, uid: str) -> Object:
        life = self.pods[uid]
        state: Object = {"running": {"startedAt": life.started}}
        if life.has_ended:
            state = {"terminated": {"exitCode": 0, "startedAt": life.started, "finishedAt": times.timestamp()}}
        found = [{"name": name, "state": state, "ready": not life.has_ended, "restartCount": 0} for name in life.containers]
        return {"name": uid, "UID": uid, "namespace": "", "JID": f"job-{uid}", "containers": found}
