"""What the metrics API answers, and how often it asks the host."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, ApiError, NotFound, kinds
from nestor.kube.serving.http import Request
from nestor.syncer.metrics import api
from nestor.syncer.metrics.api import POD_METRICS, MetricsApi
from nestor.syncer.view.caches import Caches
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET, build_pod
from tests.unit.syncer.translate.test_metrics import build_usage

HOST = TARGET.namespace
ROOT = "apis/metrics.k8s.io/v1beta1"


class Host:
    """The host's metrics API."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.error: ApiError | None = None
        self.items = [build_usage(f"host-{name}", app=("100m", "10Mi")) for name in ("web", "db", "unknown")]

    async def list(self, kind: Any, namespace: str, *, labels: str) -> list[Object]:
        """All of the cluster."""
        self.asked.append((kind.path(namespace), namespace, labels))
        await asyncio.sleep(0)
        if self.error:
            raise self.error
        return self.items


class Scene:
    """The metrics API between two clusters."""

    def __init__(self) -> None:
        self.host = Host()
        memory = cast(Api, MemoryApi())
        self.caches = Caches(memory, memory, TARGET)
        for namespace, name, node in (("shop", "web", "n1"), ("data", "db", "n2")):
            uid, own = f"uid-{name}", {"app": name}
            pod = build_pod(labels=own, nodeName=node)
            pod["metadata"] |= {"name": name, "namespace": namespace, "uid": uid}
            host = {"metadata": {"name": f"host-{name}", "namespace": HOST, "labels": {"nestor.dev/nested-uid": uid}}, "spec": {}}
            # Touched first, so that it follows the cache.
            self.caches.nested_by_uid.get(uid)
            self.caches.nested(kinds.POD)._set((namespace, name), pod)
            self.caches.host(kinds.POD)._set((HOST, f"host-{name}"), host)
        for name in ("n1", "n2", "n3"):
            self.caches.nested(kinds.NODE)._set(("", name), {"metadata": {"name": name, "labels": {"name": name}}})
        self.api = MetricsApi(self.caches, cast(Api, self.host), TARGET.selector)

    async def get(self, path: str, method: str = "GET", **query: str) -> tuple[int, Object]:
        """One request."""
        parts = [part for part in path.split("/") if part]
        return await self.api.answer(Request(method, parts, {key: [value] for key, value in query.items()}, [], b""))

    async def names(self, path: str, **query: str) -> list[str]:
        """The names in a list."""
        status, body = await self.get(path, **query)
        assert (status, body["apiVersion"]) == (200, "metrics.k8s.io/v1beta1")
        return [item["metadata"]["name"] for item in body["items"]]


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_it_says_what_there_is(scene: Scene) -> None:
    status, body = await scene.get(ROOT)
    assert (status, body["groupVersion"]) == (200, "metrics.k8s.io/v1beta1")
    assert [(item["name"], item["kind"], item["namespaced"]) for item in body["resources"]] == [
        ("nodes", "NodeMetrics", False),
        ("pods", "PodMetrics", True),
    ]
    assert scene.host.asked == []


async def test_pods_by_namespace_label_and_name(scene: Scene) -> None:
    assert await scene.names(f"{ROOT}/pods") == ["db", "web"]
    assert await scene.names(f"{ROOT}/namespaces/shop/pods") == ["web"]
    assert await scene.names(f"{ROOT}/pods", labelSelector="app in (db)") == ["db"]
    assert await scene.names(f"{ROOT}/pods", fieldSelector="metadata.namespace=shop") == ["web"]
    status, body = await scene.get(f"{ROOT}/namespaces/shop/pods/web")
    assert (status, body["kind"], body["containers"][0]["usage"]["cpu"]) == (200, "PodMetrics", "100m")


async def test_nodes_with_and_without_pods(scene: Scene) -> None:
    assert await scene.names(f"{ROOT}/nodes") == ["n1", "n2", "n3"]
    assert await scene.names(f"{ROOT}/nodes", labelSelector="name!=n1") == ["n2", "n3"]
    found = {name: (await scene.get(f"{ROOT}/nodes/{name}"))[1]["usage"]["cpu"] for name in ("n1", "n3")}
    assert found == {"n1": "100000000n", "n3": "0n"}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("apis", 404),
        ("apis/metrics.k8s.io", 404),
        ("openapi/v2", 404),
        (f"{ROOT}/services", 404),
        (f"{ROOT}/namespaces/shop/pods/web/log", 404),
        (f"{ROOT}/namespaces/shop/pods/other", 404),
        (f"{ROOT}/namespaces/data/pods/web", 404),
        (f"{ROOT}/nodes/other", 404),
    ],
)
async def test_what_is_not_there(scene: Scene, path: str, code: int) -> None:
    status, body = await scene.get(path)
    assert (status, body["code"], body["kind"], body["status"]) == (code, code, "Status", "Failure")


async def test_bad_requests(scene: Scene) -> None:
    assert (await scene.get(f"{ROOT}/pods", labelSelector="a in b"))[0] == 400
    assert (await scene.get(f"{ROOT}/pods", fieldSelector="spec.nodeName=n"))[0] == 400
    assert (await scene.get(f"{ROOT}/pods", method="DELETE"))[0] == 405


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (NotFound(404, "NotFound", "the server could not find the requested resource"), "has no metrics API"),
        (ApiError(503, "ServiceUnavailable", "starting"), "the host cluster's metrics API does not answer: starting"),
    ],
)
async def test_a_host_that_does_not_tell_is_named_as_the_reason(
    scene: Scene, error: ApiError, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.host.error = error
    for path in (f"{ROOT}/pods", f"{ROOT}/nodes"):
        status, body = await scene.get(path)
        assert (status, body["reason"]) == (503, "ServiceUnavailable")
        assert text in body["message"]
    assert len(scene.host.asked) == 1
    scene.host.error = None
    monkeypatch.setattr(api, "FRESH_SECONDS", 0.0)
    scene.api._until = 0.0
    assert await scene.names(f"{ROOT}/pods") == ["db", "web"]


async def test_the_host_is_asked_once_for_all_who_ask_and_of_this_cluster_alone(scene: Scene) -> None:
    await asyncio.gather(*(scene.get(f"{ROOT}/pods") for _ in range(20)), *(scene.get(f"{ROOT}/nodes") for _ in range(20)))
    assert scene.host.asked == [(POD_METRICS.path(HOST), HOST, TARGET.selector)]
