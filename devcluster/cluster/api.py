"""A few read-only questions to the embedded API server, with the standard library alone.

The supervisor and `up` only need to know whether it answers. `nestor.kube` is the door for everything else, but importing it
takes a second, which is a tenth of the time a warm start may take.
"""

from __future__ import annotations

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
        connection = http.client.HTTPSConnection(settings.NODE_IP, 6443, timeout=TIMEOUT_SECONDS, context=self._tls)
        try:
            connection.request("GET", path)
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
