"""The process ends when its NestedCluster was replaced or its certificates were renewed, and for nothing else."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from nestor.kube import Api, Informer, kinds
from nestor.syncer.process import identity

KEY = ("n", "hello")


async def play(*uids: str) -> asyncio.Task[None]:
    """The watch while the NestedCluster is seen with these UIDs, empty: gone. It began with the cluster `first`."""
    informer = Informer(cast(Api, None), kinds.NESTED_CLUSTER, "n")
    watching = asyncio.create_task(identity.watch_cluster(informer, "first"))
    await asyncio.sleep(0)
    for version, uid in enumerate(uids):
        meta = {"name": "hello", "namespace": "n", "uid": uid, "resourceVersion": str(version)}
        informer._set(KEY, {"metadata": meta} if uid else None)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return watching


@pytest.mark.parametrize("uids", [["second"], ["first", "second"], ["first", "", "second"]])
async def test_another_cluster_of_the_same_name_ends_it(uids: list[str]) -> None:
    watching = await play(*uids)
    with pytest.raises(identity.Outdated, match="deleted and recreated"):
        await asyncio.wait_for(watching, 60)


@pytest.mark.parametrize("uids", [[], [""], ["first"], ["first", "first"], ["first", ""]])
async def test_changes_and_the_end_of_its_own_do_not(uids: list[str]) -> None:
    watching = await play(*uids)
    assert not watching.done()
    watching.cancel()


@pytest.fixture
def access(tmp_path: Path) -> Path:
    for name in ("syncer.kubeconfig", "kubelet.crt", "kubelet.key", "client-ca.crt", "other"):
        (tmp_path / name).write_text("first")
    return tmp_path


def test_the_digest_is_of_the_credentials(access: Path) -> None:
    first = identity.read_digest(access)
    (access / "other").write_text("second")
    assert identity.read_digest(access) == first
    (access / "kubelet.crt").write_text("second")
    assert identity.read_digest(access) not in (first, None)


async def test_renewed_credentials_end_the_watch_once_they_are_complete(access: Path) -> None:
    first, renewed = identity.read_digest(access), access / "kubelet.key"
    happenings: list[Callable[[], object]] = [lambda: None, renewed.unlink, lambda: renewed.write_text("second")]

    async def sleep(seconds: float) -> None:
        assert seconds == identity.CHECK_SECONDS
        happenings.pop(0)()

    with pytest.raises(identity.Outdated):
        await identity.watch(access, first, sleep)
    assert happenings == []
