"""`nestor ui`: serve the page on this machine, for this user, until they press Ctrl-C."""

import asyncio
import signal
import webbrowser
from typing import Annotated

import typer

from nestor.clients.cli import console, options, session
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.session import Place, Session, ask_name


@options.acting
async def ui(
    place: Place,
    port: Annotated[int, options.option("--port", min=0, max=65535, help="Port on 127.0.0.1. Default: one that is free.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in your browser.")] = True,
) -> int:
    """Open Nestor in your browser: the catalog, a form for each application, and your jobs as they run.

    The page is served from this machine alone and uses your kubeconfig, so it may do what you may do. The link that is printed
    works once.
    """
    async with session.opened(place) as opened:
        try:
            await _run(opened, port, browser=browser)
        except OSError as error:
            raise Failure(
                f"port {port} cannot be used: {error.strerror or error}", Code.USAGE, hint="leave out --port"
            ) from error
    return Code.OK


async def _run(opened: Session, port: int, *, browser: bool) -> None:
    # Of all commands, only this one needs a web server.
    from nestor.clients.ui.guard import START, Gate  # noqa: PLC0415
    from nestor.clients.ui.server import ADDRESS, serving  # noqa: PLC0415
    from nestor.clients.ui.visitor import Hub, Visitor, find_always  # noqa: PLC0415

    gate, hub = Gate(), Hub(opened.api)
    find = find_always(Visitor(opened.api, hub, opened.context, await ask_name(opened.api)))

    try:
        async with serving(find, gate, port) as found:
            link = f"http://{ADDRESS}:{found}{START}?token={gate.token}"
            console.tell("Nestor is open at this link, which works once; Ctrl-C ends it", mark="good")
            print(link, flush=True)
            if browser and not await asyncio.to_thread(webbrowser.open, link):
                console.tell("no browser found; open the link yourself", mark="warn")
            await _wait_for_end()
    finally:
        await hub.close()


async def _wait_for_end() -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    await ended.wait()
