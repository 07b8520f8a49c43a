"""kopf as the source of events of our own resources; the only module that imports it. It writes nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import kopf

from nestor.api import labels
from nestor.kube import Api, Kind
from nestor.objects import Object
from nestor.operator.world.cache import Store

END_SECONDS = 5.0
"""How long kopf may take to end when all must."""

Handler = Callable[[Object], None]
Feeds = dict[Kind, tuple[Store, Handler]]
"""By kind: where its objects go, and who is told."""


def build_settings() -> kopf.OperatorSettings:
    """Explicit where a default could surprise: nothing is written, nobody is waited for, no request hangs."""
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.peering.standalone = True
    settings.persistence.finalizer = f"{labels.GROUP}/kopf-is-not-used"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=labels.GROUP)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=labels.GROUP)
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    settings.watching.connect_timeout = 10
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 10
    settings.queueing.worker_limit = None
    settings.execution.max_workers = 1
    return settings


def build_registry(feeds: Feeds, log_in: Callable[..., Any]) -> kopf.OperatorRegistry:
    """Each kind's events go into its store, and then to its handler with the object."""
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(log_in)
    for kind, (store, handler) in feeds.items():
        kopf.on.event(labels.GROUP, kind.plural, registry=registry)(_feed(store, handler))
    return registry


class _Login:
    """kopf's credentials: those of `api`, as kopf else mixes those of all client libraries that it finds.

    And the HTTP session is ours: one of kopf's own may stay open when all ends in the middle of a request, which opens another
    after the first is closed. While the credentials are the same, it is the same: when refused ones come again, kopf ends,
    instead of asking with them for ever.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._headers: dict[str, str] = {}
        self._known: kopf.AiohttpSession | None = None

    async def log_in(self, **_: Any) -> kopf.AiohttpSession:
        headers = await self._api.auth_headers()
        if self._known is None or headers != self._headers:
            await self.close()
            connector = aiohttp.TCPConnector(limit=0, ssl=self._api.ssl_context)
            session = aiohttp.ClientSession(connector=connector, headers=headers)
            self._headers, self._known = headers, kopf.AiohttpSession(server=self._api.host, aiohttp_session=session)
        return self._known

    async def close(self) -> None:
        if self._known is not None:
            await self._known.aiohttp_session.close()


def _feed(store: Store, handler: Handler) -> Callable[..., Any]:
    async def take(event: dict[str, Any], **_: Any) -> None:
        obj = event["object"]
        if event["type"] == "DELETED":
            store.drop(obj)
        else:
            store.put(obj)
        handler(obj)

    return take


async def run(feeds: Feeds, stop: asyncio.Event, api: Api) -> None:
    """Deliver events until `stop` is set, or SIGTERM or SIGINT arrives (kopf takes the process's signals)."""
    running = asyncio.create_task(_run_kopf(feeds, stop, api), name="kopf")
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        # Something else has died. Cancelled while it starts, kopf would leave tasks behind; told to stop, it ends them. Closed
        # connections are an error to requests that nobody waits for any more: unread, it would be the log's last word.
        busy = _tasks_of_kopf()
        stop.set()
        ended, _ = await asyncio.wait({running, *busy}, timeout=END_SECONDS)
        await asyncio.gather(*ended, return_exceptions=True)
        raise


async def _run_kopf(feeds: Feeds, stop: asyncio.Event, api: Api) -> None:
    logging.getLogger("kopf").setLevel(logging.WARNING)
    login = _Login(api)
    try:
        tasks = await kopf.spawn_tasks(
            registry=build_registry(feeds, login.log_in),
            settings=build_settings(),
            clusterwide=True,
            standalone=True,
            stop_flag=stop,
        )
        await kopf.run_tasks(tasks, ignored=_Everything())
    finally:
        # What it would end itself if it might end what it does not know: requests on their way.
        left = _tasks_of_kopf()
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await login.close()


class _Everything(frozenset[Any]):
    """At its end, kopf takes every task that it does not know for one of its own: it would wait 5 s for our queue, cancel it in
    the middle of a job, and raise what some request of ours got for an answer meanwhile.
    """

    def __contains__(self, _: object) -> bool:
        return True


def _tasks_of_kopf() -> set[asyncio.Task[Any]]:
    """By the file of their code; kopf's tasks have no other mark."""
    codes = ((task, getattr(task.get_coro(), "cr_code", None)) for task in asyncio.all_tasks())
    return {task for task, code in codes if code is not None and code.co_filename.startswith(_KOPF)}


_KOPF = str(Path(kopf.__file__).parent)
