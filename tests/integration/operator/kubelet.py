"""The host's kubelet, as far as the operator reads logs of it: what a container printed, by the API server's own request."""

import contextlib
import datetime
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

from aiohttp import web

from nestor.api.times import timestamp
from nestor.cluster import certificates
from nestor.kube import Api, kinds

NODE = "log-node"


class Logs:
    """What containers printed, by namespace and pod; and what was asked."""

    def __init__(self) -> None:
        self.printed: dict[tuple[str, str], bytes] = {}
        self.queries: list[dict[str, str]] = []

    async def handle(self, request: web.Request) -> web.Response:
        """`GET /containerLogs/<namespace>/<pod>/<container>`; a pod without a log answers as one whose files are gone."""
        self.queries.append(dict(request.query))
        printed = self.printed.get((request.match_info["namespace"], request.match_info["pod"]))
        if printed is None:
            return web.Response(status=500, text="unable to retrieve container logs")
        return web.Response(body=printed[: int(request.query["limitBytes"])], content_type="text/plain")


@contextlib.asynccontextmanager
async def running(api: Api, folder: Path) -> AsyncIterator[Logs]:
    """A node whose kubelet serves logs, for the length of a `with` block."""
    time = datetime.datetime.now(datetime.UTC)
    leaf = certificates.new_leaf(certificates.new_authority("kubelet-ca", time), "kubelet", time, hosts=["127.0.0.1"])
    (folder / "kubelet.pem").write_bytes(leaf.certificate + leaf.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "kubelet.pem")
    logs, app = Logs(), web.Application()
    app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", logs.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    await _make_node(api, runner.addresses[0][1])
    try:
        yield logs
    finally:
        await api.delete(kinds.NODE, NODE)
        await runner.cleanup()


async def _make_node(api: Api, port: int) -> None:
    await api.apply(kinds.NODE, {"metadata": {"name": NODE}, "spec": {}})
    since = {"lastHeartbeatTime": timestamp(), "lastTransitionTime": timestamp()}
    ready = {"type": "Ready", "status": "True", "reason": "x", "message": "", **since}
    await api.patch(
        kinds.NODE,
        NODE,
        None,
        {
            "status": {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "conditions": [ready],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
            }
        },
        subresource="status",
    )


async def bind(api: Api, name: str, namespace: str) -> None:
    """Play the host's scheduler."""
    await api.create(
        kinds.POD,
        {"metadata": {"name": name, "namespace": namespace}, "target": {"apiVersion": "v1", "kind": "Node", "name": NODE}},
        subresource="binding",
        name=name,
    )
