"""Orders to a running backend, by its Unix socket."""

import http.client
import json
import socket
import time
from pathlib import Path
from typing import Any

SECONDS = 10.0
RESTART_SECONDS = 60.0


class Client:
    """A running backend. The methods block, and raise `RuntimeError` in the backend's words."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def switch(self, **values: Any) -> None:
        """Set switches by name (`devcluster.plugin.switches.Switches`)."""
        self._ask("PATCH", "/switches", values)

    def reset(self) -> None:
        """Set all switches to their defaults, and count calls from 0 again."""
        self._ask("DELETE", "/switches")

    def restart(self, after: float = 0) -> None:
        """End the HTTP server's process in the middle of whatever it does, and start it again `after` some seconds, in which
        connections are refused; containers run on. Without such seconds, this waits until it answers again."""
        before = self.state()["begun"]
        self._ask("POST", "/restart", {"after": after})
        deadline = time.monotonic() + RESTART_SECONDS
        while not after and not self._has_begun_after(before):
            if time.monotonic() > deadline:
                raise RuntimeError(f"the plugin does not answer {RESTART_SECONDS:.0f} s after its restart")
            time.sleep(0.02)

    def state(self) -> dict[str, Any]:
        """`switches`, `calls` by hop and route, `begun`, which is when the process was started, and `pods` (see `record.Pod`)."""
        found: dict[str, Any] = json.loads(self._ask("GET", "/state"))
        return found

    def _has_begun_after(self, before: float) -> bool:
        try:
            return bool(self.state()["begun"] > before)
        except RuntimeError:
            return False

    def _ask(self, method: str, path: str, content: Any = None) -> str:
        connection = _Connection(self._path)
        try:
            connection.request(method, path, None if content is None else json.dumps(content))
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise RuntimeError(f"the plugin takes no orders: {error}") from error
        finally:
            connection.close()
        if answer.status != 200:
            raise RuntimeError(text)
        return text


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        """Called by `request`."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SECONDS)
        self.sock.connect(str(self._path))
