"""Nestor's kopf handlers: kopf begins and ends the work, and says which of our resources has changed.

It only says which one. How the object is now, the caches know (`world/context`), which watches of ours keep: kopf tells nothing
of what was deleted while its watch was broken, and has no place for what the operator itself has written.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

import aiohttp
import kopf

from nestor.api import labels
from nestor.operator.wiring import Operator


@dataclass
class Memo:
    operator: Operator
    stop: asyncio.Event
    """Ends kopf."""
    work: asyncio.Task[None] | None = None
    session: kopf.AiohttpSession | None = None


async def run(operator: Operator, stop: asyncio.Event) -> None:
    """Run until `stop` is set, a signal arrives (kopf takes the process's signals), or a part of the work fails: raises that."""
    logging.getLogger("kopf").setLevel(logging.WARNING)
    memo = Memo(operator, stop)
    await kopf.operator(clusterwide=True, standalone=True, memo=memo, stop_flag=stop)
    if memo.session is not None:
        await memo.session.aiohttp_session.close()
    if memo.work is not None and memo.work.done() and not memo.work.cancelled():
        memo.work.result()


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, memo: Memo, **_: Any) -> None:
    """Begin to work. kopf itself writes nothing: no events, no finalizers, no annotations."""
    settings.posting.enabled = False
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    settings.watching.connect_timeout = 10
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 10
    memo.work = asyncio.create_task(memo.operator.work(), name="nestor")
    memo.work.add_done_callback(lambda _: memo.stop.set())


@kopf.on.cleanup()
async def end(memo: Memo, **_: Any) -> None:
    """Have nothing begun that is not ended."""
    if memo.work is not None:
        memo.work.cancel()
        await asyncio.wait({memo.work})


async def _ask_for_metadata(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Of our resources; of their definitions, kopf reads more. A server knows lists and what watches bring by different names."""
    if request.url.path.startswith(f"/apis/{labels.GROUP}/"):
        kind = "PartialObjectMetadata" if "watch" in request.url.query else "PartialObjectMetadataList"
        request.headers["Accept"] = f"application/json;as={kind};g=meta.k8s.io;v=v1,application/json"
    return await send(request)


class _Answer(aiohttp.ClientResponse):
    """An API server writes an empty list of metadata as null, which kopf 1.45 takes for a list."""

    async def json(self, **arguments: Any) -> Any:
        found = await super().json(**arguments)
        return found | {"items": []} if isinstance(found, dict) and found.get("items", ()) is None else found


@kopf.on.login()
async def log_in(memo: Memo, **_: Any) -> kopf.AiohttpSession:
    """With the operator's own credentials, for metadata alone: kopf needs no more to name an object, and holds each for some
    seconds, while users may write jobs that are 30 times as large in memory as on the wire.

    The session stays the same while the credentials do, so that kopf gives up instead of sending for ever what is refused.
    """
    api = memo.operator.context.api
    headers = await api.auth_headers()
    if memo.session is None or headers.items() - memo.session.aiohttp_session.headers.items():
        if memo.session is not None:
            await memo.session.aiohttp_session.close()
        connector = aiohttp.TCPConnector(limit=0, ssl=api.ssl_context)
        session = aiohttp.ClientSession(
            connector=connector, headers=headers, response_class=_Answer, middlewares=[_ask_for_metadata]
        )
        memo.session = kopf.AiohttpSession(server=api.host, aiohttp_session=session)
    return memo.session


@kopf.on.event(labels.GROUP, "nestedappjobs")
@kopf.on.event(labels.GROUP, "nestedclusters")
@kopf.on.event(labels.GROUP, "nestedclasses")
@kopf.on.event(labels.GROUP, "nestedapps")
@kopf.on.event(labels.GROUP, "overflowbackends")
async def look_at(memo: Memo, resource: kopf.Resource, namespace: str | None, name: str, **_: Any) -> None:
    memo.operator.look_at(resource.plural, namespace or "", name)
