"""NetworkPolicies between two clusters in memory."""

from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.kube import Forbidden, Invalid, kinds
from nestor.syncer.copies.rows.network_policies import NetworkPolicyRow
from nestor.syncer.translate.network_policy import find_isolation
from tests.unit.syncer.copies.pair import SPACE, Clusters, Running, running

KIND = kinds.NETWORK_POLICY
INTERNET = [{"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}]


def start(internet: list[Object] | None = None) -> Clusters:
    """Two clusters, and what the class opens of the world outside."""
    clusters = Clusters.build(KIND, internet=INTERNET if internet is None else internet)
    clusters.nested.put(kinds.NAMESPACE, {"metadata": {"name": SPACE, "labels": {"team": "a"}}})
    return clusters


def put(clusters: Clusters, name: str = "one", **spec: Any) -> Object:
    meta = {"name": name, "namespace": SPACE}
    return clusters.nested.put(KIND, {"metadata": meta, "spec": {"podSelector": {}, **spec}})


async def follow(made: Running, **spec: Any) -> None:
    """The policy is written, and the syncer follows."""
    put(made.clusters, **spec)
    await made.settle()


def read(clusters: Clusters) -> Any:
    copy = clusters.copy(KIND, "one")
    return copy["spec"] if copy else None


def list_uids(clusters: Clusters) -> list[str]:
    rules = (read(clusters) or {}).get("ingress") or []
    selectors = [peer["podSelector"] for rule in rules for peer in rule["from"]]
    return [uid for selector in selectors for uid in selector["matchExpressions"][0]["values"]]


async def test_a_copy_follows_every_change_and_goes_with_its_source() -> None:
    clusters = start()
    rule = {"from": [{"podSelector": {"matchLabels": {"app": "web"}}}], "ports": [{"port": 80}]}
    put(clusters, policyTypes=["Ingress"], ingress=[rule])
    async with running(clusters, NetworkPolicyRow) as made:
        assert "ports" in read(clusters)["ingress"][0]
        # Less in the source must be less in the copy, or it would allow less, or more, than is said.
        await follow(made, policyTypes=["Ingress"], ingress=[{"from": rule["from"]}])
        assert "ports" not in read(clusters)["ingress"][0]
        await follow(made, policyTypes=["Ingress", "Egress"])
        assert read(clusters)["policyTypes"] == ["Ingress", "Egress"]
        assert not (read(clusters) or {}).get("ingress")
        await clusters.nested.delete(KIND, "one", SPACE)
        await made.settle()
        assert read(clusters) is None


async def test_namespaces_are_followed() -> None:
    clusters = start()
    put(clusters, policyTypes=["Ingress"], ingress=[{"from": [{"namespaceSelector": {"matchLabels": {"team": "b"}}}]}])
    async with running(clusters, NetworkPolicyRow) as made:
        assert not (read(clusters) or {}).get("ingress")
        await made.put_nested(kinds.NAMESPACE, {"metadata": {"name": "friends", "labels": {"team": "b"}}})
        (rule,) = read(clusters)["ingress"]
        assert rule["from"][0]["podSelector"]["matchExpressions"][0]["values"] == ["friends"]


async def test_addresses_of_pods_are_followed() -> None:
    clusters = start()
    put(clusters, policyTypes=["Ingress"], ingress=[{"from": [{"ipBlock": {"cidr": "10.42.0.0/24"}}]}])
    async with running(clusters, NetworkPolicyRow) as made:
        assert not (read(clusters) or {}).get("ingress")
        for address, uid, expected in (
            ("10.42.0.7", "u", ["u"]),
            ("10.42.1.7", "u", []),
            ("10.42.0.8", "u", ["u"]),
            ("10.42.0.8", "v", ["v"]),
        ):
            clusters.add_host_pod(uid, address)
            await made.settle()
            assert list_uids(clusters) == expected


async def test_the_address_of_a_pod_that_has_ended_may_be_somebody_else_s() -> None:
    clusters = start()
    put(clusters, policyTypes=["Ingress"], ingress=[{"from": [{"ipBlock": {"cidr": "10.42.0.0/16"}}]}])
    async with running(clusters, NetworkPolicyRow) as made:
        for phase, expected in (("Running", ["u"]), ("Succeeded", []), ("Running", ["u"]), ("Failed", [])):
            clusters.add_host_pod("u", "10.42.0.7", phase)
            await made.settle()
            assert list_uids(clusters) == expected
            assert "10.42." not in str(read(clusters))
        clusters.add_host_pod("u", "10.42.0.7", hostNetwork=True)
        await made.settle()
        assert list_uids(clusters) == []


async def test_what_the_class_opens_is_followed() -> None:
    clusters = start([])
    put(clusters, policyTypes=["Egress"], egress=[{"to": [{"ipBlock": {"cidr": "8.8.8.0/24"}}]}])
    async with running(clusters, NetworkPolicyRow) as made:
        assert not (read(clusters) or {}).get("egress")
        ((reason, message),) = clusters.events
        assert reason == "FieldsIgnored"
        assert "`network.internet`" in message
        await made.allow(internet=INTERNET)
        assert read(clusters)["egress"] == [{"to": [{"ipBlock": {"cidr": "8.8.8.0/24"}}]}]


@pytest.mark.parametrize("how", ["size", "Invalid", "Forbidden"])
async def test_a_copy_that_cannot_follow_goes_and_closes_what_it_opened(how: str) -> None:
    clusters = start()
    rule: Object = {"to": [{"podSelector": {}}]}
    put(clusters, policyTypes=["Egress"], egress=[{}])
    async with running(clusters, NetworkPolicyRow) as made:
        assert read(clusters)["egress"]
        if how == "size":
            rule["ports"] = [{"port": number} for number in range(1, 3000)]
        else:
            error = (Invalid if how == "Invalid" else Forbidden)(422, how, "no")
            clusters.host.refusal = lambda verb, _: error if verb in ("PATCH", "PUT", "POST") else None
        await follow(made, policyTypes=["Egress"], egress=[rule])
        assert read(clusters) is None
        assert "NotCarried" in {reason for reason, _ in clusters.events}
        clusters.host.refusal = lambda *_: None
        await follow(made, policyTypes=["Egress"], egress=[{"to": [{"podSelector": {}}]}])
        assert read(clusters) is not None


async def test_a_copy_that_is_up_to_date_stays() -> None:
    clusters = start()
    put(clusters, policyTypes=["Egress"], egress=[{}])
    async with running(clusters, NetworkPolicyRow) as made:
        before = (clusters.copy(KIND, "one") or {})["metadata"]["uid"]
        clusters.host.refusal = lambda verb, _: Forbidden(403, "Forbidden", "no") if verb in ("POST", "PATCH") else None
        await follow(made, policyTypes=["Egress"], egress=[{}])
        assert (clusters.copy(KIND, "one") or {})["metadata"]["uid"] == before
        await follow(made, policyTypes=["Egress"])
        assert clusters.copy(KIND, "one") is None
        clusters.host.refusal = lambda *_: None
        await made.until(lambda: (read(clusters) or {}).get("policyTypes") == ["Egress"])


LARGE: Object = {"policyTypes": ["Ingress"], "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}] * 5000}]}


async def test_of_a_policy_that_is_too_large_to_be_carried_little_is_kept_and_its_copy_goes() -> None:
    clusters = start()
    put(clusters)
    async with running(clusters, NetworkPolicyRow) as made:
        assert read(clusters) is not None
        await follow(made, **LARGE)
        assert read(clusters) is None
        assert clusters.events == [("NotCarried", "a NetworkPolicy may have 64 KiB, and this one has more")]
        kept = made.caches.nested(KIND).get("one", SPACE)
        assert len(str(kept)) < 1000
        assert find_isolation({"metadata": {"labels": {}}}, [kept or {}]) == {"nestor.dev/isolated-ingress": "true"}
        await follow(made)
        assert read(clusters) is not None
