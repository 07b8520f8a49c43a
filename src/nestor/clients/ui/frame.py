"""What all pages are made of: templates, errors as pages, and live parts."""

import asyncio
import contextlib
import hashlib
import json
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

import jinja2
from aiohttp import web
from markupsafe import Markup

from nestor import __version__
from nestor.api.objects import Object
from nestor.clients.cli.exits import Failure
from nestor.clients.ui import words
from nestor.clients.ui.guard import HEADERS, SAFE_METHODS, Handler, Refused
from nestor.clients.ui.visitor import STREAMS as MOST_STREAMS
from nestor.clients.ui.visitor import VISITOR, Visitor, find_visitor
from nestor.clients.ui.words import Told
from nestor.kube import ApiError, kinds

LIVE = "live_"
"""What the names of those blocks of a template begin with that are kept up to date."""
BEAT_SECONDS = 15.0
RETRY_SECONDS = 5
"""When a page that could not be kept up to date asks again."""
SETTLE_SECONDS = 0.1
"""Changes come in bunches."""
INTERVAL_SECONDS = 1.0
"""A page that changes all the time is written no more often: nobody reads faster, and a long list is sent as a whole."""
OLD = "This page may be out of date."
PAUSES = 5
"""Times as long as a page took to write it is not written again."""
HERE = Path(__file__).parent


class Streams(set[asyncio.Task[None]]):
    """Tasks that answer for as long as a page is open."""


STREAMS = web.AppKey("streams", Streams)

Read = Callable[[], dict[str, Any]]
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(HERE / "templates"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)


def write(macro: str, *values: Any) -> Markup:
    """A part of a page, by its macro in `parts.html`."""
    written: Markup = getattr(_TEMPLATES.get_template("parts.html").module, macro)(*values)
    return written


class Moved(Exception):
    """A page has to look at other lists than before."""


class View(Protocol):
    """A page that shows objects of the cluster."""

    template: str

    def open(self, visitor: Visitor, on_change: Callable[[], None]) -> AbstractAsyncContextManager[Read]:
        """What to fill the template with, at any time within a `with` block, and `trouble`: why it may be old, or None. Both
        raise `ApiError`; reading also `Moved`.
        """


def render(template: str, visitor: Visitor | None, *, status: int = 200, **content: Any) -> web.Response:
    text = _TEMPLATES.get_template(template).render(visitor=visitor, version=__version__, **content)
    return web.Response(text=text, content_type="text/html", status=status)


def render_parts(template: str, visitor: Visitor, content: dict[str, Any]) -> dict[str, str]:
    """Its live parts alone, by name."""
    found = _TEMPLATES.get_template(template)
    context = found.new_context({"visitor": visitor, "version": __version__, **content})
    return {name: "".join(block(context)) for name, block in found.blocks.items() if name.startswith(LIVE)}


def digest(text: str) -> str:
    """By which a page recognizes a part that it has already."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


async def get_job(request: web.Request) -> tuple[Visitor, Object]:
    """Who asks, and the job that the path names. Raises `ApiError`."""
    visitor = await find_visitor(request)
    return visitor, await visitor.api.get(kinds.NESTED_APP_JOB, request.match_info["job"], request.match_info["namespace"])


async def show(request: web.Request, view: View, **more: Any) -> web.Response:
    """The page as it is now. `more`: what it shows besides its live parts."""
    visitor = await find_visitor(request)
    async with view.open(visitor, lambda: None) as read:
        content = read() | more
        parts = {name: digest(text) for name, text in render_parts(view.template, visitor, content).items()}
        return render(
            view.template, visitor, parts=parts, live=f"{request.path.rstrip('/')}/live?{request.query_string}", **content
        )


async def stream(request: web.Request, view: View) -> web.StreamResponse:
    """Its live parts as they change, as server-sent events."""
    visitor = await find_visitor(request)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
    async with streaming(request, response, visitor):
        await begin(request, response)
        await response.write(f"retry: {RETRY_SECONDS * 1000}\n\n".encode())
        sent: dict[str, str] = {}
        try:
            while True:
                with contextlib.suppress(Moved):
                    await _follow(response, view, visitor, sent)
        except (ApiError, Failure, TimeoutError) as error:
            await _tell_end(response, error, visitor)
    return response


async def _tell_end(response: web.StreamResponse, error: ApiError | Failure | TimeoutError, visitor: Visitor) -> None:
    """Say why the page is no longer kept up to date. It asks again by itself where that may help."""
    told = words.tell(error, is_shared=visitor.is_shared)
    if isinstance(error, TimeoutError) or (isinstance(error, ApiError) and error.is_transient):
        await _send(response, "trouble", {"message": f"{OLD} {told.message}"})
        return
    kind = "gone" if told.status == 404 else "problem"
    await _send(response, kind, {"title": told.title, "message": told.message, "hint": told.hint})


@contextlib.asynccontextmanager
async def streaming(request: web.Request, response: web.StreamResponse, visitor: Visitor) -> Any:
    """For an answer that may last as long as its page is open: the block ends with the page, and with the server. Whatever it
    waits for, it counts. Raises `Refused` if the visitor has too many open already.
    """
    if visitor.streams >= MOST_STREAMS:
        raise Refused(429, "You have too many of these pages open: close some of them.")
    task = asyncio.current_task()
    assert task is not None
    visitor.streams += 1
    request.app[STREAMS].add(task)
    try:
        yield
    except (ConnectionError, asyncio.CancelledError):
        if not response.prepared:
            raise
        # The page was closed, or the server is.
    finally:
        request.app[STREAMS].discard(task)
        visitor.streams -= 1


async def begin(request: web.Request, response: web.StreamResponse) -> None:
    """Send the answer's head. From then on, there is no other answer."""
    response.headers.update(HEADERS | {"Cache-Control": "no-store"})
    await response.prepare(request)


def find_pause(began: float, ended: float, now: float) -> float:
    """Seconds until a page is written again that was written from `began` to `ended` and changes now.

    What takes long is done less often, so that many jobs or tabs do not keep everybody waiting.
    """
    return max(SETTLE_SECONDS, began + INTERVAL_SECONDS - now) + PAUSES * (ended - began)


async def _follow(response: web.StreamResponse, view: View, visitor: Visitor, sent: dict[str, str]) -> None:
    changed = asyncio.Event()
    async with view.open(visitor, changed.set) as read:
        while True:
            changed.clear()
            began = time.monotonic()
            content = read()
            await _tell_trouble(response, content["trouble"], sent, visitor)
            for name, text in render_parts(view.template, visitor, content).items():
                if sent.get(name) != text:
                    sent[name] = text
                    await _send(response, "part", {"id": name, "html": text, "digest": digest(text)})
            ended = time.monotonic()
            try:
                async with asyncio.timeout(BEAT_SECONDS):
                    await changed.wait()
                await asyncio.sleep(find_pause(began, ended, time.monotonic()))
            except TimeoutError:
                await response.write(b": still there\n\n")


async def _tell_trouble(response: web.StreamResponse, trouble: ApiError | None, sent: dict[str, str], visitor: Visitor) -> None:
    """Say once that what is shown may be old, and once that it is no longer. Raises what will not pass by itself."""
    if trouble is not None and not trouble.is_transient:
        raise trouble
    message = words.tell(trouble, is_shared=visitor.is_shared).message if trouble else ""
    if sent.get("trouble", "") != message:
        sent["trouble"] = message
        await _send(response, "trouble", {"message": f"{OLD} {message}" if message else ""})


async def _send(response: web.StreamResponse, event: str, content: dict[str, str]) -> None:
    await response.write(f"event: {event}\ndata: {json.dumps(content)}\n\n".encode())


@web.middleware
async def finish(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Errors become pages; every answer has the headers that keep others out, and stays in no cache."""
    try:
        response = await handler(request)
    except Refused as refused:
        title = "Too many pages" if refused.status == 429 else "This page is closed to you"
        response = _refuse(request, Told(title, refused.message, status=refused.status))
    except web.HTTPException as error:
        if error.status < 400:
            response = error
        else:
            response = _refuse(
                request, Told("Not found" if error.status == 404 else "This did not work", error.reason, status=error.status)
            )
    except (ApiError, Failure, TimeoutError) as error:
        visitor = request.get(VISITOR)
        response = _refuse(request, words.tell(error, is_shared=visitor is not None and visitor.is_shared))
    if not response.prepared:
        response.headers.update(HEADERS)
        response.headers.setdefault("Cache-Control", "no-store")
    return response


@web.middleware
async def complete(request: web.Request, handler: Handler) -> web.StreamResponse:
    """What changes something goes on to its end, even if its page is closed: only pages end with their connection."""
    if request.method in SAFE_METHODS:
        return await handler(request)
    task = asyncio.ensure_future(handler(request))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()  # the server ends; else it has ended, and this does nothing
            await asyncio.gather(task, return_exceptions=True)
        raise


def _refuse(request: web.Request, told: Told) -> web.Response:
    if "text/html" not in request.headers.get("Accept", "text/html"):
        return web.Response(text=f"{told.title}: {told.message}\n", status=told.status)
    return render("error.html", None, status=told.status, told=told)
