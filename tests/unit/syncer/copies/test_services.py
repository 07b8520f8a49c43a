"""Services that reach outside, between two clusters in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.kube import Forbidden, Invalid, kinds
from nestor.syncer.copies.rows.services import ServiceRow
from tests.unit.pods.translate.builders import TARGET, build_service
from tests.unit.syncer.copies.pair import SPACE, Clusters, running

NODE_PORTS = {"nodePorts": True}


def build_outward(kind: str = "NodePort", **spec: Any) -> Object:
    return build_service(type=kind, ports=[{"port": 80, "protocol": "TCP", "nodePort": 30007}], **spec)


def host_spec(clusters: Clusters) -> Object:
    spec: Object = clusters.copy(kinds.SERVICE, "web")["spec"]
    return spec


async def test_a_node_port_that_is_taken_on_the_host_is_told_until_it_is_free() -> None:
    """It was chosen where the class allowed none, or the Service had another type."""
    clusters = Clusters.build()
    taken = Invalid(422, "Invalid", "spec.ports[0].nodePort: Invalid value: 30007: provided port is already allocated")
    clusters.nested.put(kinds.SERVICE, build_outward())
    async with running(clusters, ServiceRow) as made:
        clusters.host.refusal = lambda *_: taken
        await made.allow(services=NODE_PORTS)
        (message,) = [message for reason, message in clusters.events if reason == "ServiceNotSynced"]
        assert message.endswith("; choose another one, or delete this Service and create it again")
        assert host_spec(clusters)["type"] == "ClusterIP"
        clusters.host.refusal = lambda *_: None
        await made.until(lambda: host_spec(clusters)["ports"][0].get("nodePort") == 30007)


async def test_load_balancers_of_the_nested_cluster_s_own_are_not_touched() -> None:
    clusters = Clusters.build()
    ingress = [{"ip": "10.0.0.1"}]
    clusters.nested.put(kinds.SERVICE, build_outward(kind="LoadBalancer") | {"status": {"loadBalancer": {"ingress": ingress}}})
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
