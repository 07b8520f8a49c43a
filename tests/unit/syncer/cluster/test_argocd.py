"""When Argo CD's rights in the nested cluster are written."""

from __future__ import annotations

import asyncio
import contextlib
from types import SimpleNamespace
from typing import cast

import pytest

from nestor.api.allowances import ArgoCDAccess
from nestor.api.contracts.cluster import ARGOCD_USER
from nestor.kube import Api, Informer, kinds
from nestor.syncer.cluster import argocd
from nestor.syncer.cluster.argocd import ArgoCDRights
from nestor.syncer.view.caches import Caches
from tests.fakes.api import MemoryApi
from tests.waiting import eventually


async def test_rights_come_with_the_namespace_and_not_by_asking_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    api = MemoryApi()
    access = ArgoCDAccess(namespaces=["later", "other"])
    namespaces = Informer(cast(Api, api), kinds.NAMESPACE)
    caches = SimpleNamespace(
        policy=SimpleNamespace(argo_cd=access), on_policy=lambda _: None, nested=lambda kind: {kinds.NAMESPACE: namespaces}[kind]
    )
    monkeypatch.setattr(argocd, "CHECK_SECONDS", 3600)
    rights = ArgoCDRights(cast(Api, api), cast(Caches, caches))
    tasks = [asyncio.create_task(namespaces.run()), asyncio.create_task(rights.queue.run())]

    def count() -> int:
        return len([item for item in api.asked if item == f"APPLY rolebindings later/{ARGOCD_USER}"])

    async def has_asked(times: int) -> bool:
        return count() == times

    async def make(name: str) -> None:
        await api.create(kinds.NAMESPACE, {"metadata": {"name": name}})

    await eventually(lambda: has_asked(1))
    await make("nobodys")
    await make("later")
    await eventually(lambda: has_asked(2))
    api.put(kinds.NAMESPACE, {"metadata": {"name": "later", "labels": {"a": "b"}}})
    await make("other")
    await eventually(lambda: has_asked(3))
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
