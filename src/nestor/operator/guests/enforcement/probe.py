"""`nestor probe`: whether the network enforces the policies between this pod and another one.

`listen` accepts connections at three ports; `call ADDRESS` tries them; its exit code says which work.
"""

import argparse
import asyncio
import ipaddress
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from enum import IntEnum

OPEN_PORT = 8081
"""The policies of both pods allow it: whoever does not even get through here knows nothing."""
EGRESS_PORT = 8082
"""Only the caller's policy forbids it."""
INGRESS_PORT = 8083
"""Only the listener's policy forbids it."""
PATIENCE_SECONDS = 60
"""How long a caller tries to reach the open port."""
LAG_SECONDS = 20
"""How long policies may take to come into force for a new pod."""
PORTS = (OPEN_PORT, EGRESS_PORT, INGRESS_PORT)
CONNECT_SECONDS = 2.0
PAUSE_SECONDS = 0.5


class Exit(IntEnum):
    ENFORCED = 0
    """What is forbidden fails, and what is allowed does not."""
    NO_EGRESS = 20
    """Policies for what pods connect to have no effect."""
    NO_INGRESS = 21
    """Policies for who connects to pods have no effect."""
    NEITHER = 22
    """No policy has any effect."""
    UNREACHED = 23
    """Not even what is allowed works."""


def main(arguments: list[str]) -> int:
    """Listen until the process is ended, or call and return an exit code."""
    parser = argparse.ArgumentParser(prog="nestor probe", description="Find out whether network policies are enforced.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("listen", help="accept connections")
    commands.add_parser("call", help="try to connect").add_argument("address", type=ipaddress.ip_address)
    options = parser.parse_args(arguments)
    if options.command == "listen":
        asyncio.run(listen())
        return 0
    code = asyncio.run(call(str(options.address)))
    print(f"{code.name}: policies between this pod and {options.address}")
    return code


async def listen(ports: Sequence[int] = PORTS) -> None:
    async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with AsyncExitStack() as stack:
        # The first port last: whoever reaches it finds the others open, unless policies close them.
        for port in reversed(ports):
            await stack.enter_async_context(await asyncio.start_server(close, None, port))
        await asyncio.Event().wait()


async def call(address: str, ports: Sequence[int] = PORTS) -> Exit:
    """Try until the policies are in force, or it is clear that they will not be."""
    started = time.monotonic()
    reached: float | None = None
    while True:
        # One after the other: a listener that has just begun would look like a policy.
        is_open = await _connects(address, ports[0])
        others = await asyncio.gather(*(_connects(address, port) for port in ports[1:])) if is_open else (False, False)
        now = time.monotonic()
        code = judge(is_open, *others)
        if code != Exit.UNREACHED and reached is None:
            reached = now
        if code == Exit.ENFORCED or (reached is not None and code != Exit.UNREACHED and now - reached >= LAG_SECONDS):
            return code
        if now - started >= PATIENCE_SECONDS and (reached is None or code == Exit.UNREACHED):
            return Exit.UNREACHED
        await asyncio.sleep(PAUSE_SECONDS)


def judge(is_open: bool, has_egress: bool, has_ingress: bool) -> Exit:
    """What it means which of the three ports can be reached."""
    if not is_open:
        return Exit.UNREACHED
    if has_egress and has_ingress:
        return Exit.NEITHER
    if has_egress:
        return Exit.NO_EGRESS
    return Exit.NO_INGRESS if has_ingress else Exit.ENFORCED


async def _connects(address: str, port: int) -> bool:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(address, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
