"""A syncer writes copies of nested policies, and none of the walls around its pods."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.cluster.access import SYNCER_ROLE
from nestor.kube import Api, Forbidden, kinds
from nestor.syncer.translate.network_policy import Surroundings, build_policy
from nestor.translate.target import Target
from tests.integration import apiserver
from tests.waiting import eventually

Object = dict[str, Any]

OWN = {"nestor.dev/cluster": "hello", "nestor.dev/component": "app"}
WALL = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


@pytest.fixture
async def namespace(lonely: Api) -> str:
    """A job's namespace with a wall in it."""
    name = f"nestor-{uuid.uuid4().hex[:6]}"
    await lonely.create(kinds.NAMESPACE, {"metadata": {"name": name, "labels": {"nestor.dev/job-uid": "1"}}})
    await lonely.create(kinds.NETWORK_POLICY, {"metadata": {"name": "hello-deny", "namespace": name}, "spec": WALL})
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

        await eventually(may_read, limit=20)
        await eventually(is_held, limit=20)
        yield client


def copy(namespace: str, **spec: Any) -> Object:
    """What a syncer writes for a nested policy."""
    target = Target(namespace=namespace, cluster="hello", labels={}, owner={}, api_ip="10.43.0.20", dns_ip="10.43.0.21")
    nested = {"metadata": {"name": "one", "namespace": "shop", "uid": "u"}, "spec": {"podSelector": {}, **spec}}
    built = build_policy(nested, Surroundings(target, {"shop": {}}, {"10.42.0.7": "u"}, []))
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


async def test_walls_are_neither_changed_nor_deleted(syncer: Api, namespace: str) -> None:
    opened = {"metadata": {"labels": {"nestor.dev/nested-uid": "u"}}, "spec": {"egress": [{}]}}
    with pytest.raises(Forbidden, match="copies of nested policies only"):
        await syncer.patch(kinds.NETWORK_POLICY, "hello-deny", namespace, opened)
    with pytest.raises(Forbidden, match="copies of nested policies only"):
        await syncer.delete(kinds.NETWORK_POLICY, "hello-deny", namespace)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"podSelector": {}}, "about pods of its nested cluster"),
        ({"podSelector": {"matchLabels": OWN | {"nestor.dev/component": "server"}}}, "about pods of its nested cluster"),
        ({"egress": [{}]}, "connect to those of its nested cluster"),
        ({"egress": [{"to": [{"namespaceSelector": {}}]}]}, "connect to those of its nested cluster"),
        ({"egress": [{"to": [{"podSelector": {}}]}]}, "connect to those of its nested cluster"),
        ({"egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}]}, "metadata address"),
        ({"egress": [{"to": [{"ipBlock": {"cidr": "169.254.169.254/32"}}]}]}, "metadata address"),
    ],
)
async def test_nothing_else_is_written(syncer: Api, namespace: str, spec: Object, message: str) -> None:
    body = copy(namespace)
    body["spec"] = {"podSelector": {"matchLabels": OWN}, "policyTypes": ["Ingress", "Egress"], **spec}
    with pytest.raises(Forbidden, match=message):
        await syncer.create(kinds.NETWORK_POLICY, body)
