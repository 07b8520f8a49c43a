"""The metrics API through the aggregator of a real nested API server. The host's is played by custom resources."""

import asyncio
import dataclasses
import socket
import ssl
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, ApiError, Kind, kinds
from nestor.syncer.metrics import api, server
from tests.integration import apiserver
from tests.integration.syncer import world as worlds
from tests.integration.syncer.pods import build_pod, start
from tests.integration.syncer.world import NODE, World
from tests.waiting import eventually

pytestmark = [pytest.mark.xdist_group("metrics"), pytest.mark.slow]

ROOT = "/apis/metrics.k8s.io/v1beta1"
CRD = Kind("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)


def find_address() -> str:
    """An address of this machine that API servers call: none of loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            pytest.skip("this machine has no network")


@pytest.fixture(scope="module")
async def metered(control_plane: apiserver.ControlPlane, host: Api) -> AsyncIterator[World]:
    """A syncer that serves metrics."""
    async with worlds.running_nested() as plane, await Api.connect(str(plane.kubeconfig), manager="tests") as nested:
        made = await worlds.build_world(host, control_plane, plane, nested)
        (port,) = apiserver.free_ports(1)
        made.settings = dataclasses.replace(made.settings, metrics_port=port, metrics_address=find_address())
        await made.start()
        yield made
        await made.stop()


@pytest.fixture
async def space(metered: World) -> str:
    """A nested namespace that takes pods."""
    name = f"space-{uuid.uuid4().hex[:8]}"
    await metered.nested.create(kinds.NAMESPACE, {"metadata": {"name": name}})
    await metered.eventually(lambda: metered.nested.find(kinds.SERVICE_ACCOUNT, "default", name))
    return name


async def await_available(world: World) -> None:
    """Until the nested API server has found the metrics API."""

    async def look() -> bool:
        found = await world.nested.find(kinds.API_SERVICE, "v1beta1.metrics.k8s.io")
        conditions = ((found or {}).get("status") or {}).get("conditions") or []
        return [item["status"] for item in conditions if item["type"] == "Available"] == ["True"]

    await eventually(look)


async def test_a_host_without_metrics_is_named_as_the_reason(metered: World) -> None:
    await await_available(metered)
    for path in ("pods", "nodes"):
        with pytest.raises(ApiError, match="the host cluster has no metrics API"):
            await metered.nested.request("GET", f"{ROOT}/{path}")


@pytest.fixture
async def measured(host: Api) -> AsyncIterator[None]:
    """A metrics API in the host: as much of one as custom resources can be."""
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "pods.metrics.k8s.io", "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}},
        "spec": {
            "group": "metrics.k8s.io",
            "scope": "Namespaced",
            "names": {"plural": "pods", "kind": "PodMetrics"},
            "versions": [
                {
                    "name": "v1beta1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    await host.create(CRD, body)

    async def is_served() -> bool:
        try:
            await host.list(kinds.POD_METRICS)
        except ApiError:
            return False
        return True

    await eventually(is_served)
    yield
    await host.delete(CRD, "pods.metrics.k8s.io")


@pytest.mark.usefixtures("measured")
async def test_what_pods_use_is_told_by_their_nested_names(metered: World, space: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "FRESH_SECONDS", 0.1)
    await await_available(metered)
    _, host = await start(metered, build_pod(space))
    meta = host["metadata"]
    measures = {
        "timestamp": "2026-01-01T00:00:00Z",
        "window": "15s",
        "containers": [{"name": "app", "usage": {"cpu": "250m", "memory": "64Mi"}}],
    }
    for name, own in ((meta["name"], meta["labels"]), ("other", {})):
        metadata: Object = {"name": name, "namespace": metered.namespace, "labels": own}
        await metered.host.create(
            kinds.POD_METRICS, {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", "metadata": metadata, **measures}
        )

    async def look() -> Object | None:
        try:
            found: Object = await metered.nested.request("GET", f"{ROOT}/namespaces/{space}/pods", {"labelSelector": "app=web"})
        except ApiError:  # that the host had no such API is remembered for a moment
            return None
        return found if found["items"] else None

    found = await metered.eventually(look)
    (item,) = found["items"]
    assert (item["metadata"]["name"], item["metadata"]["namespace"], item["containers"]) == ("web", space, measures["containers"])
    node = await metered.nested.request("GET", f"{ROOT}/nodes/{NODE}")
    assert node["usage"] == {"cpu": "250000000n", "memory": "65536Ki"}
    assert [item["metadata"]["name"] for item in (await metered.nested.request("GET", f"{ROOT}/pods"))["items"]] == ["web"]


@pytest.mark.parametrize("certificate", ["other", "kubelet-client", None])
async def test_nobody_but_the_api_server_gets_an_answer(metered: World, certificate: str | None) -> None:
    await await_available(metered)
    answer = await ask(metered, certificate)
    assert not answer.startswith(b"HTTP/1.1 200")
    assert (await ask(metered, "proxy")).startswith(b"HTTP/1.1 200")


async def ask(world: World, certificate: str | None) -> bytes:
    """Ask the server itself; what it answers, nothing if it hangs up."""
    folder: Path = world.plane.folder
    tls = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    if certificate:
        tls.load_cert_chain(folder / f"{certificate}.crt", folder / f"{certificate}.key")
    try:
        reader, writer = await asyncio.open_connection(
            world.settings.metrics_address, world.settings.metrics_port, ssl=tls, server_hostname="nestor-metrics.kube-system.svc"
        )
        writer.write(f"GET {ROOT} HTTP/1.1\r\nHost: x\r\nX-Remote-User: admin\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
    except (ssl.SSLError, ConnectionError):
        return b""
    return answer


async def test_a_tenant_s_own_metrics_server_is_left_alone(metered: World) -> None:
    await await_available(metered)
    name, managed = "v1beta1.metrics.k8s.io", "app.kubernetes.io/managed-by"

    async def label(value: str) -> Object:
        return await metered.nested.patch(kinds.API_SERVICE, name, None, {"metadata": {"labels": {managed: value}}})

    before = await label("Helm")
    await server.register(metered.nested, metered.settings.metrics_address, 1, "")
    after = await metered.nested.get(kinds.API_SERVICE, name)
    assert after["spec"] == before["spec"]
    found = await metered.nested.get(kinds.ENDPOINT_SLICE, server.NAME, server.NAMESPACE)
    assert found["ports"][0]["port"] == metered.settings.metrics_port
    await label("nestor")
