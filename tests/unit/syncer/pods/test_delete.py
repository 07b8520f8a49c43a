"""The last act for a nested pod."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.kube import Kind, NotFound, kinds
from nestor.syncer.pods.delete import PodDeleter
from tests.fakes.host import MemoryHost
from tests.unit.pods.translate.builders import build_host_pod, build_pod


class Syncer:
    """Writes no status; notes whose it was to write."""

    def __init__(self) -> None:
        self.synced: list[str] = []
        self.error: Exception | None = None

    async def sync(self, nested: Object, host: Object) -> None:
        self.synced.append(nested["metadata"]["name"])
        if self.error is not None:
            raise self.error

    async def lose(self, nested: Object, last: Object | None) -> None:
        """Nothing to write."""


class NestedApi:
    """Notes what is to be deleted."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    async def delete(self, kind: Kind, name: str, namespace: str, **options: Any) -> bool:
        self.deleted.append(f"{kind.plural} {namespace}/{name} {options}")
        return True


def deleter(*pods: Object, api: NestedApi | None = None, log: Syncer | None = None) -> tuple[PodDeleter, MemoryHost]:
    provider, context = MemoryHost(*pods), SimpleNamespace(nested=api)
    return PodDeleter(cast(Any, context), provider, cast(Any, log or Syncer())), provider


@pytest.mark.parametrize(
    ("grace", "finalizers", "is_asked"),
    [
        (30, [], True),
        (30, ["batch.kubernetes.io/job-tracking"], True),
        (0, ["batch.kubernetes.io/job-tracking"], False),  # asked for already
        (0, [], True),  # the last request was cut off between its two steps: nobody else finishes it
    ],
)
async def test_a_nested_pod_is_let_go(grace: int, finalizers: list[str], is_asked: bool) -> None:
    nested, api = build_pod(nodeName="n"), NestedApi()
    nested["metadata"] |= {"deletionTimestamp": "t", "deletionGracePeriodSeconds": grace, "finalizers": finalizers}
    nested["status"] = {"phase": "Failed"}
    ending, _ = deleter(api=api)
    await ending.finish(nested, None)
    assert api.deleted == (["pods shop/web {'uid': 'pod-uid', 'grace_seconds': 0}"] if is_asked else [])


async def test_the_host_pod_gets_the_grace_that_the_nested_one_was_given_and_is_asked_once() -> None:
    host, nested = build_host_pod(nodeName="n"), build_pod(nodeName="n")
    nested["metadata"] |= {"deletionTimestamp": "t", "deletionGracePeriodSeconds": 5}
    ending, provider = deleter(host)
    await ending.remove(host, nested)
    assert provider.pods["web-x-shop-x-host"]["metadata"]["deletionGracePeriodSeconds"] == 5
    await ending.remove(await provider.get(host), nested)
    assert [item.split()[0] for item in provider.cluster.asked].count("DELETE") == 1


@pytest.mark.parametrize("has_changed", [False, True])
async def test_a_host_pod_that_gets_its_node_meanwhile_is_not_withdrawn(has_changed: bool) -> None:
    ending, provider = deleter(build_host_pod())
    (before,) = provider.pods.values()
    if has_changed:
        provider.cluster.put(kinds.POD, build_host_pod(nodeName="n"))
    await ending.withdraw(before)
    assert bool(provider.pods) is has_changed


async def test_a_nested_pod_is_ended_with_its_host_pod_even_if_its_status_cannot_be_written() -> None:
    nested, host, api, log = build_pod(nodeName="n"), build_host_pod(nodeName="n"), NestedApi(), Syncer()
    host["metadata"] |= {"deletionTimestamp": "t", "deletionGracePeriodSeconds": 5}
    log.error = NotFound(404, "NotFound", 'nodes "n" not found')
    ending, _ = deleter(api=api, log=log)
    with pytest.raises(NotFound):
        await ending.follow(nested, host)
    assert api.deleted == ["pods shop/web {'uid': 'pod-uid', 'grace_seconds': 5}"]


async def test_a_nested_pod_is_let_go_once_although_the_cache_still_has_it() -> None:
    nested, api = build_pod(nodeName="n"), NestedApi()
    nested["metadata"] |= {"deletionTimestamp": "t", "deletionGracePeriodSeconds": 30}
    ending, _ = deleter(api=api)
    await ending.finish(nested, None)
    await ending.finish(nested, None)
    assert len(api.deleted) == 1
    ending.forget("pod-uid")
    await ending.finish(nested, None)
    assert len(api.deleted) == 2
