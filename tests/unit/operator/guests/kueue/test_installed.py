"""Kueue may be installed, upgraded and removed while the operator runs."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from nestor.kube import Api, kinds
from nestor.operator.guests.kueue.keeper import NAME, Installed, find_version, trim_definition
from tests.fakes.api import MemoryApi

Object = dict[str, Any]


def define(*versions: str, served: bool = True, **meta: str) -> Object:
    """The definition of Workloads with these versions."""
    listed = [{"name": name, "served": served, "schema": {"large": True}} for name in versions]
    return {"metadata": {"name": NAME} | meta, "spec": {"versions": listed, "group": "kueue.x-k8s.io"}}


@pytest.mark.parametrize(
    ("found", "version"),
    [
        (None, None),
        (define("v1beta1"), "v1beta1"),
        (define("v1beta1", "v1beta2"), "v1beta2"),
        (define("v2"), None),
        (define("v1beta2", served=False), None),
        (define("v1beta2", deletionTimestamp="2026-01-01T00:00:00Z"), None),
    ],
)
def test_which_version_is_spoken(found: Object | None, version: str | None) -> None:
    assert find_version(found and trim_definition(found)) == version


def test_of_the_definition_only_its_versions_are_kept() -> None:
    assert "large" not in str(trim_definition(define("v1beta2")))


async def test_each_change_of_the_version_is_heard_and_what_used_the_old_one_ends() -> None:
    api, log = MemoryApi(), asyncio.Queue[str]()

    async def use(version: str | None) -> None:
        log.put_nowait(f"{version} begins")
        try:
            await asyncio.Event().wait()
        finally:
            log.put_nowait(f"{version} ends")

    task = asyncio.create_task(Installed(cast(Api, api), use).keep())
    async with asyncio.timeout(10):
        assert await log.get() == "None begins"
        api.put(kinds.CRD, define("v1beta1"))
        assert [await log.get(), await log.get()] == ["None ends", "v1beta1 begins"]
        api.put(kinds.CRD, define("v1beta1", labels="new"))
        api.put(kinds.CRD, define("v1beta1", "v1beta2"))
        assert [await log.get(), await log.get()] == ["v1beta1 ends", "v1beta2 begins"]
        api.drop(kinds.CRD, NAME)
        assert [await log.get(), await log.get()] == ["v1beta2 ends", "None begins"]
    task.cancel()
