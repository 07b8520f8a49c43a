"""Virtual nodes before a real API server, with the authorizer and the admission that keep nodes apart."""

import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from nestor.api.objects import conditions_of, spec_of, status_of
from nestor.kube import ApiError, Forbidden, kinds
from nestor.overflow.vnode import identity
from nestor.overflow.vnode.node import keeper
from nestor.overflow.vnode.node.keeper import LEASE_NAMESPACE
from nestor.overflow.vnode.restart import Restart
from tests.fakes.backend import Echo
from tests.integration.syncer.test_kubelet import upgrade
from tests.integration.vnode.world import NodePlane, World, ready_of
from tests.waiting import eventually


async def test_a_status_is_written_once(virtual: World) -> None:
    """What the API server makes of a status must not read as another one."""
    uid = await virtual.bind("web", initContainers=[{"name": "first", "image": "x"}])
    await virtual.accepted("web")
    virtual.backend.run(uid)
    pod = await virtual.pod("web", lambda found: "running" in str(status_of(found).get("containerStatuses")))
    begin = virtual.backend.count("statuses")
    await virtual.until(lambda: virtual.backend.count("statuses") >= begin + 2)
    await virtual.stop()
    await virtual.start()
    begin = virtual.backend.count("statuses")
    await virtual.until(lambda: virtual.backend.count("statuses") >= begin + 2)
    await virtual.heard()
    now = await virtual.api.get(kinds.POD, "web", virtual.space)
    assert now["metadata"]["resourceVersion"] == pod["metadata"]["resourceVersion"]


async def test_a_pod_gets_what_it_refers_to_and_its_node_reads_no_other_secrets(virtual: World) -> None:
    meta = {"name": "settings", "namespace": virtual.space}
    await virtual.api.create(kinds.CONFIG_MAP, {"metadata": meta, "data": {"a": "b"}})
    secret = {"metadata": meta | {"name": "keys"}, "stringData": {"k": "v"}}
    await virtual.api.create(kinds.SECRET, secret)
    volumes = [{"name": "v", "configMap": {"name": "settings"}}, {"name": "w", "secret": {"secretName": "keys"}}]
    uid = await virtual.bind("web", volumes=volumes)
    await virtual.accepted("web")
    inputs = virtual.backend.inputs[uid]
    assert set(inputs.config_maps) == {"settings", "kube-root-ca.crt"}
    assert inputs.secrets["keys"]["data"] == {"k": "dg=="}
    (token,) = inputs.tokens.values()
    assert token.count(".") == 2
    assert "KUBERNETES_SERVICE_HOST" in inputs.environment
    assert inputs.is_new
    await virtual.api.create(kinds.SECRET, {"metadata": meta | {"name": "foreign"}})
    async with virtual.api.with_certificate(virtual.settings.folder / f"client-{virtual.name}.pem") as node:
        with pytest.raises(Forbidden):
            await node.get(kinds.SECRET, "foreign", virtual.space)
        with pytest.raises(Forbidden):
            await node.list(kinds.POD)


async def test_the_node_tells_the_truth_and_is_written_once(virtual: World, monkeypatch: pytest.MonkeyPatch) -> None:
    node = await virtual.node(lambda found: ready_of(found)[0] == "True")
    status = status_of(node)
    assert status["capacity"] == {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "2", "pods": "1k"}
    assert status["addresses"] == [{"type": "InternalIP", "address": "127.0.0.1"}]
    assert status["daemonEndpoints"]["kubeletEndpoint"]["Port"] == virtual.settings.kubelet_port
    assert status["nodeInfo"]["architecture"] == "arm64"
    lease = await virtual.api.get(kinds.LEASE, virtual.name, LEASE_NAMESPACE)
    assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]
    backend = await virtual.api.get(kinds.OVERFLOW_BACKEND, virtual.name)
    assert [item["name"] for item in status_of(backend)["shapes"]] == ["default"]
    assert [item["status"] for item in conditions_of(backend) if item["type"] == "Reachable"] == ["True"]

    monkeypatch.setattr(keeper, "RENEW_SECONDS", 0.05)
    await virtual.stop()
    await virtual.start()
    node = await virtual.node(lambda found: ready_of(found)[0] == "True")
    renewals: set[str] = set()

    async def is_renewed_often() -> bool:
        lease = await virtual.api.find(kinds.LEASE, virtual.name, LEASE_NAMESPACE)
        renewals.add(str(spec_of(lease).get("renewTime")))
        return len(renewals) > 5

    await eventually(is_renewed_often)
    now = await virtual.api.get(kinds.NODE, virtual.name)
    assert now["metadata"]["resourceVersion"] == node["metadata"]["resourceVersion"]


async def test_logs_and_commands_pass_through_the_api_server_where_the_backend_can(virtual: World) -> None:
    await virtual.run()
    query = {"tailLines": "7", "timestamps": "true", "sinceSeconds": "60", "limitBytes": "100", "previous": "true"}
    path = kinds.POD.path(virtual.space, "web", "log")
    async with virtual.api.open("GET", path, query | {"container": "app"}) as answer:
        options = set((await answer.text()).strip().split("&"))
    assert options == {"container=app", *(f"{key}={value}" for key, value in query.items())}

    path = kinds.POD.path(virtual.space, "web", "exec")
    with pytest.raises(ApiError) as caught:
        await virtual.api.request("POST", path, {"container": "app", "command": "sh", "stdout": "true"})
    assert "not supported" in caught.value.message or caught.value.status in (400, 501)
    echo = virtual.backend.streams = Echo()
    async with upgrade(virtual.api, f"{path}?command=cat&container=app&stdin=true&stdout=true") as (head, reader, writer):
        assert head.startswith(b"HTTP/1.1 101 ")
        writer.write(b"hello")
        assert await reader.readexactly(5) == b"hello"
    (call,) = echo.calls
    assert (call.subresource, ("command", "cat") in call.options, ("container", "app") in call.options) == ("exec", True, True)
    assert not {name for name, _ in call.headers} & {"authorization", "cookie"}


@contextlib.asynccontextmanager
async def calling(plane: NodePlane, certificate: Path | None = None) -> AsyncIterator[aiohttp.ClientSession]:
    """Somebody who calls the kubelet API itself."""
    context = ssl.create_default_context(cafile=str(plane.folder / "ca.crt"))
    if certificate is not None:
        context.load_cert_chain(certificate)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        yield session


async def test_the_kubelet_api_lets_in_whom_the_api_server_lets_in(virtual: World, node_plane: NodePlane, tmp_path: Path) -> None:
    await virtual.run()
    url = f"https://127.0.0.1:{virtual.settings.kubelet_port}/containerLogs/{virtual.space}/web/app"
    async with calling(node_plane) as nobody:
        async with nobody.get(url) as answer:
            assert answer.status == 401
        body = {"metadata": {"namespace": virtual.space}, "spec": {}}
        made = await virtual.api.create(kinds.SERVICE_ACCOUNT, body, subresource="token", name="default")
        headers = {"Authorization": f"Bearer {made['status']['token']}"}
        async with nobody.get(url, headers=headers) as answer:
            assert (answer.status, "resource=nodes" in await answer.text()) == (403, True)
    async with calling(node_plane, virtual.settings.folder / f"client-{virtual.name}.pem") as node, node.get(url) as answer:
        assert answer.status == 403
    admin = tmp_path / "admin.pem"
    admin.write_bytes((node_plane.folder / "kubelet.crt").read_bytes() + (node_plane.folder / "kubelet.key").read_bytes())
    async with calling(node_plane, admin) as server:
        async with server.get(url) as answer:
            assert answer.status == 200
        async with server.get(url.replace("containerLogs", "run")) as answer:
            assert answer.status == 404


async def test_certificates_are_renewed_while_it_works(virtual: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await virtual.stop()
    # The signer dates back by five minutes.
    monkeypatch.setattr(identity, "RENEW_AT", 303 / (identity.LIFETIME_SECONDS + 300))
    files = [virtual.settings.folder / f"{purpose}-{virtual.name}.pem" for purpose in ("client", "serving")]
    before = [file.read_bytes() for file in files]
    await virtual.start()
    await virtual.until(lambda: all(file.read_bytes() != old for file, old in zip(files, before, strict=True)))
    monkeypatch.undo()
    await virtual.run()
    async with virtual.api.open("GET", kinds.POD.path(virtual.space, "web", "log"), {"container": "app"}) as answer:
        assert await answer.text() == "container=app\n"


async def test_nodes_come_and_go(virtual: World) -> None:
    second = f"{virtual.name}-gpu"
    await virtual.make_node(second)
    first = {"name": virtual.name, "shape": "default", "state": "Ready"}
    await virtual.tell_nodes(first, {"name": second, "shape": "gpu", "state": "NotReady"})
    uid = await virtual.bind("web", nodeName=second)
    await virtual.accepted("web")
    assert virtual.backend.inputs[uid].shape == "gpu"

    async def has_no_room() -> bool:
        """The pod does not wait for it."""
        return status_of(await virtual.api.get(kinds.NODE, second)).get("capacity") == {"pods": "0"}

    await eventually(has_no_room)
    await virtual.api.delete(kinds.NODE, second)
    await virtual.tell_nodes(first)
    other = await virtual.bind("other")
    await virtual.accepted("other")
    assert virtual.backend.starts == {uid: 1, other: 1}


async def test_the_node_that_the_kubelet_api_is_named_after_may_go(virtual: World) -> None:
    """The process ends, to begin anew."""
    await virtual.tell_nodes({"name": f"{virtual.name}-gpu", "shape": "gpu", "state": "NotReady"})
    assert virtual._task is not None
    with pytest.raises(ExceptionGroup) as caught:
        await virtual._task
    assert caught.group_contains(Restart)
    virtual._task = None
