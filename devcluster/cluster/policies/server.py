"""Takes the CNI plugin's orders: one JSON line each way by a Unix socket."""

import json
import os
import socketserver
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WAITING = 256


@dataclass(frozen=True)
class Order:
    """A pod that gets or loses its addresses."""

    command: str
    namespace: str
    name: str
    uid: str
    addresses: tuple[str, ...]


def serve(socket: Path, obey: Callable[[Order], None]) -> None:
    """Take orders for ever, in threads of their own. What `obey` raises is told to whoever gave the order."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            answer: dict[str, Any] = {"error": ""}
            try:
                content = json.loads(self.rfile.readline())
                obey(Order(**content | {"addresses": tuple(content["addresses"])}))
            except Exception as error:
                answer = {"error": f"network policies: {error}"}
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    socket.unlink(missing_ok=True)
    server = socketserver.ThreadingUnixStreamServer(str(socket), Handler)
    server.socket.listen(WAITING)  # else, of many pods that start at once, some would be refused
    os.chmod(socket, 0o600)
    threading.Thread(target=server.serve_forever, name="server", daemon=True).start()
