"""A web server to run in a pod, and a browser to ask it through the Ingress controller."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from devcluster.demo import values

LOOPBACK = "127.0.0.1"

# What it was asked for, as JSON; `/ws` echoes, `/lines` counts for ever. Each port knows its number.
SERVER = f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: server}}
data:
  server.py: |
    import asyncio
    from aiohttp import web

    async def page(request):
        port = request.transport.get_extra_info("sockname")[1]
        return web.json_response({{"port": port, "path": request.path, "headers": dict(request.headers)}})

    async def echo(request):
        stream = web.WebSocketResponse()
        await stream.prepare(request)
        async for message in stream:
            await stream.send_str(message.data)
        return stream

    async def lines(request):
        answer = web.StreamResponse()
        await answer.prepare(request)
        for number in range(10**6):
            await answer.write(b"%d\\n" % number)
            await asyncio.sleep(0.05)

    async def main():
        app = web.Application()
        app.add_routes([web.get("/ws", echo), web.get("/lines", lines), web.route("*", "/{{path:.*}}", page)])
        runner = web.AppRunner(app)
        await runner.setup()
        for port in (8001, 8002, 8003):
            await web.TCPSite(runner, port=port).start()
        await asyncio.Event().wait()

    asyncio.run(main())
---
apiVersion: v1
kind: Pod
metadata: {{name: server, labels: {{app: server}}}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: server
      image: {values.IMAGE}
      command: [/opt/nestor/bin/python, /server/server.py]
      # Ready for good: that a busy machine answers a probe late is no loss of the Ingress controller's.
      readinessProbe: {{httpGet: {{path: /, port: 8003}}, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 100}}
      volumeMounts: [{{name: server, mountPath: /server}}]
  volumes: [{{name: server, configMap: {{name: server}}}}]
---
apiVersion: v1
kind: Service
metadata: {{name: server}}
spec:
  selector: {{app: server}}
  ports:
    - {{name: first, port: 80, targetPort: 8001}}
    - {{name: second, port: 81, targetPort: 8002}}
    - {{name: third, port: 82, targetPort: 8003}}
"""


def wait_until(is_met: Callable[[], bool], what: str, seconds: float = 30) -> None:
    """Poll from outside what cannot be watched (HTTP answers, the kernel)."""
    deadline = time.monotonic() + seconds
    while not is_met():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


@dataclass
class Browser:
    """Asks the Ingress controller for pages of hosts. With `trust` it asks by TLS and believes only whom `trust` does."""

    http_port: int
    https_port: int
    address: str = LOOPBACK

    def get(self, host: str, path: str = "/", trust: ssl.SSLContext | None = None) -> tuple[int, str]:
        """Status and text."""
        connection = http.client.HTTPConnection(self.address, self.http_port, timeout=15)
        try:
            if trust:
                connection.sock = self._secure(host, trust)
            port = self.https_port if trust else self.http_port
            connection.request("GET", path, headers={"Host": f"{host}:{port}"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def ask(self, host: str, path: str = "/", trust: ssl.SSLContext | None = None) -> Any:
        """What the server of `SERVER` was asked for."""
        status, text = self.get(host, path, trust)
        assert status == 200, text
        return json.loads(text)

    def wait_for(self, host: str, status: int, path: str = "/", trust: ssl.SSLContext | None = None) -> str:
        """Await a status; the text that came with it."""
        found = (0, "")

        def is_met() -> bool:
            nonlocal found
            try:
                found = self.get(host, path, trust)
            except ssl.SSLError as error:
                found = (0, str(error))
            return found[0] == status

        wait_until(is_met, f"{host}{path} answers {status}")
        return found[1]

    def session(self, trust: ssl.SSLContext | None = None) -> aiohttp.ClientSession:
        """A client for streams; every host is at the Ingress controller, every request has a connection of its own."""
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(resolver=_Fixed(self.address), ssl=trust or True, force_close=True)
        )

    def _secure(self, host: str, trust: ssl.SSLContext) -> ssl.SSLSocket:
        return trust.wrap_socket(socket.create_connection((self.address, self.https_port), timeout=15), server_hostname=host)


class _Fixed(AbstractResolver):
    """Resolves every name to one address."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host=self._address, port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        """Nothing is held."""
