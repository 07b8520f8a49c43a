"""Copies within limits: their size, their number, and how often each is written."""

import pytest

from nestor.kube import RetryLater, kinds
from nestor.kube.pace import Pace, Rate
from nestor.syncer import limits
from nestor.syncer.copies.rows.budgets import BudgetRow
from nestor.syncer.copies.rows.config import ConfigMapRow, SecretRow
from nestor.syncer.copies.rows.endpoint_slices import EndpointSliceRow
from nestor.syncer.copies.rows.network_policies import NetworkPolicyRow
from nestor.syncer.copies.rows.services import ServiceRow
from tests.unit.pods.translate.builders import build_service
from tests.unit.syncer.copies.pair import SPACE, Clusters, Running, allow_most, allow_most_parts, running
from tests.unit.syncer.copies.test_endpoint_slices import build_slice
from tests.unit.syncer.copies.test_engine import build, data, settings, written

TOO_MUCH = (
    "what a nested cluster has in the host cluster, all pods with their ConfigMaps and Secrets, Services, EndpointSlices, "
    "claims, NetworkPolicies and PodDisruptionBudgets, may hold 0 MiB in total, and would exceed that"
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
        await made.put_nested(kinds.CONFIG_MAP, settings(color="x" * 50))
        assert data(clusters) == {"color": "red"}
        assert clusters.events == [("NotCopied", TOO_MUCH)]
        clusters.nested.drop(kinds.POD, "other", SPACE)
        await made.until(lambda: data(clusters) == {"color": "x" * 50})


async def test_there_are_only_so_many_host_services(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_most(monkeypatch, kinds.SERVICE, 2)
    clusters = Clusters.build()
    async with running(clusters, ServiceRow) as made:
        for number in range(3):
            service = build_service(f"web-{number}", clusterIP=f"10.43.7.{number}")
            service["metadata"]["uid"] = f"uid-{number}"
            await made.put_nested(kinds.SERVICE, service)
        assert [bool(clusters.copy(kinds.SERVICE, f"web-{number}")) for number in range(3)] == [True, True, False]
        message = "a nested cluster may have 2 Services with a cluster IP in the host cluster; delete others first"
        assert clusters.events == [("ServiceNotSynced", message)]
        clusters.nested.drop(kinds.SERVICE, "web-0", SPACE)
        await made.until(lambda: clusters.copy(kinds.SERVICE, "web-2"))


def count_ports(clusters: Clusters, name: str) -> int:
    """Of a host Service; 0 if there is none."""
    copy = clusters.copy(kinds.SERVICE, name)
    return len(copy["spec"]["ports"]) if copy else 0


async def test_all_host_services_together_have_only_so_many_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_most_parts(monkeypatch, kinds.SERVICE, 5)
    clusters = Clusters.build()

    async def put(made: Running, name: str, count: int) -> None:
        service = build_service(name, clusterIP=f"10.43.7.{len(name)}", ports=[{"port": 80 + at} for at in range(count)])
        service["metadata"]["uid"] = f"uid-{name}"
        await made.put_nested(kinds.SERVICE, service)

    async with running(clusters, ServiceRow) as made:
        await put(made, "a", 3)
        await put(made, "bb", 3)
        assert (count_ports(clusters, "a"), count_ports(clusters, "bb")) == (3, 0)
        message = "a nested cluster may have 5 ports of Services in total, and would exceed that"
        assert clusters.events == [("ServiceNotSynced", message)]
        await put(made, "a", 6)
        assert count_ports(clusters, "a") == 3
        await put(made, "a", 2)
        assert count_ports(clusters, "a") == 2
        await put(made, "bb", 3)
        assert count_ports(clusters, "bb") == 3


async def test_host_services_and_budgets_have_only_so_many_bytes() -> None:
    clusters = Clusters.build(kinds.POD_DISRUPTION_BUDGET, placement={"disruptionBudgets": True})
    many = {f"label-{number}": "x" * 60 for number in range(1000)}
    clusters.nested.put(kinds.SERVICE, build_service("web", clusterIP="10.43.7.1", selector=many))
    spec = {"minAvailable": 1, "selector": {"matchLabels": many}}
    meta = {"name": "budget", "namespace": SPACE, "uid": "b"}
    clusters.nested.put(kinds.POD_DISRUPTION_BUDGET, {"metadata": meta, "spec": spec})
    async with running(clusters, ServiceRow, BudgetRow):
        assert clusters.copy(kinds.SERVICE, "web") is None
        assert clusters.copy(kinds.POD_DISRUPTION_BUDGET, "budget") is None
        assert all("may have 64 KiB in the host cluster" in message for _, message in clusters.events)
        assert sorted(reason for reason, _ in clusters.events) == ["NotCarried", "ServiceNotSynced"]


async def test_services_policies_and_slices_count_as_data_with_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COPIED_BYTES", 2500)
    clusters = Clusters.build()
    clusters.nested.put(kinds.SERVICE, build_service("web", clusterIP="10.43.7.1", selector=None))
    async with running(clusters, ServiceRow, EndpointSliceRow, NetworkPolicyRow) as made:
        assert clusters.copy(kinds.SERVICE, "web") is not None
        ports = [{"port": 80 + at, "name": "x" * 60} for at in range(40)]
        clusters.nested.put(kinds.ENDPOINT_SLICE, build_slice(name="own", ports=ports))
        many = {f"label-{number}": "x" * 60 for number in range(40)}
        meta = {"name": "closed", "namespace": SPACE, "uid": "p"}
        await made.put_nested(kinds.NETWORK_POLICY, {"metadata": meta, "spec": {"podSelector": {"matchLabels": many}}})
        assert clusters.copy(kinds.ENDPOINT_SLICE, "own") is None
        assert clusters.copy(kinds.NETWORK_POLICY, "closed") is None
        assert sorted(clusters.events) == [("EndpointsNotSynced", TOO_MUCH), ("NotCarried", TOO_MUCH)]
        await made.put_nested(kinds.NETWORK_POLICY, {"metadata": meta, "spec": {"podSelector": {}}})
        assert clusters.copy(kinds.NETWORK_POLICY, "closed") is not None


async def test_slices_of_users_own_have_only_so_many_endpoints_times_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_most_parts(monkeypatch, kinds.ENDPOINT_SLICE, 6)
    clusters = Clusters.build()
    clusters.nested.put(kinds.SERVICE, build_service(selector=None))
    clusters.allow(services={"endpointRanges": ["192.0.2.0/24"]})
    addresses = ("192.0.2.1", "192.0.2.2")
    clusters.nested.put(kinds.ENDPOINT_SLICE, build_slice(*addresses, name="one", ports=[{"port": 80 + at} for at in range(2)]))
    async with running(clusters, EndpointSliceRow) as made:
        assert clusters.copy(kinds.ENDPOINT_SLICE, "one") is not None
        await made.put_nested(kinds.ENDPOINT_SLICE, build_slice(name="two", ports=[{"port": 80 + at} for at in range(3)]))
        assert clusters.copy(kinds.ENDPOINT_SLICE, "two") is None
        ((reason, message),) = clusters.events
        assert reason == "EndpointsNotSynced"
        assert message.startswith("a nested cluster may have 6 endpoints of EndpointSlices, counted for each port, in total")


async def test_a_copy_that_changes_all_the_time_is_written_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COPY_WRITES", Rate(per_second=5, burst=3))
    clusters = build()
    async with running(clusters, ConfigMapRow) as made:
        for number in range(50):
            await made.put_nested(kinds.CONFIG_MAP, settings(number=str(number)))
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
        await made.drop_nested(kinds.POD, "web", SPACE)
        assert data(clusters) is None
        assert clusters.events == []
