"""An interLink backend in this process: both hops over real HTTP, with pods that start and end when a test says so.

It keeps no more of the protocol than the provider may rely on; a plugin that runs containers is another thing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from nestor.api.objects import Object
from nestor.overflow.interlink.settings import Hop

Fault = Callable[[web.Request], Awaitable[web.StreamResponse | None]]


class FakeInterlink:
    """What a backend keeps of its pods. `asked` notes every request, as `POST /create`; `bodies` its JSON."""

    def __init__(self, hop: Hop = "Server") -> None:
        self.hop = hop
        self.pods: dict[str, Object] = {}
        self.starts: list[str] = []
        """UIDs of the pods that were created, in order."""
        self.terminating: dict[str, Object] = {}
        """The body of the last `/delete` of each pod that has not ended since."""
        self.asked: list[str] = []
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.ping: Any = "0"
        self.log: list[bytes] = [b"hello\n"]
        self.silence = asyncio.Event()
        """A log that is followed ends when this is set."""
        self.fault: Fault | None = None
        """Answers in place of the backend, unless it returns None."""
        self.after: Fault | None = None
        """The same, once the backend has done what was asked."""
        self.is_strict = False
        """It answers 404 to a question that contains a pod that it does not know, as some plugins do."""
        self.is_silent = False
        """It leaves pods that it does not know out of its answers; otherwise, it tells them without a state."""
        self.refusal = ""
        """The text of a 400 to every `/create`."""
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
        pod = self.pods[uid]
        for group, key in (("containers", "containers"), ("initContainers", "initContainers")):
            names = [item["name"] for item in pod["pod"]["spec"].get(group) or []]
            pod["answer"][key] = [{"name": name, "state": state, "restartCount": 0, **fields} for name in names]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.asked.append(f"{request.method} {request.path}")
        self.bodies.append(json.loads(body) if body else None)
        self.headers.append(dict(request.headers))
        if self.fault and (answer := await self.fault(request)):
            return answer
        result = await self._do(request, self.bodies[-1])
        if self.after and (answer := await self.after(request)):
            return answer
        return result

    async def _do(self, request: web.Request, body: Any) -> web.StreamResponse:
        delete = "DELETE" if self.hop == "Server" else "POST"
        match request.method, request.path:
            case "POST", "/create":
                return self._create(body)
            case method, "/delete" if method == delete:
                return self._delete(body)
            case "GET", "/status":
                return self._status(body)
            case "GET", "/getLogs":
                return await self._logs(request, body)
            case "POST", "/pinglink" if self.hop == "Server":
                return web.json_response(self.ping) if not isinstance(self.ping, str) else web.Response(text=self.ping)
            case "GET", "/resources":
                return web.json_response(self.ping)
        return web.Response(status=404, text="no such path")

    def _create(self, body: Any) -> web.Response:
        if self.refusal:
            return web.Response(status=400, text=self.refusal)
        assert ("container" in body) == (self.hop == "Plugin")
        meta = body["pod"]["metadata"]
        self._jobs += 1
        answer = {"name": meta["name"], "UID": meta["uid"], "namespace": meta["namespace"], "JID": f"job-{self._jobs}"}
        self.starts.append(meta["uid"])
        self.pods[meta["uid"]] = {"pod": body["pod"], "answer": answer | {"containers": None, "initContainers": None}}
        self.set_state(meta["uid"], {"waiting": {"reason": "Queued"}})
        created = {"PodUID": meta["uid"], "PodJID": answer["JID"]}
        return web.json_response(created if self.hop == "Server" else [created])

    def _delete(self, body: Any) -> web.Response:
        uid = body["metadata"]["uid"]
        if uid not in self.pods:
            return web.Response(status=404, text="no such job")
        running = any("running" in item["state"] for item in self.pods[uid]["answer"]["containers"] or [])
        if running and body["metadata"]["deletionGracePeriodSeconds"]:
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
            return web.json_response(self.ping if self.hop == "Plugin" else None)
        if self.is_strict and any(pod["metadata"]["uid"] not in self.pods for pod in body):
            return web.Response(status=404, text="one of them is not there")
        found = [self._describe(pod) for pod in body if not self.is_silent or pod["metadata"]["uid"] in self.pods]
        return web.json_response(found or None)

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
