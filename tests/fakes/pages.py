"""A web server of which a test plays the pages."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from aiohttp import web


@contextlib.asynccontextmanager
async def serving(answer: Callable[[web.Request], Awaitable[web.Response]], address: str = "127.0.0.1") -> AsyncIterator[int]:
    """The port at which `answer` answers requests for any path, during a `with` block."""
    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, 0).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
