"""What Nestor's policies and the copies of nested ones come to together, judged as the embedded cluster's enforcer does."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from devcluster.cluster.policies.objects import Pod, read_policy
from devcluster.cluster.policies.ruleset import Ruleset
from nestor.api import labels as marks
from nestor.api.data import read
from nestor.api.policies import IpBlock
from nestor.cluster import policies
from nestor.cluster.shape import Host, Shape
from nestor.pods.translate import labels
from nestor.pods.translate.target import Target
from nestor.syncer.translate.network_policy import Surroundings, build_policy, find_isolation
from tests.unit.devcluster.cluster.policies import cluster
from tests.unit.operator.builders import build_shape

Object = dict[str, Any]

HOST = Host(("10.43.0.0/16",), ("10.40.0.2",), (6443,))
WEB, DB, OTHER, SERVER, RUNNER = "10.42.0.2", "10.42.0.3", "10.42.0.4", "10.42.0.5", "10.42.0.6"
VICTIM, VICTIM_SERVER, STRANGER, DNS = "10.42.0.12", "10.42.0.15", "10.42.0.20", "10.42.0.30"
API, METADATA, INTERNET = "10.40.0.2", "169.254.169.254", "8.8.8.8"
NESTED = {WEB: ("web", "shop"), DB: ("db", "shop"), OTHER: ("web", "other")}
"""The nested pods of the first job: their label `app` and their namespace."""

CLOSED: Object = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
ANYWHERE = [{"ipBlock": {"cidr": cidr}} for cidr in ("0.0.0.0/0", "::/0", "10.0.0.0/8", f"{METADATA}/32")]
EVERYTHING: Object = {
    "podSelector": {},
    "policyTypes": ["Ingress", "Egress"],
    "ingress": [{}, {"from": [*ANYWHERE, {"namespaceSelector": {}}]}],
    "egress": [{}, {"to": [*ANYWHERE, {"namespaceSelector": {}}]}],
}


def shape_of(name: str) -> Shape:
    """A job's cluster in a namespace of its own."""
    return build_shape(name=name, namespace=f"nestor-{name}", host=HOST)


def own(shape: Shape, address: str, component: str, more: Mapping[str, str] | None = None) -> Pod:
    """A pod of the host that belongs to a cluster."""
    found = shape.labels | shape.pod_labels(component) | dict(more or {})
    return cluster.pod(f"{component}-{address}", address, namespace=shape.namespace, labels=found)


def carry(shape: Shape, nested: list[Object]) -> tuple[list[Pod], list[Object]]:
    """The host pods and policies that a syncer makes of the nested pods, and of these policies in the namespace `shop`."""
    target = Target(shape.namespace, shape.name, shape.labels, {}, "10.43.0.20", "10.43.0.21")
    blocks = [read(IpBlock, item["ipBlock"]) for item in policies.build_internet(shape.policy.network, shape.host)]
    spaces = {"shop": {"team": "a"}, "other": {"team": "b"}}
    around = Surroundings(target, spaces, {address: address for address in NESTED}, blocks)
    found = [
        {"metadata": {"name": f"p{number}", "namespace": "shop", "uid": str(number)}, "spec": spec}
        for number, spec in enumerate(nested)
    ]
    pods = []
    for address, (app, space) in NESTED.items():
        pod = {"metadata": {"name": app, "namespace": space, "uid": address, "labels": {"app": app}}}
        isolated = find_isolation(pod, found if space == "shop" else [])
        more = labels.host_labels({"app": app}, ()) | target.scope(space) | isolated | {marks.NESTED_UID: address}
        pods.append(own(shape, address, marks.COMPONENT_APP, more))
    return pods, [build_policy(item, around) for item in found]


@cache
def build(which: str) -> Ruleset:
    """The rules of a node with two jobs, the first of which has these nested policies."""
    first, victim = shape_of("first"), shape_of("victim")
    pods, copies = carry(first, POLICIES[which])
    pods += [own(first, SERVER, marks.COMPONENT_SERVER), own(first, RUNNER, marks.COMPONENT_RUNNER)]
    pods += [own(victim, VICTIM, marks.COMPONENT_APP), own(victim, VICTIM_SERVER, marks.COMPONENT_SERVER)]
    pods += [cluster.pod("stranger", STRANGER, namespace="team-a"), cluster.pod("dns", DNS, namespace="kube-system")]
    made = [*policies.build_policies(first), *policies.build_policies(victim), *copies]
    for item in made:
        item["metadata"] |= {"uid": f"{item['metadata']['namespace']}/{item['metadata']['name']}"}
    jobs = {first.namespace: first.labels, victim.namespace: victim.labels}
    return cluster.build(pods, [read_policy(item) for item in made], {name: dict(found) for name, found in jobs.items()})


def ingress(*peers: Object) -> Object:
    """A nested policy about the database."""
    return {"podSelector": {"matchLabels": {"app": "db"}}, "policyTypes": ["Ingress"], "ingress": [{"from": list(peers)}]}


POLICIES: dict[str, list[Object]] = {
    "none": [],
    "closed": [CLOSED],
    "everything": [EVERYTHING],
    "web": [ingress({"podSelector": {"matchLabels": {"app": "web"}}})],
    "team b": [ingress({"namespaceSelector": {"matchLabels": {"team": "b"}}})],
    "block": [ingress({"ipBlock": {"cidr": f"{WEB}/32"}})],
    "out": [{"podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Egress"]}],
}
WALLS = [(VICTIM, 8080), (VICTIM_SERVER, 6443), (STRANGER, 8080), (API, 6443), (API, 10250), (METADATA, 80), (DNS, 53)]


@pytest.mark.parametrize("which", POLICIES)
@pytest.mark.parametrize(("destination", "port"), WALLS)
def test_no_nested_policy_leads_out(which: str, destination: str, port: int) -> None:
    for source in NESTED:
        assert not cluster.passes(build(which), source, destination, port, node_only=destination == API)


@pytest.mark.parametrize("which", POLICIES)
@pytest.mark.parametrize("source", [VICTIM, VICTIM_SERVER, STRANGER, DNS, API, INTERNET])
def test_no_nested_policy_lets_anybody_in(which: str, source: str) -> None:
    assert not any(cluster.passes(build(which), source, address, 8080) for address in NESTED)


@pytest.mark.parametrize("which", POLICIES)
def test_dns_the_nested_api_and_what_comes_from_there_stay(which: str) -> None:
    for address in NESTED:
        assert cluster.passes(build(which), address, SERVER, 1053, "udp")
        assert cluster.passes(build(which), address, SERVER, 6443)
        assert not cluster.passes(build(which), address, SERVER, 10250)
        assert cluster.passes(build(which), SERVER, address, 8080)
        assert cluster.passes(build(which), RUNNER, address, 8080)


@pytest.mark.parametrize(
    ("which", "source", "destination", "expected"),
    [
        ("none", WEB, DB, True),
        ("none", OTHER, DB, True),
        ("none", WEB, INTERNET, True),
        ("closed", WEB, DB, False),
        ("closed", OTHER, DB, False),
        ("closed", DB, OTHER, False),
        ("closed", WEB, INTERNET, False),
        ("closed", OTHER, INTERNET, True),
        ("closed", WEB, WEB, True),
        ("everything", WEB, DB, True),
        ("everything", OTHER, DB, True),
        ("everything", WEB, INTERNET, True),
        ("web", WEB, DB, True),
        ("web", OTHER, DB, False),
        ("web", DB, WEB, True),
        ("team b", WEB, DB, False),
        ("team b", OTHER, DB, True),
        ("block", WEB, DB, True),
        ("block", OTHER, DB, False),
        ("out", WEB, DB, False),
        ("out", WEB, INTERNET, False),
        ("out", OTHER, DB, True),
        ("out", DB, WEB, True),
    ],
)
def test_a_nested_policy_closes_and_opens_what_it_says(which: str, source: str, destination: str, expected: bool) -> None:
    assert cluster.passes(build(which), source, destination, 8080) is expected
