"""An interLink backend in this process: both hops over real HTTP, with pods that start and end when a test says so.

It keeps no more of the protocol than the provider may rely on; a plugin that runs containers is another thing.
"""

import asyncio
import copy
import html
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from aiohttp import web
from aiohttp.test_utils import TestServer

from nestor.api.backend_kinds import Hop
from nestor.api.objects import Object

Fault = Callable[[web.Request], Awaitable[web.StreamResponse | None]]


@dataclass(frozen=True)
class Profile:
    """How one plugin answers, by its source. interLink's server adds its memory and its words."""

    ping: Any
    job: Literal["Own", "Empty", "Null"]
    """What statuses say as the backend's own name of a pod."""
    unknown: Literal["Stateless", "LeftOut", "Refused"]
    """What becomes of pods that it does not know in the answer to a question; `Refused`: 404 to all of it."""
    refusal: tuple[int, str]
    """The answer to `/create` of a pod that its batch system does not take."""
    deletes_unknown: int
    """The status of `/delete` for a pod that it does not know; 0: it breaks off."""
    deletes_ended: int = 200
    ping_status: int = 200
    first_only: bool = False
    """It tells of the first pod of a question."""
    tells_init: bool = False
    tells_times: bool = False
    memory_seconds: float = 0
    """For how long it answers all questions with its last answer."""


_DOCKER = "Some errors occurred while creating container. Check Docker Sidecar's logs"
_SLURM = "sbatch: error: Batch job submission failed: Invalid partition name specified"
PLAIN = Profile("0", "Own", "Stateless", (400, "no"), 404, tells_init=True, tells_times=True)
"""None of the real ones: what the provider may rely on, with grace periods, and without a server's memory and words."""
PROFILES = {
    "Slurm": Profile(
        *({"status": "ok", "resources": {"cpu": "2", "memory": "9338Mi"}}, "Empty", "Stateless", (504, _SLURM), 0),
        memory_seconds=10,
        tells_times=True,
    ),
    "Docker": Profile(None, "Own", "Refused", (500, _DOCKER), 500, tells_init=True),
    "SDK": Profile("Internal Server Error", "Null", "Refused", (500, "no such image"), 404, ping_status=500, first_only=True),
    "HTCondor": Profile({"status": "healthy"}, "Own", "LeftOut", (500, "Job submission failed"), 404, 500, tells_times=True),
}


class FakeInterlink:
    """What a backend keeps of its pods. `asked` notes every request, as `POST /create`; `bodies` its JSON."""

    def __init__(self, hop: Hop = "Server", profile: Profile = PLAIN) -> None:
        self.hop = hop
        self.profile = profile
        self.clock = time.monotonic
        self.memory: dict[str, Object] = {}
        """What the server has last heard of each pod."""
        self._last: tuple[float, list[Object]] = (float("-inf"), [])
        self.pods: dict[str, Object] = {}
        self.starts: list[str] = []
        """UIDs of the pods that were created, in order."""
        self.terminating: dict[str, Object] = {}
        """The body of the last `/delete` of each pod that has not ended since."""
        self.asked: list[str] = []
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.ping: Any = profile.ping
        self.ping_status = profile.ping_status
        self.log: list[bytes] = [b"hello\n"]
        self.silence = asyncio.Event()
        """A log that is followed ends when this is set."""
        self.fault: Fault | None = None
        """Answers in place of the backend, unless it returns None."""
        self.after: Fault | None = None
        """The same, once the backend has done what was asked."""
        self.is_strict = profile.unknown == "Refused"
        """It answers 404 to a question that contains a pod that it does not know, as some plugins do."""
        self.is_silent = profile.unknown == "LeftOut"
        """It leaves pods that it does not know out of its answers; otherwise, it tells them without a state."""
        self.refuses = False
        """Every `/create` is answered with the profile's refusal."""
        self._jobs = 0

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Listen; yields the URL."""
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", self._answer)
        async with TestServer(app) as server:
            yield str(server.make_url("")).rstrip("/")

    def run(self, uid: str, **fields: Any) -> None:
        """Its containers run now. `fields` are further ones of each container's status."""
        self.set_state(uid, {"running": {"startedAt": "2026-01-01T00:00:10Z"}}, ready=True, **fields)

    def end(self, uid: str, code: int = 0) -> None:
        """Its containers have ended."""
        times = {"startedAt": "2026-01-01T00:00:10Z", "finishedAt": "2026-01-01T00:01:00Z"}
        self.set_state(uid, {"terminated": {"exitCode": code, **times}})

    def set_state(self, uid: str, state: Object, **fields: Any) -> None:
        """Every container has this state."""
        pod, profile = self.pods[uid], self.profile
        if not profile.tells_times:
            state = {kind: {key: item for key, item in said.items() if not key.endswith("At")} for kind, said in state.items()}
        for group in ("containers", "initContainers"):
            is_told = group == "containers" or profile.tells_init
            names = [item["name"] for item in pod["pod"]["spec"].get(group) or [] if is_told]
            pod["answer"][group] = [{"name": name, "state": state, "restartCount": 0, **fields} for name in names]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.text()
        self.asked.append(f"{request.method} {request.path}")
        self.bodies.append(body if request.path == "/updateCache" else json.loads(body) if body else None)
        self.headers.append(dict(request.headers))
        if self.fault and (answer := await self.fault(request)):
            return answer
        result = await self._do(request, self.bodies[-1])
        if self.after and (answer := await self.after(request)):
            return answer
        return result if self.profile is PLAIN or self.hop == "Plugin" else self._pass_on(request.path, result)

    async def _do(self, request: web.Request, body: Any) -> web.StreamResponse:
        delete = "DELETE" if self.hop == "Server" else "POST"
        match request.method, request.path:
            case "POST", "/create":
                return self._create(body)
            case method, "/delete" if method == delete:
                return self._delete(request, body)
            case "GET", "/status":
                return self._status(body)
            case "GET", "/getLogs":
                return await self._logs(request, body)
            case "POST", "/pinglink" if self.hop == "Server":
                return self._ping()
            case "POST", "/updateCache" if self.hop == "Server":
                self.memory.pop(body, None)
                return web.Response(text="Updated cache")
            case "GET", "/resources":
                return web.json_response(self.ping)
        return web.Response(status=404, text="no such path")

    def _ping(self) -> web.Response:
        if isinstance(self.ping, str):
            return web.Response(status=self.ping_status, text=self.ping)
        return web.json_response(self.ping, status=self.ping_status)

    def _pass_on(self, path: str, answer: web.StreamResponse) -> web.StreamResponse:
        """A plugin's answer in the words of interLink's server."""
        if answer.status == 200 or not isinstance(answer, web.Response) or not answer.text:
            return answer
        text = f"HTTP InterLink session s:  call exit status: 500. Body: {html.escape(answer.text)}"
        return web.Response(status=answer.status, text=text + ("503" if path == "/pinglink" else ""))

    def _create(self, body: Any) -> web.Response:
        if self.refuses:
            status, text = self.profile.refusal
            return web.Response(status=status, text=text)
        assert ("container" in body) == (self.hop == "Plugin")
        meta = body["pod"]["metadata"]
        self._jobs += 1
        job = f"job-{self._jobs}"
        told = {"Own": job, "Empty": "", "Null": None}[self.profile.job]
        answer = {"name": meta["name"], "UID": meta["uid"], "namespace": meta["namespace"], "JID": told}
        self.starts.append(meta["uid"])
        self.pods[meta["uid"]] = {"pod": body["pod"], "answer": answer | {"containers": None, "initContainers": None}}
        self.set_state(meta["uid"], {"waiting": {"reason": "Queued"}})
        created = {"PodUID": meta["uid"], "PodJID": job}
        return web.json_response([created] if self.profile is PLAIN and self.hop == "Plugin" else created)

    def _delete(self, request: web.Request, body: Any) -> web.Response:
        uid, profile = body["metadata"]["uid"], self.profile
        self.memory.pop(uid, None)
        if uid not in self.pods:
            if not profile.deletes_unknown and self.hop == "Plugin" and request.transport:
                request.transport.close()
            return web.Response(status=profile.deletes_unknown or 500, text="no such job" if profile.deletes_unknown else "")
        states = [item["state"] for item in self.pods[uid]["answer"]["containers"] or []]
        if profile.deletes_ended != 200 and all("terminated" in state for state in states):
            return web.Response(status=profile.deletes_ended, text="Deletion failed")
        has_grace = profile is PLAIN and body["metadata"]["deletionGracePeriodSeconds"]
        if has_grace and any("running" in state for state in states):
            self.terminating[uid] = body
        else:
            self.finish(uid)
        return web.Response(text="deleted")

    def finish(self, uid: str) -> None:
        """A pod that was deleted is gone."""
        del self.pods[uid]
        self.terminating.pop(uid, None)

    def _status(self, body: Any) -> web.Response:
        if not body:
            return self._ping() if self.hop == "Plugin" else web.json_response(None)
        asked = body[:1] if self.profile.first_only else body
        if self.is_strict and any(pod["metadata"]["uid"] not in self.pods for pod in asked):
            return web.Response(status=404, text="one of them is not there")
        found = [self._describe(pod) for pod in asked if not self.is_silent or pod["metadata"]["uid"] in self.pods]
        return web.json_response((found if self.profile is PLAIN else self._remember(found, body)) or None)

    def _remember(self, fresh: list[Object], asked: Any) -> list[Object]:
        """What the plugin's memory, and then its server's, make of an answer."""
        if self.clock() - self._last[0] < self.profile.memory_seconds:
            fresh = self._last[1]
        else:
            self._last = self.clock(), copy.deepcopy(fresh)
        if self.hop == "Plugin":
            return fresh
        self.memory |= {item["UID"]: copy.deepcopy(item) for item in fresh}
        return [self.memory[uid] for uid in (pod["metadata"]["uid"] for pod in asked) if uid in self.memory]

    def _describe(self, pod: Any) -> Object:
        meta = pod["metadata"]
        if found := self.pods.get(meta["uid"]):
            answer: Object = found["answer"]
            return answer
        states = [{"name": item["name"], "state": {}} for item in pod["spec"]["containers"]]
        return {"name": meta["name"], "UID": meta["uid"], "JID": "", "containers": states, "initContainers": None}

    async def _logs(self, request: web.Request, body: Any) -> web.StreamResponse:
        if body["PodUID"] not in self.pods:
            return web.Response(status=404, text="no such job")
        response = web.StreamResponse()
        await response.prepare(request)
        for piece in self.log:
            await response.write(piece)
        if body["Opts"]["Follow"]:
            await self.silence.wait()
        return response
