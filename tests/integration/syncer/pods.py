"""Nested pods for tests, and what is looked at in them."""

from typing import Any

from nestor.api.objects import Object
from nestor.kube import kinds
from tests.integration.syncer.world import World


def build_pod(space: str, name: str = "web", *, container: Object | None = None, **spec: Any) -> Object:
    """A small nested pod."""
    containers = [{"name": "app", "image": "example/web:1", **(container or {})}]
    return {"metadata": {"name": name, "namespace": space, "labels": {"app": name}}, "spec": {"containers": containers, **spec}}


def condition(pod: Object, kind: str) -> Object:
    """One condition of a pod, empty when it has none."""
    found = pod.get("status", {}).get("conditions") or []
    return next((item for item in found if item["type"] == kind), {})


def is_ready(pod: Object) -> bool:
    """What Services and Deployments look at."""
    return condition(pod, "Ready").get("status") == "True"


async def start(world: World, body: Object) -> tuple[Object, Object]:
    """A nested pod and its host pod, running."""
    nested = await world.nested.create(kinds.POD, body)
    host = await world.host_pod(nested)
    await world.run(host)
    return await world.nested_pod(nested, is_ready), host
