"""Logs, exec, attach and port-forward through the nested API server, the syncer and the host API server.

Clients are kubectl and raw sockets; the far end is a played kubelet that echoes.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, ApiError, NotFound, kinds
from tests import children
from tests.integration import apiserver
from tests.integration.syncer import fake_kubelet
from tests.integration.syncer.fake_kubelet import FakeKubelet
from tests.integration.syncer.pods import build_pod, start
from tests.integration.syncer.world import NODE, World

SPDY = "SPDY/3.1"


@pytest.fixture
async def kubelet(world: World, tmp_path: Path) -> AsyncIterator[FakeKubelet]:
    """The kubelet of the host's node."""
    async with fake_kubelet.running(tmp_path) as (kubelet, port):
        status = {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}
        await world.host.patch(kinds.NODE, NODE, None, {"status": status}, subresource="status")
        yield kubelet
        kubelet.log_end.set()


@pytest.fixture
async def pod(world: World, space: str, kubelet: FakeKubelet) -> tuple[Object, Object]:
    """A running pod, nested and on the host."""
    return await start(world, build_pod(space))


def path(pod: Object, subresource: str) -> str:
    """A nested pod's subresource."""
    return kinds.POD.path(pod["metadata"]["namespace"], pod["metadata"]["name"], subresource)


@asynccontextmanager
async def upgrade(
    api: Api, target: str, protocol: str = "v4.channel.k8s.io", **more: str
) -> AsyncIterator[tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]]:
    """Ask the API server for a stream, as kubectl does; gives its answer's head and the raw connection."""
    url = urlsplit(api.host)
    reader, writer = await asyncio.open_connection(url.hostname, url.port, ssl=api.ssl_context, server_hostname="127.0.0.1")
    headers = {"Host": url.netloc, "Connection": "Upgrade", "Upgrade": SPDY, "X-Stream-Protocol-Version": protocol, **more}
    lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "Content-Length: 0", "", ""]
    writer.write("\r\n".join(lines).encode())
    await writer.drain()
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        yield head, reader, writer
    finally:
        writer.close()


async def test_logs_are_read_with_their_options(world: World, pod: tuple[Object, Object], kubelet: FakeKubelet) -> None:
    nested, host = pod
    kubelet.log_end.set()
    text = await world.nested.request("GET", path(nested, "log"), {"tailLines": "5", "timestamps": "true"})
    assert text == "first line\nlast line\n"
    method, target, query = kubelet.requests[-1]
    assert (method, target) == ("GET", f"/containerLogs/{world.namespace}/{host['metadata']['name']}/app")
    assert set(query) == {("tailLines", "5"), ("timestamps", "true")}


async def test_a_followed_log_comes_line_by_line_and_ends_with_its_reader(
    world: World, pod: tuple[Object, Object], kubelet: FakeKubelet
) -> None:
    async with world.nested.open("GET", path(pod[0], "log"), {"follow": "true"}, timeout=0) as response:
        assert await response.content.readline() == b"first line\n"
        assert kubelet.open_streams == 1

    async def hung_up() -> bool:
        return kubelet.open_streams == 0

    await world.eventually(hung_up)


async def test_kubectl_reads_logs(world: World, pod: tuple[Object, Object], kubelet: FakeKubelet) -> None:
    kubelet.log_end.set()
    meta = pod[0]["metadata"]
    kubectl = (str(apiserver.binary().parent / "kubectl"), f"--kubeconfig={world.settings.nested_kubeconfig}")
    command = (*kubectl, "logs", "-n", meta["namespace"], meta["name"], "--follow")
    streams = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    async with children.running(*command, **streams) as process:
        output, _ = await process.communicate()
    assert output.decode() == "first line\nlast line\n"


@pytest.mark.parametrize(
    ("subresource", "query", "target", "passed"),
    [
        ("exec", "command=sh&command=-c&stdin=true&stdout=true&tty=true&container=app", "exec",
         {("command", "sh"), ("command", "-c"), ("input", "1"), ("output", "1"), ("tty", "1")}),
        ("attach", "stdout=true&stderr=true&container=app", "attach", {("output", "1"), ("error", "1")}),
        ("portforward", "", "portForward", set()),
    ],
)  # fmt: skip
async def test_streams_pass_byte_by_byte(
    world: World,
    pod: tuple[Object, Object],
    kubelet: FakeKubelet,
    subresource: str,
    query: str,
    target: str,
    passed: set[tuple[str, str]],
) -> None:
    target_path = f"{path(pod[0], subresource)}?{query}"
    async with upgrade(world.nested, target_path, Authorization="Bearer caller") as (head, reader, writer):
        assert head.startswith(b"HTTP/1.1 101 "), head
        assert b"v4.channel.k8s.io" in head
        payload = bytes(range(256)) * 4096
        writer.write(payload)
        assert await reader.readexactly(len(payload)) == payload
        assert kubelet.open_streams == 1
    method, url, found = kubelet.requests[-1]
    host_name = pod[1]["metadata"]["name"]
    container = "" if target == "portForward" else "/app"
    assert (method, url, set(found)) == ("POST", f"/{target}/{world.namespace}/{host_name}{container}", passed)
    assert "authorization" not in kubelet.headers

    async def hung_up() -> bool:
        return kubelet.open_streams == 0

    await world.eventually(hung_up)


async def test_the_end_of_the_container_ends_the_client_s_stream(
    world: World, pod: tuple[Object, Object], kubelet: FakeKubelet
) -> None:
    target = f"{path(pod[0], 'exec')}?command=true&stdout=true&container=app"
    async with upgrade(world.nested, target) as (head, reader, _):
        assert head.startswith(b"HTTP/1.1 101 ")
        kubelet.process_end.set()
        assert await reader.read() == b""


async def test_a_pod_that_is_lost_is_told_cleanly(world: World, pod: tuple[Object, Object], kubelet: FakeKubelet) -> None:
    nested, host = pod
    await world.finish(host)
    await world.nested_pod(nested, lambda found: found["status"]["phase"] == "Failed")
    with pytest.raises(NotFound):
        await world.nested.request("GET", path(nested, "log"))
    target = f"{path(nested, 'exec')}?command=sh&stdout=true&container=app"
    async with upgrade(world.nested, target) as (head, reader, _):
        assert b" 101 " not in head
        assert b"does not exist" in head + await reader.read(1000)


async def test_refusals_of_the_host_are_in_nested_words(world: World, space: str, kubelet: FakeKubelet) -> None:
    nested = await world.nested.create(kinds.POD, build_pod(space))
    host = await world.host_pod(nested)
    await world.schedule(host)
    await world.nested_pod(nested, lambda found: bool(found["spec"].get("nodeName")))
    with pytest.raises(ApiError) as caught:
        await world.nested.request("GET", path(nested, "log"), {"container": "nobody"})
    assert world.namespace not in str(caught.value)
    assert host["metadata"]["name"] not in str(caught.value)


async def test_only_the_nested_api_server_may_call(world: World, pod: tuple[Object, Object]) -> None:
    async def call(name: str) -> bytes:
        folder = world.settings.access
        context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        if name:
            context.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", world.settings.kubelet_port, ssl=context)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = await reader.read(200)
            writer.close()
        except (ssl.SSLError, ConnectionError):
            return b""
        return answer

    assert (await call("kubelet-client")).startswith(b"HTTP/1.1 200 ")
    assert (await call("other")).startswith(b"HTTP/1.1 403 ")
    assert await call("") == b""
