"""Orders to a running supervisor: one JSON line each way by a Unix socket that only its owner may open."""

import asyncio
import json
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Literal

from devcluster.cluster.paths import Paths

ORDER_SECONDS = 30.0
VOLUMES = "volumes"


@dataclass(frozen=True)
class Order:
    """What to do with a node, with the interLink plugin, or with the provisioner of volumes, which can only be started."""

    action: Literal["stop", "start"]
    node: str
    """Its name, the plugin's (`facts.PLUGIN`), or `VOLUMES`."""


def send(paths: Paths, order: Order) -> None:
    """Have an order carried out. Raises `RuntimeError` with the supervisor's reason when it is not."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ORDER_SECONDS)
        try:
            connection.connect(str(paths.control_socket))
            connection.sendall(json.dumps(asdict(order)).encode() + b"\n")
            with connection.makefile() as answers:
                answer = answers.readline()
        except OSError as error:
            raise RuntimeError(f"the embedded cluster takes no orders: {error}") from error
    refusal = json.loads(answer)["refusal"] if answer else "the embedded cluster ended"
    if refusal:
        raise RuntimeError(refusal)


async def listen(paths: Paths, obey: Callable[[Order], Awaitable[None]]) -> None:
    """Take orders, one after the other, for as long as the event loop runs."""
    turn = asyncio.Lock()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        order, refusal = Order(**json.loads(await reader.readline())), ""
        try:
            async with turn:
                await obey(order)
        except (RuntimeError, OSError) as error:
            refusal = str(error)
        writer.write(json.dumps({"refusal": refusal}).encode() + b"\n")
        writer.close()
        await writer.wait_closed()

    await asyncio.start_unix_server(serve, paths.control_socket)
    os.chmod(paths.control_socket, 0o600)
