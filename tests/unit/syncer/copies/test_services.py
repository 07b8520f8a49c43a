"""Services that reach outside, between two clusters in memory."""

from dataclasses import replace

import pytest

from nestor.kube import Forbidden, kinds
from nestor.syncer.copies.rows.services import ServiceRow
from tests.unit.pods.translate.builders import TARGET, build_service
from tests.unit.syncer.copies.pair import SPACE, Clusters, running


async def test_load_balancers_of_the_nested_cluster_s_own_are_not_touched() -> None:
    clusters = Clusters.build()
    ingress = [{"ip": "10.0.0.1"}]
    clusters.nested.put(kinds.SERVICE, build_service(type="LoadBalancer") | {"status": {"loadBalancer": {"ingress": ingress}}})
    async with running(clusters, ServiceRow):
        assert (clusters.nested.look(kinds.SERVICE, "web", SPACE) or {})["status"]["loadBalancer"]["ingress"] == ingress


async def test_a_full_quota_says_who_can_raise_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.unit.syncer.at_work.TARGET", replace(TARGET, quota_class="small"))
    clusters = Clusters.build()
    reason = "exceeded quota: nestor, requested: services=1, used: services=50, limited: services=50"
    message = f'services "x" is forbidden: {reason}'
    clusters.host.refusal = lambda verb, _: Forbidden(403, "Forbidden", message) if verb == "POST" else None
    clusters.nested.put(kinds.SERVICE, build_service())
    async with running(clusters, ServiceRow):
        advice = "ask an administrator to raise `namespace.quota` of class 'small'"
        assert clusters.events == [("ServiceNotSynced", f"{reason}; {advice}")]
