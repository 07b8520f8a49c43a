"""The process ends when its NestedCluster was replaced or its certificates were renewed, and for nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nestor.kube import Informer, kinds
from nestor.syncer.process import identity

Object = dict[str, Any]


def build_cluster(uid: str, version: str) -> Object:
    """The NestedCluster as an API server lists it."""
    return {"metadata": {"name": "hello", "namespace": "n", "uid": uid, "resourceVersion": version}}


class ListingApi:
    """Answers lists with the next state, and never with a watch event."""

    def __init__(self, *states: list[Object]) -> None:
        self.states = list(states)

    async def request(self, method: str, path: str, query: Object, **_: Any) -> Object:
        """The next list, and after the last one nothing more."""
        if not self.states:
            await asyncio.Event().wait()
        return {"metadata": {"resourceVersion": "1"}, "items": self.states.pop(0)}


async def play(*states: list[Object]) -> asyncio.Task[None]:
    """The watch after these lists; it began with the cluster `first`."""
    informer = Informer(ListingApi(*states), kinds.NESTED_CLUSTER, "n")  # type: ignore[arg-type]
    watching = asyncio.create_task(identity.Identity(informer, "first").watch())
    for _ in states:
        await informer._list()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return watching


@pytest.mark.parametrize(
    "states",
    [
        [[build_cluster("second", "7")]],
        [[build_cluster("first", "7")], [build_cluster("second", "8")]],
        [[build_cluster("first", "7")], [], [build_cluster("second", "9")]],
    ],
)
async def test_another_cluster_of_the_same_name_ends_it(states: list[list[Object]]) -> None:
    watching = await play(*states)
    with pytest.raises(identity.Replaced, match="NestedCluster 'hello' was deleted and recreated"):
        await asyncio.wait_for(watching, 60)


@pytest.mark.parametrize(
    "states",
    [
        [],
        [[]],
        [[build_cluster("first", "7")]],
        [[build_cluster("first", "7")], [build_cluster("first", "8")]],
        [[build_cluster("first", "7")], []],
    ],
)
async def test_changes_and_the_end_of_its_own_do_not(states: list[list[Object]]) -> None:
    watching = await play(*states)
    assert not watching.done()
    watching.cancel()


@pytest.fixture
def access(tmp_path: Path) -> Path:
    """The folder of the access Secret."""
    for name in ("syncer.kubeconfig", "kubelet.crt", "kubelet.key", "client-ca.crt", "other"):
        (tmp_path / name).write_text("first")
    return tmp_path


def test_the_digest_is_of_the_credentials(access: Path) -> None:
    first = identity.read_digest(access)
    (access / "other").write_text("second")
    assert identity.read_digest(access) == first
    (access / "kubelet.crt").write_text("second")
    assert identity.read_digest(access) not in (first, None)


def test_what_is_not_complete_has_no_digest(access: Path) -> None:
    (access / "kubelet.key").unlink()
    assert identity.read_digest(access) is None


async def test_renewed_credentials_end_the_watch_once_they_are_complete(access: Path) -> None:
    first, renewed = identity.read_digest(access), access / "kubelet.key"
    happenings: list[Callable[[], object]] = [lambda: None, renewed.unlink, lambda: renewed.write_text("second")]

    async def sleep(seconds: float) -> None:
        assert seconds == identity.CHECK_SECONDS
        happenings.pop(0)()

    with pytest.raises(identity.Renewed):
        await identity.watch(access, first, sleep)
    assert happenings == []
