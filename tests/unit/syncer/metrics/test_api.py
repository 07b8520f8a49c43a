"""What the metrics API answers, and how often it asks the host."""

import asyncio
from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, ApiError, NotFound, kinds
from nestor.kube.serving.http import Request
from nestor.pods.translate.labels import is_match
from nestor.syncer.metrics import api
from nestor.syncer.metrics.api import MetricsApi
from nestor.syncer.view.caches import Caches
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET, build_pod

HOST = TARGET.namespace
ROOT = "apis/metrics.k8s.io/v1beta1"


def build_usage(name: str = "host", timestamp: str = "2026-01-01T00:00:10Z", **containers: tuple[str, str]) -> Object:
    return {
        "kind": "PodMetrics",
        "metadata": {"name": name, "namespace": "host-space", "labels": {"nestor.dev/cluster": "x"}},
        "timestamp": timestamp,
        "window": "12.5s",
        "containers": [{"name": key, "usage": {"cpu": cpu, "memory": memory}} for key, (cpu, memory) in containers.items()],
    }


class Host:
    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.error: ApiError | None = None
        self.items = [build_usage(f"host-{name}", app=("100m", "10Mi")) for name in ("web", "db", "unknown")]

    async def list(self, kind: Any, namespace: str, *, labels: str) -> list[Object]:
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
        parts = [part for part in path.split("/") if part]
        return await self.api.answer(Request(method, parts, {key: [value] for key, value in query.items()}, [], b""))

    async def names(self, path: str, **query: str) -> list[str]:
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
    assert (await scene.get(f"{ROOT}/pods", fieldSelector="metadata.name=n"))[0] == 400
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
    assert scene.host.asked == [(kinds.POD_METRICS.path(HOST), HOST, TARGET.selector)]


def test_a_pod_has_its_own_name_labels_and_containers() -> None:
    pod = build_pod(labels={"app": "web"}, initContainers=[{"name": "side", "restartPolicy": "Always"}])
    usage = build_usage(app=("1500u", "20Mi"), side=("2m", "1Mi"), injected=("9", "9Gi"))
    assert api.build_pod(usage, pod) == {
        "kind": "PodMetrics",
        "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}, "creationTimestamp": "2026-01-01T00:00:10Z"},
        "timestamp": "2026-01-01T00:00:10Z",
        "window": "12.5s",
        "containers": [
            {"name": "app", "usage": {"cpu": "1500u", "memory": "20Mi"}},
            {"name": "side", "usage": {"cpu": "2m", "memory": "1Mi"}},
        ],
    }


def test_a_node_is_the_sum_of_the_cluster_s_own_pods() -> None:
    node = {"metadata": {"name": "n", "labels": {"zone": "a"}}}
    usages = [
        build_usage("a", "2026-01-01T00:00:10Z", app=("1500u", "20Mi"), more=("1", "1Gi")),
        build_usage("b", "2026-01-01T00:00:20Z", app=("250000000n", "512Ki")),
    ]
    found = api.build_node(node, usages, "now")
    assert found["usage"] == {"cpu": "1251500000n", "memory": f"{20 * 1024 + 1024**2 + 512}Ki"}
    assert (found["timestamp"], found["window"], found["metadata"]["labels"]) == ("2026-01-01T00:00:20Z", "12.5s", {"zone": "a"})
    empty = api.build_node(node, [], "2026-01-01T00:00:00Z")
    assert (empty["usage"], empty["timestamp"]) == ({"cpu": "0n", "memory": "0Ki"}, "2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web,tier=", True),
        ("app=other", False),
        ("app!=other,color!=red", True),
        ("app!=web", False),
        ("app", True),
        ("!app", False),
        ("!color", True),
        ("app in (web, other),tier", True),
        ("app notin (web,other)", False),
        ("app in (x),app", False),
        ("example.com/app notin (x)", True),
    ],
)
def test_label_selectors(selector: str, matches: bool) -> None:
    assert is_match(api.parse_selector(selector), {"app": "web", "tier": ""}) is matches


@pytest.mark.parametrize("selector", ["a=b=c(", "a in b", "(a)", "a b"])
def test_what_is_no_label_selector(selector: str) -> None:
    with pytest.raises(ValueError, match="label selector"):
        api.parse_selector(selector)


@pytest.mark.parametrize(
    "selector", ["," * 60_000, "a in (" + "x," * 2_000 + "x)", "!a," * 1_000], ids=["commas", "values", "terms"]
)
def test_a_selector_that_takes_long_to_read_or_match_is_none(selector: str) -> None:
    with pytest.raises(ValueError, match="label selector has more than 2048 characters"):
        api.parse_selector(selector)
