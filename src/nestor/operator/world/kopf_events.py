"""kopf as the source of events about our own resources; the only module that imports it. It writes nothing."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import kopf

from nestor.api import labels
from nestor.kube import Api, Kind, pages
from nestor.kube.transport import UNANSWERED
from nestor.objects import Object
from nestor.operator.world.cache import Store

END_SECONDS = 5.0
"""How long kopf may take to stop at shutdown."""
CANCEL_SECONDS = 3.0
"""How long it may take after that, when it is cancelled."""

Handler = Callable[[Object], None]
Feeds = dict[Kind, tuple[Store, Handler]]
"""By kind: the store for its objects, and the handler to call."""


def build_settings() -> kopf.OperatorSettings:
    """Explicit wherever a default could surprise: kopf writes nothing, waits for no peers, and no request hangs."""
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.peering.standalone = True
    settings.persistence.finalizer = f"{labels.GROUP}/kopf-is-not-used"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=labels.GROUP)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=labels.GROUP)
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    settings.watching.connect_timeout = 10
    settings.watching.chunk_size = pages.SMALL_SIZE
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 10
    settings.queueing.worker_limit = None
    settings.execution.max_workers = 1
    return settings


def build_registry(feeds: Feeds, log_in: Callable[..., Any]) -> kopf.OperatorRegistry:
    """Each kind's events update its store; then its handler is called with the object."""
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(log_in)
    for kind, (store, handler) in feeds.items():
        kopf.on.event(labels.GROUP, kind.plural, registry=registry)(_feed(store, handler))
    return registry


def build_response(feeds: Feeds) -> type[aiohttp.ClientResponse]:
    """Answers that trim each object of a list as soon as it is parsed: all of them at once may not fit into memory."""
    trims = {kind.path(None): store.trim for kind, (store, _) in feeds.items()}

    class Response(aiohttp.ClientResponse):
        async def json(self, **_: Any) -> Any:
            content = await self.read()
            trim = next((trim for path, trim in trims.items() if self.url.path.endswith(path)), None)
            return pages.parse_list(content, trim) if trim else json.loads(content.decode(errors="replace"))

    return Response


class _Login:
    """Gives kopf the credentials of `api`. Otherwise kopf merges the credentials of every client library it finds.

    The HTTP session is ours too: a shutdown during a request makes kopf open another session of its own and never close it.
    The same session is returned while the credentials are unchanged, so that kopf gives up instead of retrying rejected ones.
    """

    def __init__(self, api: Api, response: type[aiohttp.ClientResponse], trace: aiohttp.TraceConfig) -> None:
        self._api = api
        self._trace = trace
        self._response = response
        self._headers: dict[str, str] = {}
        self._known: kopf.AiohttpSession | None = None

    async def log_in(self, **_: Any) -> kopf.AiohttpSession:
        headers = await self._api.auth_headers()
        if self._known is None or headers != self._headers:
            await self.close()
            connector = aiohttp.TCPConnector(limit=0, ssl=self._api.ssl_context)
            session = aiohttp.ClientSession(
                connector=connector, headers=headers, response_class=self._response, trace_configs=[self._trace]
            )
            self._headers, self._known = headers, kopf.AiohttpSession(server=self._api.host, aiohttp_session=session)
        return self._known

    async def close(self) -> None:
        if self._known is not None:
            await self._known.aiohttp_session.close()


def build_trace(api: Api, feeds: Feeds) -> aiohttp.TraceConfig:
    """Counts kopf's requests with ours, and notes when a server has answered them: kopf tells nobody of bookmarks."""
    stores = {kind.path(None): store for kind, (store, _) in feeds.items()}

    async def end(_: object, __: object, params: aiohttp.TraceRequestEndParams) -> None:
        api.count(params.method, str(params.url), str(params.response.status))
        if params.response.ok and (store := stores.get(params.url.path)):
            store.note_contact()

    async def fail(_: object, __: object, params: aiohttp.TraceRequestExceptionParams) -> None:
        api.count(params.method, str(params.url), UNANSWERED)

    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(end)
    trace.on_request_exception.append(fail)
    return trace


def _feed(store: Store, handler: Handler) -> Callable[..., Any]:
    async def take(event: dict[str, Any], **_: Any) -> None:
        store.note_contact()
        obj = event["object"]
        kept = store.trim(obj)
        # In its place: kopf holds on to the last event of each object for some seconds. What is trimmed already stays itself.
        if kept is not obj:
            obj.clear()
            obj.update(kept)
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
        # Another task has died. If cancelled while starting, kopf leaves tasks behind; if asked to stop, it ends them. Requests
        # that nobody awaits fail when connections close; gather their errors, or asyncio logs them last of all.
        busy = _tasks_of_kopf()
        stop.set()
        ended, left = await asyncio.wait({running, *busy}, timeout=END_SECONDS)
        for task in left:
            task.cancel()
        if left:
            ended |= (await asyncio.wait(left, timeout=CANCEL_SECONDS))[0]
        await asyncio.gather(*ended, return_exceptions=True)
        raise


async def _run_kopf(feeds: Feeds, stop: asyncio.Event, api: Api) -> None:
    logging.getLogger("kopf").setLevel(logging.WARNING)
    login = _Login(api, build_response(feeds), build_trace(api, feeds))
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
        # Requests in flight, which kopf does not end because `ignored` covers all tasks.
        left = _tasks_of_kopf()
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await login.close()


class _Everything(frozenset[Any]):
    """A set that contains every task. At shutdown, kopf treats all tasks that it may not ignore as its own: it would wait 5 s
    for our queue, cancel it in the middle of a job, and raise the error of any request of ours that failed meanwhile.
    """

    def __contains__(self, _: object) -> bool:
        return True


def _tasks_of_kopf() -> set[asyncio.Task[Any]]:
    """Recognized by the file of their code; kopf's tasks have no other mark."""
    codes = ((task, getattr(task.get_coro(), "cr_code", None)) for task in asyncio.all_tasks())
    return {task for task, code in codes if code is not None and code.co_filename.startswith(_KOPF)}


_KOPF = str(Path(kopf.__file__).parent)
