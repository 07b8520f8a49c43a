"""Copies within limits: their size, their number, and how often each is written."""

from __future__ import annotations

import pytest

from nestor.kube import RetryLater, kinds
from nestor.kube.pace import Pace, Rate
from nestor.syncer import limits
from nestor.syncer.copies.rows.config import ConfigMapRow, SecretRow
from nestor.syncer.copies.rows.service_links import ServiceLinksRow
from nestor.syncer.copies.rows.services import ServiceRow
from nestor.translate.env import links_name
from tests.unit.syncer.copies.pair import HOST, SPACE, Clusters, running
from tests.unit.syncer.copies.test_engine import build, data, settings, written
from tests.unit.translate.builders import build_service

TOO_MUCH = (
    "the pods of this nested cluster and the ConfigMaps and Secrets that they use may hold 0 MiB in total, and would exceed that"
)


async def test_data_beyond_the_limit_is_not_copied_and_told_and_comes_when_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COPIED_BYTES", 100)
    clusters = build()
    async with running(clusters, ConfigMapRow, SecretRow) as made:
        assert data(clusters) == {"color": "red"}
        secret = {"metadata": {"name": "key", "namespace": SPACE}, "data": {"k": "x" * 90}}
        clusters.nested.put(kinds.SECRET, secret)
        clusters.add_pod("other", volumes=[{"name": "key", "secret": {"secretName": "key"}}])
        await made.settle()
        assert clusters.copy(kinds.SECRET, "key") is not None
        clusters.nested.put(kinds.CONFIG_MAP, settings(color="x" * 50))
        await made.settle()
        assert data(clusters) == {"color": "red"}
        assert clusters.events == [("NotCopied", TOO_MUCH)]
        clusters.nested.drop(kinds.POD, "other", SPACE)
        await made.until(lambda: data(clusters) == {"color": "x" * 50})


async def test_there_are_only_so_many_host_services(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SYNCED_SERVICES", 2)
    clusters = Clusters.build()
    async with running(clusters, ServiceRow) as made:
        for number in range(3):
            service = build_service(f"web-{number}", clusterIP=f"10.43.7.{number}")
            service["metadata"]["uid"] = f"uid-{number}"
            clusters.nested.put(kinds.SERVICE, service)
            await made.settle()
        assert [bool(clusters.copy(kinds.SERVICE, f"web-{number}")) for number in range(3)] == [True, True, False]
        message = "a nested cluster may have 2 Services with a cluster IP; delete others first"
        assert clusters.events == [("ServiceNotSynced", message)]
        clusters.nested.drop(kinds.SERVICE, "web-0", SPACE)
        await made.until(lambda: clusters.copy(kinds.SERVICE, "web-2"))


async def test_a_copy_that_changes_all_the_time_is_written_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COPY_WRITES", Rate(per_second=5, burst=3))
    clusters = build()
    async with running(clusters, ConfigMapRow) as made:
        for number in range(50):
            clusters.nested.put(kinds.CONFIG_MAP, settings(number=str(number)))
            await made.settle()
        assert len(written(clusters)) < 20
        await made.until(lambda: data(clusters) == {"number": "49"})


async def test_writes_that_the_pace_forbids_follow_later_and_deletions_need_not_wait() -> None:
    clusters = build()
    limited = Pace(Rate(per_second=1, burst=1), Rate(1, 1_000_000), small=1000)
    clusters.host.refusal = lambda *_: limited.check({})
    async with running(clusters, ConfigMapRow) as made:
        with pytest.raises(RetryLater):
            limited.check({})
        clusters.nested.put(kinds.CONFIG_MAP, settings(color="blue"))
        await made.until(lambda: data(clusters) == {"color": "blue"})
        clusters.nested.drop(kinds.POD, "web", SPACE)
        await made.settle()
        assert data(clusters) is None
        assert clusters.events == []


async def test_service_links_count_as_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COPIED_BYTES", 100)
    clusters = Clusters.build()
    pod = clusters.add_pod()
    async with running(clusters, ServiceLinksRow) as made:
        await made.engine.ensure_needs(pod)
        assert clusters.host.look(kinds.CONFIG_MAP, links_name(SPACE), HOST) is not None
        clusters.nested.put(kinds.SERVICE, build_service("web", clusterIP="10.43.7.1"))
        await made.settle()
        assert (clusters.host.look(kinds.CONFIG_MAP, links_name(SPACE), HOST) or {})["data"] == {}
