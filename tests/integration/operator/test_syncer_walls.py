"""A syncer writes copies of nested policies, and none of the walls around its pods."""

import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from nestor.api.class_parts import NetworkPolicyModel
from nestor.api.contracts import addresses
from nestor.api.data import read
from nestor.api.objects import Object
from nestor.api.policies import IpBlock
from nestor.cluster.home import SYNCER_ROLE
from nestor.cluster.policies import build_internet, build_policies
from nestor.cluster.shape import Host
from nestor.kube import Api, Forbidden, Invalid, kinds
from nestor.pods.translate.target import Target
from nestor.syncer import limits
from nestor.syncer.translate.network_policy import Surroundings, build_policy
from tests.integration import apiserver
from tests.unit.operator.builders import build_shape
from tests.waiting import eventually

OWN = {"nestor.dev/cluster": "hello", "nestor.dev/component": "app"}
OTHER = OWN | {"nestor.dev/cluster": "other"}
WALL = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
HOST = Host(("10.43.0.0/16",), ("203.0.113.7",), resolvers=("10.43.0.10",))


def build_walls(namespace: str, cluster: str = "hello", *, node_ports: bool = False, **network: Any) -> list[Object]:
    """What the operator makes around the pods of a cluster."""
    shape = build_shape(policy={"network": network, "services": {"nodePorts": node_ports}}, host=HOST)
    return build_policies(replace(shape, name=cluster, namespace=namespace, labels={"nestor.dev/job-uid": "1"}))


@pytest.fixture
async def namespace(lonely: Api) -> str:
    """A job's namespace with its walls."""
    name = f"nestor-{uuid.uuid4().hex[:6]}"
    await lonely.create(kinds.NAMESPACE, {"metadata": {"name": name, "labels": {"nestor.dev/job-uid": "1"}}})
    for wall in build_walls(name):
        await lonely.create(kinds.NETWORK_POLICY, wall)
    return name


@pytest.fixture
async def syncer(lonely: Api, second_plane: apiserver.ControlPlane, namespace: str) -> AsyncIterator[Api]:
    """Its client, once its rights are in force."""
    user = f"system:serviceaccount:{namespace}:hello-syncer"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": SYNCER_ROLE}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
    binding = {"metadata": {"name": "syncer", "namespace": namespace}, "roleRef": role, "subjects": [subject]}
    await lonely.create(kinds.ROLE_BINDING, binding)
    async with await Api.connect(str(second_plane.kubeconfig_of(user)), manager="syncer") as client:

        async def may_read() -> bool:
            try:
                return bool(await client.list(kinds.NETWORK_POLICY, namespace))
            except Forbidden:
                return False

        async def is_held() -> bool:
            """Admission policies are in force a moment after they are there."""
            probe = {"metadata": {"name": "probe", "namespace": namespace}, "spec": WALL}
            try:
                await client.create(kinds.NETWORK_POLICY, probe)
            except Forbidden:
                return True
            await lonely.delete(kinds.NETWORK_POLICY, "probe", namespace)
            return False

        await eventually(may_read)
        await eventually(is_held)
        yield client


def copy(namespace: str, internet: list[Object] | None = None, **spec: Any) -> Object:
    """What a syncer writes for a nested policy, by default in a class that opens nothing outside."""
    opened = [read(IpBlock, item["ipBlock"]) for item in internet or []]
    target = Target(namespace=namespace, cluster="hello", labels={}, owner={}, api_ip="10.43.0.20", dns_ip="10.43.0.21")
    nested = {"metadata": {"name": "one", "namespace": "shop", "uid": "u"}, "spec": {"podSelector": {}, **spec}}
    built = build_policy(nested, Surroundings(target, {"shop": {}}, {"10.42.0.7": "u"}, opened))
    del built["metadata"]["ownerReferences"]
    return built


async def test_copies_are_written_changed_and_deleted(syncer: Api, namespace: str) -> None:
    peers = [{"podSelector": {}}, {"namespaceSelector": {}}, {"ipBlock": {"cidr": "10.42.0.0/16"}}]
    made = await syncer.create(
        kinds.NETWORK_POLICY, copy(namespace, ingress=[{"from": peers}, {}], egress=[{"to": peers}], policyTypes=["Egress"])
    )
    name = made["metadata"]["name"]
    await syncer.patch(kinds.NETWORK_POLICY, name, namespace, {"spec": {"policyTypes": ["Ingress"]}})
    await syncer.delete(kinds.NETWORK_POLICY, name, namespace)


async def test_a_service_that_is_reached_from_outside_gets_its_policy(syncer: Api, namespace: str) -> None:
    labels = {"nestor.dev/cluster": "hello", "nestor.dev/nested-namespace": "shop", "app": "web"}
    body = copy(namespace)
    body["spec"] = {"podSelector": {"matchLabels": labels}, "policyTypes": ["Ingress"], "ingress": [{"ports": [{"port": 80}]}]}
    await syncer.create(kinds.NETWORK_POLICY, body)


OTHERS_PODS = "|about the pods of its own nested cluster"
"""Of two policies that refuse, any may be the one that says so."""


async def test_walls_are_neither_changed_nor_deleted(syncer: Api, namespace: str) -> None:
    opened = {"metadata": {"labels": {"nestor.dev/nested-uid": "u"}}, "spec": {"egress": [{}]}}
    with pytest.raises(Forbidden, match=f"copies of nested policies only{OTHERS_PODS}"):
        await syncer.patch(kinds.NETWORK_POLICY, "hello-deny", namespace, opened)
    with pytest.raises(Forbidden, match="copies of nested policies only"):
        await syncer.delete(kinds.NETWORK_POLICY, "hello-deny", namespace)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"podSelector": {}}, f"about pods of its nested cluster{OTHERS_PODS}"),
        ({"podSelector": {"matchLabels": OWN | {"nestor.dev/component": "server"}}}, "about pods of its nested cluster"),
        ({"egress": [{}]}, "connect to those of its nested cluster"),
        ({"egress": [{"to": [{"namespaceSelector": {}}]}]}, "connect to those of its nested cluster"),
        ({"egress": [{"to": [{"podSelector": {}}]}]}, f"connect to those of its nested cluster{OTHERS_PODS}"),
        ({"podSelector": {"matchLabels": OTHER}}, "pods of its own nested"),
        ({"egress": [{"to": [{"podSelector": {"matchLabels": OTHER}}]}]}, "pods of its own nested"),
        *[
            ({"egress": [{"to": [{"ipBlock": {"cidr": cidr}}]}]}, "its class closes|metadata address")
            for cidr in (
                *("0.0.0.0/0", "::/0", "0.0.0.0/1", "10.0.0.0/8", "10.1.2.3/32", "192.168.7.0/24", "203.0.113.7/32"),
                *("169.254.169.254/32", *addresses.METADATA, *addresses.LINK_LOCAL, *addresses.NAT64),
            )
        ],
        ({"egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8", "169.254.0.0/16"]}}]}]}, "class closes"),
    ],
)
async def test_nothing_else_is_written(syncer: Api, namespace: str, spec: Object, message: str) -> None:
    body = copy(namespace)
    body["spec"] = {"podSelector": {"matchLabels": OWN}, "policyTypes": ["Ingress", "Egress"], **spec}
    with pytest.raises(Forbidden, match=message):
        await syncer.create(kinds.NETWORK_POLICY, body)


@pytest.mark.parametrize("cidr", ["::ffff:10.0.0.0/104", "10.1.2.3/9", "010.0.0.0/8"])
async def test_nothing_is_written_that_is_read_in_two_ways(syncer: Api, namespace: str, cidr: str) -> None:
    body = copy(namespace)
    rule = {"to": [{"ipBlock": {"cidr": cidr}}]}
    body["spec"] = {"podSelector": {"matchLabels": OWN}, "policyTypes": ["Egress"], "egress": [rule]}
    with pytest.raises((Forbidden, Invalid)):
        await syncer.create(kinds.NETWORK_POLICY, body)


async def test_what_the_class_opens_is_opened_whole_and_in_parts(syncer: Api, namespace: str) -> None:
    internet = build_internet(NetworkPolicyModel(), HOST)
    parts = ["0.0.0.0/0", "::/0", "8.0.0.0/6", "0.0.0.0/1", "128.0.0.0/1", "198.51.100.7/32", "2001:db8::/32", "2000::/3"]
    peers: list[Object] = [{"ipBlock": {"cidr": cidr}} for cidr in parts]
    peers.append({"ipBlock": {"cidr": "0.0.0.0/0", "except": ["1.0.0.0/8", "10.0.0.0/9", "172.0.0.0/6"]}})
    body = copy(namespace, internet, policyTypes=["Egress"], egress=[{}, {"to": peers}])
    assert sum("ipBlock" in peer for rule in body["spec"]["egress"] for peer in rule["to"]) == 11
    made = await syncer.create(kinds.NETWORK_POLICY, body)
    await syncer.delete(kinds.NETWORK_POLICY, made["metadata"]["name"], namespace)


async def test_a_copy_of_the_size_that_there_may_be_can_be_judged(syncer: Api, namespace: str) -> None:
    internet = build_internet(NetworkPolicyModel(), HOST)
    blocks = [{"ipBlock": {"cidr": f"8.8.{number // 250}.{number % 250}/32"}} for number in range(1500)]
    body = copy(namespace, internet, policyTypes=["Egress"], egress=[{"to": blocks}])
    assert 50_000 < len(json.dumps(body)) < limits.OBJECT_BYTES
    await syncer.create(kinds.NETWORK_POLICY, body)


async def test_a_block_with_as_many_exceptions_as_there_may_be_can_be_judged(syncer: Api, namespace: str) -> None:
    internet = build_internet(NetworkPolicyModel(), HOST)
    closed = [f"8.{number // 250}.{number % 250}.0/31" for number in range(4000)]
    body = copy(
        namespace, internet, policyTypes=["Egress"], egress=[{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": closed}}]}]
    )
    assert 40_000 < len(json.dumps(body)) < limits.OBJECT_BYTES
    await syncer.create(kinds.NETWORK_POLICY, body)


NODES = [{"ipBlock": {"cidr": "10.1.2.3/32"}}, {"ipBlock": {"cidr": "fd00::3/128"}}]
PORT = {"protocol": "TCP", "port": 30007}


async def test_own_node_ports_are_opened_at_nodes_where_the_class_allows_them(lonely: Api, syncer: Api, namespace: str) -> None:
    body = copy(namespace)
    body["spec"] = {"podSelector": {"matchLabels": OWN}, "policyTypes": ["Egress"], "egress": [{"to": NODES, "ports": [PORT]}]}
    with pytest.raises(Forbidden, match="its class"):
        await syncer.create(kinds.NETWORK_POLICY, body)
    (open_wall,) = [wall for wall in build_walls(namespace, node_ports=True) if wall["metadata"]["name"] == "hello-app-out"]
    await lonely.patch(
        kinds.NETWORK_POLICY, "hello-app-out", namespace, {"metadata": {"labels": open_wall["metadata"]["labels"]}}
    )

    async def is_let() -> bool:
        """The wall's change is known a moment later."""
        try:
            await syncer.create(kinds.NETWORK_POLICY, body)
        except Forbidden:
            return False
        return True

    await eventually(is_let)
    await lonely.delete(kinds.NETWORK_POLICY, body["metadata"]["name"], namespace)
    for rule in (
        {"to": NODES},
        {"to": NODES, "ports": [PORT, {"protocol": "TCP", "port": 6443}]},
        {"to": NODES, "ports": [PORT | {"endPort": 65000}]},
        {"to": NODES, "ports": [PORT | {"port": "kubelet"}]},
        {"to": [{"ipBlock": {"cidr": "10.1.2.0/31"}}], "ports": [PORT]},
        {"to": [*NODES, {"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [PORT]},
    ):
        with pytest.raises(Forbidden, match="its class"):
            await syncer.create(kinds.NETWORK_POLICY, body | {"spec": body["spec"] | {"egress": [rule]}})


async def test_where_the_class_opens_nothing_no_copy_does(lonely: Api, syncer: Api, namespace: str) -> None:
    (closed,) = [wall for wall in build_walls(namespace, internet="None") if wall["metadata"]["name"] == "hello-app-out"]
    await lonely.patch(kinds.NETWORK_POLICY, "hello-app-out", namespace, {"spec": closed["spec"]})
    body = copy(namespace, egress=[{"to": [{"podSelector": {}}]}], policyTypes=["Egress"])
    body["spec"]["egress"][0]["to"].append({"ipBlock": {"cidr": "198.51.100.7/32"}})

    async def is_refused() -> bool:
        """The wall's change is known a moment later."""
        try:
            await syncer.create(kinds.NETWORK_POLICY, body)
        except Forbidden as error:
            return "its class does not" in error.message
        await lonely.delete(kinds.NETWORK_POLICY, body["metadata"]["name"], namespace)
        return False

    await eventually(is_refused)
