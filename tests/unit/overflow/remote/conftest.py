"""A backend in another cluster in memory."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.kube import Api
from nestor.overflow.remote.provider import RemoteProvider
from nestor.overflow.remote.settings import Access, Settings
from tests.fakes.cluster import MemoryCluster

SPACE, TOKEN = "far", "the-token-of-the-account"


@dataclass
class Far:
    """The cluster and its provider. `set_up` makes another one, as a new process has it."""

    api: MemoryCluster = field(default_factory=MemoryCluster)
    made: list[RemoteProvider] = field(default_factory=list)

    def set_up(self, **others: Any) -> RemoteProvider:
        access = Access({"users": [{"user": {"token": TOKEN}}]})
        plain = {"access": access, "backend": "big", "uid": "backend-uid", "namespace": SPACE}
        self.made.append(RemoteProvider(Settings(**{**plain, **others}), cast(Api, self.api)))
        return self.made[-1]

    def names(self, plural: str) -> list[str]:
        return sorted(item["metadata"]["name"] for item in self.api.every(plural))


@pytest.fixture
async def far() -> AsyncIterator[Far]:
    found = Far()
    yield found
    for item in found.made:
        await item.close()


def build_pod(name: str = "web", uid: str = "host-uid", *, container: Object | None = None, **spec: Any) -> Object:
    containers = [{"name": "app", "image": "example/web:1", **(container or {})}]
    meta = {"name": name, "namespace": "shop", "uid": uid, "labels": {"app": "web"}}
    full = {"containers": containers, "nodeName": "big", "terminationGracePeriodSeconds": 30, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": full}


def build_node(name: str, *, labels: Object | None = None, taints: list[Object] | None = None, **amounts: str) -> Object:
    own = {
        "cpu": "4",
        "memory": "8Gi",
        "pods": "110",
        **{key.replace("__", "/").replace("_", "."): v for key, v in amounts.items()},
    }
    ready = [{"type": "Ready", "status": "True"}]
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"taints": taints or []},
        "status": {"capacity": own, "allocatable": own, "conditions": ready},
    }
