"""The backend's process: hop 1, hop 2, both with client certificates too, and the socket for orders."""

import asyncio
import os
import signal
import sys
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from aiohttp import web

from devcluster.plugin.admin import Admin
from devcluster.plugin.backend import Backend
from devcluster.plugin.hop1 import Server
from devcluster.plugin.hop2 import Plugin
from devcluster.plugin.http import Front
from devcluster.plugin.pki import Pki
from devcluster.plugin.ports import Ports
from devcluster.plugin.runner import Place
from devcluster.plugin.switches import Switchboard
from devcluster.plugin.tokens import Tokens

ANSWER_SECONDS = 0.05


@dataclass(frozen=True)
class Settings:
    """What is fixed while it runs."""

    home: Path
    """Its own files: switches, keys, certificates."""
    address: str
    socket: Path
    """For orders."""
    place: Place
    ports: Ports = field(default_factory=Ports)


async def serve(settings: Settings) -> None:
    """Work until told to end; containers run on. A restart by order replaces this process."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    async with AsyncExitStack() as stack:
        await start(settings, stack)
        await stopping.wait()


async def start(settings: Settings, stack: AsyncExitStack) -> Backend:
    """Listen, until `stack` ends."""
    settings.home.mkdir(parents=True, exist_ok=True)
    board, calls = Switchboard(settings.home / "switches.json"), Counter[str]()
    tokens, pki = Tokens(board, settings.home / "token.key"), Pki(settings.home / "pki")
    pki.ensure([settings.address, "localhost"])
    backend = Backend(settings.place, board)
    stack.push_async_callback(backend.close)
    await backend.begin()
    session = await stack.enter_async_context(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)))

    plugin = Front("plugin", board, tokens, calls).application()
    Plugin(backend, board).add_routes(plugin)
    server = Front("server", board, tokens, calls).application()
    tokens.add_routes(server)
    Server(board, session, f"http://{settings.address}:{settings.ports.plugin}").add_routes(server)

    ports, context = settings.ports, pki.server_context()
    for app, plain, secure in ((plugin, ports.plugin, ports.plugin_tls), (server, ports.server, ports.server_tls)):
        runner = await _run(app, stack)
        await web.TCPSite(runner, settings.address, plain).start()
        await web.TCPSite(runner, settings.address, secure, ssl_context=context).start()
    await _listen_for_orders(Admin(backend, board, calls, _restart), settings.socket, stack)
    return backend


async def _run(app: web.Application, stack: AsyncExitStack) -> web.AppRunner:
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0, access_log=None)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    return runner


async def _listen_for_orders(admin: Admin, path: Path, stack: AsyncExitStack) -> None:
    runner = await _run(admin.application(), stack)
    await web.UnixSite(runner, str(path)).start()
    os.chmod(path, 0o600)


def _restart(after: float) -> None:
    """Once the order has been answered: another process in the place of this one, as after a crash."""
    again = ["sh", "-c", 'sleep "$0"; exec "$@"', str(after), sys.executable, *sys.orig_argv[1:]]
    asyncio.get_running_loop().call_later(ANSWER_SECONDS, os.execv, "/bin/sh", again)
