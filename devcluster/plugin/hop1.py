"""Hop 1 of the protocol: what interLink's API server answers to virtual kubelets. It asks the plugin by hop 2."""

import json
from collections.abc import Mapping
from typing import Any

import aiohttp
from aiohttp import web

from devcluster.plugin import grouping, http, status
from devcluster.plugin.refusals import Refused
from devcluster.plugin.shapes import KNOWN_POD, LOG, SERVER_CREATE
from devcluster.plugin.switches import Switchboard
from nestor.api.objects import Object


class Server:
    """The API server's routes. `plugin` is the URL of the plugin."""

    def __init__(self, board: Switchboard, session: aiohttp.ClientSession, plugin: str) -> None:
        self._board, self._session, self._plugin = board, session, plugin
        self._finished: dict[str, Object] = {}
        self._deleted: set[str] = set()
        """Pods that were asked to end and that the plugin may still know."""

    def add_routes(self, app: web.Application) -> None:
        """Serve them."""
        app.router.add_post("/pinglink", self._ping)
        app.router.add_post("/create", self._create)
        app.router.add_delete("/delete", self._delete)
        app.router.add_get("/status", self._status)
        app.router.add_get("/getLogs", self._log)
        app.router.add_post("/updateCache", self._update_cache)
        app.router.add_get("/resources", self._list_peers)

    async def _ping(self, request: web.Request) -> web.StreamResponse:
        answer = await self._ask(request, "GET", "/status", [])
        if answer.status != 200:
            return web.Response(status=503, text=f"the plugin answers {answer.status}: {answer.text}")
        return self._describe()

    def _describe(self) -> web.Response:
        now = self._board.now
        if now.ping == "text":
            return web.Response(text="interLink is up and its plugin answers")
        accelerators = [{"resourceType": name, "available": str(count)} for name, count in now.resources.accelerators.items()]
        resources = {**now.resources.model_dump(include={"cpu", "memory", "pods"}), "accelerators": accelerators}
        content: Object = {"status": "ok", "resources": resources}
        if now.taints is not None:
            content["taints"] = list(now.taints)
        return web.json_response(content)

    async def _create(self, request: web.Request) -> web.Response:
        asked = await http.read(request, SERVER_CREATE)
        wanted = {"pod": asked["pod"], "container": grouping.group(asked)}
        if asked.get("jobscriptURL"):
            raise Refused("job scripts cannot be had")
        return await self._ask(request, "POST", "/create", wanted)

    async def _delete(self, request: web.Request) -> web.Response:
        pod = await http.read(request, KNOWN_POD)
        self._finished.pop(pod["metadata"]["uid"], None)
        self._deleted.add(pod["metadata"]["uid"])
        return await self._ask(request, "POST", "/delete", pod)

    async def _status(self, request: web.Request) -> web.StreamResponse:
        pods = {pod["metadata"]["uid"]: pod for pod in await http.read_pods(request)}
        found = [self._finished[uid] for uid in pods if uid in self._finished]
        unknown = [pod for uid, pod in pods.items() if uid not in self._finished]
        if pods and not unknown:
            return web.json_response(found)
        answer = await self._ask(request, "GET", "/status", unknown)
        try:
            fresh = json.loads(answer.text or "")
        except ValueError:
            return answer  # what the plugin says is passed on, whatever it is
        if answer.status != 200 or not isinstance(fresh, list):
            return answer
        self._remember(fresh, pods)
        return web.json_response([*found, *fresh])

    def _remember(self, fresh: list[Object], pods: Mapping[str, Object]) -> None:
        """Keep the answers that will never change, but none about a pod that is to go away."""
        known = {item["UID"]: item for item in fresh if status.is_known(item)}
        self._deleted -= pods.keys() - known.keys()
        for uid, item in known.items():
            if uid not in self._deleted and status.is_final(item, pods[uid]):
                self._finished[uid] = item

    async def _log(self, request: web.Request) -> web.StreamResponse:
        asked = await http.read(request, LOG)
        try:
            async with self._session.get(f"{self._plugin}/getLogs", json=asked, headers=_login(request)) as source:
                answer = web.StreamResponse(status=source.status, headers={"Content-Type": "text/plain"})
                await answer.prepare(request)
                async for part in source.content.iter_any():
                    await answer.write(part)
                await answer.write_eof()
                return answer
        except aiohttp.ClientConnectorError as error:
            return web.Response(status=502, text=f"the plugin does not answer: {error}")
        except aiohttp.ClientPayloadError:
            return http.end_connection(request)  # the log is not whole, and the caller must see that

    async def _update_cache(self, request: web.Request) -> web.Response:
        self._finished.pop((await request.text()).strip().strip('"'), None)
        return web.Response(text="forgotten")

    async def _list_peers(self, request: web.Request) -> web.Response:
        return await self._ask(request, "GET", "/resources", None)

    async def _ask(self, request: web.Request, method: str, path: str, content: Any) -> web.Response:
        """The plugin's answer, passed on as it is; 502 when there is none."""
        try:
            async with self._session.request(method, self._plugin + path, json=content, headers=_login(request)) as answer:
                return web.Response(status=answer.status, text=await answer.text(), content_type=answer.content_type)
        except aiohttp.ClientError as error:
            return web.Response(status=502, text=f"the plugin does not answer: {error}")


def _login(request: web.Request) -> dict[str, str]:
    """The caller's token goes on to the plugin."""
    return {name: request.headers[name] for name in ("Authorization",) if name in request.headers}
