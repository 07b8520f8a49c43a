"""Answers for jobs that are asleep: it has them woken, and sends browsers to the same address again once they are up.

It is in the path only meanwhile. It knows which hosts are asleep, and may say which of them are called, and nothing else.
"""

import asyncio
import logging
import os
from collections import Counter

from aiohttp import web

from nestor.api.contracts.activator import CALLED, HEALTH_PORT, PORT, SLEEPERS
from nestor.api.objects import Object
from nestor.kube import Api, ApiError, Conflict, Informer, kinds
from nestor.kube.process import run_until_signal, set_up_log
from nestor.kube.serving.pages import Pages

MANAGER = "nestor-activator"
PATIENCE_SECONDS = 50.0
"""For a job to come up: proxies give up after 60 s."""
PAUSE_SECONDS = 1.0
"""Until whoever leads to the job has heard that it is up: a browser would spend its twenty redirects in the meantime."""
READ_BYTES = 4096
"""Of a body that nobody reads, while its request waits."""
MOST, SHARE = 400, 50
"""Requests that wait at a time, in all and for one host."""
log = logging.getLogger(__name__)


class Activator:
    """Holds requests. `namespace`: the operator's own."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self.sleepers = Informer(api, kinds.CONFIG_MAP, namespace, fields=f"metadata.name={SLEEPERS}")
        self.sleepers.on_change(lambda _: self._renew())
        self._news = asyncio.Event()
        self._waiting: Counter[str] = Counter()
        self._calling: set[str] = set()

    def _renew(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _find(self, host: str) -> str | None:
        """The job at that host, if it is asleep."""
        return (self._sleepers.get("data") or {}).get(host)

    @property
    def _sleepers(self) -> Object:
        return self.sleepers.get(SLEEPERS, self._namespace) or {}

    async def answer(self, request: web.Request) -> web.Response:
        host = request.host.partition(":")[0].lower().rstrip(".")
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._call(host)
            if self._waiting[host] >= SHARE or self._waiting.total() >= MOST:
                return refuse("Too many requests wait for the application to start.")
            self._waiting[host] += 1
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._wait(host)
            finally:
                self._waiting -= Counter([host])
        except TimeoutError:
            return refuse("The application is still starting.")
        except ApiError as error:
            log.warning("%s cannot be woken: %s", host, error)
            return refuse("The application cannot be started at the moment.")
        await asyncio.sleep(PAUSE_SECONDS)
        return web.Response(status=307, headers={"Location": find_location(request.raw_path), "Cache-Control": "no-store"})

    async def _wait(self, host: str) -> None:
        """Until the job at that host is up."""
        while self._find(host) is not None:
            news = self._news
            await self._call(host)
            await news.wait()

    async def _call(self, host: str) -> None:
        """Have the job at that host woken, if it is asleep. With a version: one that is awake by now must not be called again."""
        if (job := self._find(host)) is None or job.endswith(CALLED) or host in self._calling:
            return
        self._calling.add(host)
        version = self._sleepers["metadata"]["resourceVersion"]
        body = {"metadata": {"resourceVersion": version}, "data": {host: job + CALLED}}
        try:
            self.sleepers.put(await self._api.patch(kinds.CONFIG_MAP, SLEEPERS, self._namespace, body))
            log.info("%s is called", host)
        except Conflict:
            log.debug("%s: the next word of the ConfigMap tells what is true", host)
        finally:
            self._calling.remove(host)


def find_location(path: str) -> str:
    """The same path at the same host, whatever it is: two slashes at its beginning would name another host. Pure."""
    if not path.startswith("/"):
        return "/"
    return f"/.{path}" if path[1:2] in ("/", "\\") else path


def refuse(text: str) -> web.Response:
    return web.Response(
        status=503, text=f"{text} Try again in a moment.\n", headers={"Retry-After": "5", "Cache-Control": "no-store"}
    )


def build_app(activator: Activator) -> web.Application:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", activator.answer)
    return app


async def run(namespace: str) -> None:
    async with await Api.connect(None, manager=MANAGER) as api:
        activator = Activator(api, namespace)
        runner = web.AppRunner(build_app(activator), access_log=None, handler_cancellation=True, read_bufsize=READ_BYTES)
        await runner.setup()
        try:
            await web.TCPSite(runner, port=PORT).start()
            probes = {"/readyz": lambda: None if activator.sleepers.synced.is_set() else "not synced", "/healthz": lambda: None}
            async with asyncio.TaskGroup() as group:
                group.create_task(activator.sleepers.run())
                group.create_task(Pages(probes, {}).serve(HEALTH_PORT))
        finally:
            await runner.cleanup()


def main(_: list[str]) -> int:
    """Serve until a signal comes. Returns 1 if that fails."""
    set_up_log()
    try:
        asyncio.run(run_until_signal(run(os.environ["POD_NAMESPACE"])))
    except Exception:
        log.exception("exiting: a part of the process stopped unexpectedly")
        return 1
    return 0
