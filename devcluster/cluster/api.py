"""The few requests to the embedded API server that start a cluster, with the standard library alone.

The supervisor and `up` only need to know whether it answers. `nestor.kube` is the door for everything else, but importing it
takes a second, which is a tenth of the time a warm start may take.
"""

import http.client
import json
import ssl
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from devcluster.cluster import settings
from devcluster.cluster.paths import Paths

TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True)
class Client:
    """The admin's connection."""

    paths: Paths

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        pki = self.paths.pki
        context = ssl.create_default_context(cafile=str(pki / "server-ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        return context

    def get(self, path: str) -> tuple[int, bytes]:
        """Status and body of a GET. Raises `OSError` when nobody answers."""
        return self._ask("GET", path)

    def create(self, path: str, content: dict[str, object]) -> None:
        """Create an object, unless it is there. Raises `RuntimeError` when it is refused, `OSError` when nobody answers."""
        status, body = self._ask("POST", path, json.dumps(content))
        if status not in (201, 409):
            raise RuntimeError(f"creating an object at {path}: HTTP {status}: {body.decode(errors='replace')[:500]}")

    def _ask(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPSConnection(settings.CONTROL_PLANE_IP, 6443, timeout=TIMEOUT_SECONDS, context=self._tls)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        finally:
            connection.close()

    def get_object(self, path: str) -> dict[str, Any] | None:
        """One object, or None when it is not there or nobody answers."""
        try:
            status, body = self.get(path)
        except OSError:
            return None
        if status != 200:
            return None
        content: dict[str, Any] = json.loads(body)
        return content

    def is_ready(self) -> bool:
        """Whether the API server says that it is ready."""
        try:
            return self.get("/readyz")[0] == 200
        except OSError:
            return False
