"""The Secret with a pod's tokens follows the pod's life, whatever happens to the Secret."""

import base64
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api import times
from nestor.api.objects import Object, annotations_of
from nestor.kube import Forbidden, Kind, kinds
from nestor.pods.translate import volumes
from nestor.syncer import limits
from nestor.syncer.pods.tokens import TokenController
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET, build_host_pod, build_pod
from tests.unit.syncer.at_work import at_work, build_context, calm
from tests.waiting import comes_true

TOKENS = [{"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}]


class Issuer(MemoryApi):
    """A nested API server: each token says which one it is, and the node of its pod."""

    count = 0

    async def create(self, kind: Kind, body: Object, *, subresource: str | None = None, **named: Any) -> Object:
        if subresource != "token":
            return await super().create(kind, body, subresource=subresource, **named)
        self.count += 1
        pod = self.look(kinds.POD, body["spec"]["boundObjectRef"]["name"], body["metadata"]["namespace"])
        assert pod is not None
        return {"status": {"token": f"{self.count} {pod['spec'].get('nodeName')}"}}


class Scene:
    """A nested pod that mounts a token, and the controller at work."""

    def __init__(self, **spec: Any) -> None:
        self.host, self.nested = MemoryApi(), Issuer()
        self.pod = self.nested.put(kinds.POD, build_pod(**{"volumes": TOKENS} | spec))
        context = build_context(self.host, self.nested)
        self.caches = context.caches
        self.controller = TokenController(context)
        self.name = volumes.token_secret_name(self.pod)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with at_work(self.caches, self.controller.queue):
            yield

    def add_host_pod(self) -> None:
        body = build_host_pod()
        body["metadata"]["labels"] |= TARGET.metadata(self.pod)["labels"]
        self.host.put(kinds.POD, body)

    async def begin(self) -> None:
        """The pod has its token, and then a host pod."""
        await self.controller.ensure(self.pod)
        self.add_host_pod()
        await self.settle()

    def bind(self) -> None:
        self.nested.put(kinds.POD, self.pod | {"spec": self.pod["spec"] | {"nodeName": "n"}})

    @property
    def secret(self) -> Object | None:
        return self.host.look(kinds.SECRET, self.name, TARGET.namespace)

    @property
    def token(self) -> str:
        """What the Secret holds; empty if there is none."""
        return base64.b64decode(self.secret["data"]["token-0-0"]).decode() if self.secret else ""

    async def until(self, token: str) -> None:
        await comes_true(lambda: self.token == token, limit=10)

    async def settle(self) -> None:
        await calm((self.host, self.nested), lambda: len(self.controller.queue))

    def age(self) -> None:
        secret = self.secret
        assert secret is not None
        secret["metadata"]["annotations"]["nestor.dev/renew-after"] = "2020-01-01T00:00:00Z"
        self.host.put(kinds.SECRET, secret)


async def test_a_token_is_there_before_the_pod_and_names_its_node_once_it_has_one() -> None:
    scene = Scene()
    async with scene.running():
        await scene.controller.ensure(scene.pod)
        assert scene.token == "1 None"
        scene.add_host_pod()
        await scene.settle()
        assert scene.token == "1 None"
        scene.bind()
        await scene.until("2 n")
        await scene.settle()
        assert annotations_of(scene.secret)["nestor.dev/token-node"] == "n"
        assert scene.nested.count == 2


async def test_there_is_no_token_beyond_the_bytes_that_a_cluster_may_have_but_those_there_are_stay_valid() -> None:
    scene = Scene()
    total = scene.caches.copied_bytes
    async with scene.running():
        total.value += limits.COPIED_BYTES
        with pytest.raises(Forbidden, match="may hold 32 MiB in total"):
            await scene.controller.ensure(scene.pod)
        assert scene.secret is None
        total.value -= limits.COPIED_BYTES
        await scene.controller.ensure(scene.pod)
        assert scene.token == "2 None"
        total.value += limits.COPIED_BYTES
        scene.add_host_pod()
        scene.bind()
        await scene.until("3 n")


async def test_a_secret_that_somebody_deletes_is_made_again() -> None:
    scene = Scene(nodeName="n")
    async with scene.running():
        await scene.begin()
        scene.host.drop(kinds.SECRET, scene.name, TARGET.namespace)
        await scene.until("2 n")


async def test_a_pod_that_waits_for_its_host_pod_keeps_no_old_tokens() -> None:
    scene = Scene()
    async with scene.running():
        await scene.controller.ensure(scene.pod)
        await scene.settle()
        scene.age()
        await scene.until("")
        await scene.settle()
        assert scene.nested.count == 1
        await scene.controller.ensure(scene.pod)
        assert scene.token == "2 None"


async def test_a_pod_that_has_ended_needs_no_new_tokens() -> None:
    scene = Scene(nodeName="n")
    scene.nested.put(kinds.POD, scene.pod | {"status": {"phase": "Succeeded"}})
    scene.add_host_pod()
    async with scene.running():
        await scene.controller.ensure(scene.pod)
        await scene.settle()
        scene.age()
        await scene.settle()
        assert scene.nested.count == 1


async def test_a_secret_goes_with_its_pods() -> None:
    scene = Scene(nodeName="n")
    async with scene.running():
        await scene.begin()
        scene.nested.drop(kinds.POD, "web", "shop")
        await scene.settle()
        assert scene.secret is not None  # the host pod still mounts it
        scene.host.drop(kinds.POD, "web-x-shop-x-host", TARGET.namespace)
        await scene.until("")


async def place(scene: Scene) -> Object:
    """The pod has a host pod, and that a node. Returns the host pod."""
    await scene.begin()
    scene.bind()
    await scene.until("2 n")
    await scene.settle()
    host = scene.host.look(kinds.POD, "web-x-shop-x-host", TARGET.namespace)
    assert host is not None
    return host


def end(scene: Scene) -> None:
    scene.nested.drop(kinds.POD, "web", "shop")
    scene.host.drop(kinds.POD, "web-x-shop-x-host", TARGET.namespace)


async def test_the_host_collects_the_secret_of_a_pod_that_it_has_placed() -> None:
    scene = Scene()
    async with scene.running():
        host = await place(scene)
        assert scene.secret is not None
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "web-x-shop-x-host", "uid": host["metadata"]["uid"]}
        assert scene.secret["metadata"]["ownerReferences"] == [owner]
        end(scene)
        await scene.settle()
        scene.host.drop(kinds.SECRET, scene.name, TARGET.namespace)  # as the garbage collector does
        await scene.settle()
        assert [item.split()[:2] for item in scene.host.asked] == [["POST", "secrets"], ["PATCH", "secrets"]]


@pytest.mark.parametrize("who", ["host", "nested"])
async def test_a_secret_that_is_collected_before_the_end_of_its_pod_is_known_is_not_made_again(who: str) -> None:
    scene = Scene()
    async with scene.running():
        api, pod = scene.host, await place(scene)
        if who == "nested":
            api, (pod,) = scene.nested, scene.nested.every("pods")
        api.put(kinds.POD, pod | {"metadata": pod["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
        await scene.settle()
        scene.host.drop(kinds.SECRET, scene.name, TARGET.namespace)
        await scene.settle()
        assert (scene.secret, scene.nested.count) == (None, 2)


async def test_a_pod_that_ends_still_gets_new_tokens_and_its_secret_is_then_ours_to_remove() -> None:
    scene = Scene()
    async with scene.running():
        host = await place(scene)
        scene.host.put(kinds.POD, host | {"metadata": host["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
        await scene.settle()
        scene.age()
        await scene.until("3 n")
        end(scene)
        await scene.until("")


async def test_a_pod_without_a_node_may_get_another_host_pod_so_none_owns_its_secret() -> None:
    scene = Scene()
    async with scene.running():
        await scene.begin()
        scene.age()
        await scene.until("2 None")
        assert scene.secret is not None
        assert [owner["kind"] for owner in scene.secret["metadata"]["ownerReferences"]] == ["NestedCluster"]


async def test_of_several_tokens_the_shortest_lived_says_when_all_are_renewed() -> None:
    sources = [{"serviceAccountToken": {"path": str(life), "expirationSeconds": life}} for life in (86400, 600, 3600)]
    scene = Scene(volumes=[{"name": "t", "projected": {"sources": sources}}])
    async with scene.running():
        await scene.controller.ensure(scene.pod)
        renew = times.read(annotations_of(scene.secret)["nestor.dev/renew-after"])
    assert 400 < (renew - times.now()).total_seconds() <= 480
