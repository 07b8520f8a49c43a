"""Whoever has a syncer's token, and with it the chart's roles, writes copies of nested objects and no more than that."""

from collections.abc import AsyncIterator

import pytest

from nestor.api import labels
from nestor.api.objects import Object
from nestor.cluster.home import NODES_ROLE, SYNCER_ROLE
from nestor.kube import Api, Forbidden, Invalid, Kind, kinds
from tests.integration import apiserver
from tests.integration.operator.stolen import RBAC, STRANGER, Attack
from tests.integration.operator.stolen_syncer import AS_GROUP, ATTACKS, COPY, GANG, HOME, OF_ONE, POD_GROUP, pod
from tests.integration.operator.test_stolen_token import body_of, ensure, send
from tests.integration.operator.test_syncer_walls import build_walls
from tests.integration.snapshots import define_snapshots
from tests.waiting import eventually, exists

USER = f"system:serviceaccount:{HOME}:hello-syncer"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "fast"}
WALL = "hello-app-out"


@pytest.fixture(scope="module")
async def targets(guarded: apiserver.ControlPlane) -> AsyncIterator[Api]:
    """An admin's client. All that is attacked is there: `server` is what the cluster consists of, `copy` a copy."""
    async with await Api.connect(str(guarded.kubeconfig), manager="test") as admin:
        await define_snapshots(admin)
        marks = {labels.JOB_UID: "1", "pod-security.kubernetes.io/enforce": "baseline"}
        await ensure(admin, kinds.NAMESPACE, STRANGER)
        await ensure(admin, kinds.NAMESPACE, HOME, metadata={"labels": marks})
        await exists(admin, kinds.SERVICE_ACCOUNT, "default", HOME)
        for wall in build_walls(HOME):
            await admin.apply(kinds.NETWORK_POLICY, wall)
        await ensure(admin, kinds.NESTED_CLUSTER, "hello", HOME, spec={})
        await ensure(admin, POD_GROUP, "theirs", HOME, spec=OF_ONE)
        await ensure(admin, kinds.SERVICE_ACCOUNT, "hello-syncer", HOME)
        for name, own in (("server", {labels.COMPONENT: labels.COMPONENT_SERVER}), ("copy", COPY)):
            for kind, body in _build_targets():
                await ensure(admin, kind, name, HOME, **body | {"metadata": {"labels": own}})
        yield admin


def _build_targets() -> list[tuple[Kind, Object]]:
    service = {"ports": [{"port": 80}]}
    return [
        (kinds.POD, pod()),
        (kinds.SERVICE, {"spec": service}),
        (kinds.SECRET, {}),
        (kinds.CONFIG_MAP, {}),
        (kinds.PERSISTENT_VOLUME_CLAIM, {"spec": CLAIM}),
    ]


@pytest.fixture(scope="module")
async def thief(guarded: apiserver.ControlPlane, targets: Api) -> AsyncIterator[Api]:
    """A client with the syncer's token, once the policies are in force: the last of them in the chart, and their parameters."""
    subject = {"apiGroup": RBAC, "kind": "User", "name": USER}
    for kind, role, namespace in ((kinds.ROLE_BINDING, SYNCER_ROLE, HOME), (kinds.CLUSTER_ROLE_BINDING, NODES_ROLE, None)):
        body = {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}, "subjects": [subject]}
        await ensure(targets, kind, "syncer-of-test", namespace, **body)
    async with await Api.connect(str(guarded.kubeconfig_of(USER)), manager="thief") as client:

        async def is_held() -> bool:
            """Each policy is in force a moment after it is there."""
            found = [await _is_refused(client, targets, kind, body) for kind, body in _PROBES]
            policy = {"status": {"policy": {"podSecurity": "Privileged"}}}
            try:
                await client.patch(kinds.NESTED_CLUSTER, "hello", HOME, policy, subresource="status")
            except Forbidden:
                return all(found)
            await targets.patch(kinds.NESTED_CLUSTER, "hello", HOME, {"status": {"policy": None}}, subresource="status")
            return False

        await eventually(is_held)
        yield client


_PROBES: tuple[tuple[Kind, Object], ...] = (
    (kinds.CONFIG_MAP, {"metadata": {"labels": dict.fromkeys(COPY)}}),
    (kinds.SERVICE, {"spec": {"type": "NodePort", "ports": [{"port": 80}]}}),
    (kinds.NETWORK_POLICY, {"metadata": {"labels": dict.fromkeys(COPY)}, "spec": {"podSelector": {}}}),
)


async def _is_refused(client: Api, admin: Api, kind: Kind, body: Object) -> bool:
    try:
        await client.create(kind, body_of(kind, "probe", HOME, body, COPY))
    except Forbidden:
        return True
    await admin.delete(kind, "probe", HOME)
    return False


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
async def test_a_thief_of_a_syncers_token_does_not_get(thief: Api, attack: Attack) -> None:
    with pytest.raises((Forbidden, Invalid), match=attack.refused):
        await send(thief, attack, COPY)


async def test_copies_are_written_changed_and_deleted(thief: Api) -> None:
    """What the policies let through; all of it is in the tests of the syncer, which run under them too."""
    labeled = {"metadata": {"labels": {"tenant.nestor.dev/a": "b"}}}
    for kind, body in _build_targets():
        await thief.create(kind, body_of(kind, "fine", HOME, body, COPY))
        await thief.patch(kind, "fine", HOME, labeled)
        assert await thief.delete(kind, "fine", HOME)


async def test_a_condition_of_a_pod_and_the_syncers_part_of_the_status_are_written(thief: Api) -> None:
    gate = {"type": "example.com/gate", "status": "True"}
    await thief.patch(kinds.POD, "copy", HOME, {"status": {"conditions": [gate]}}, subresource="status")
    patch = {"status": {"kubernetesVersion": "v1.36.0"}}
    await thief.patch(kinds.NESTED_CLUSTER, "hello", HOME, patch, subresource="status")


async def test_the_group_of_a_gang_is_written_and_deleted(thief: Api) -> None:
    await thief.create(POD_GROUP, body_of(POD_GROUP, "fine", HOME, AS_GROUP, GANG))
    assert await thief.delete(POD_GROUP, "fine", HOME)


BUDGET = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}


@pytest.mark.parametrize(
    ("label", "kind", "spec"),
    [
        (labels.NODE_PORTS, kinds.SERVICE, {"type": "NodePort", "ports": [{"port": 80}]}),
        (labels.BUDGETS, kinds.POD_DISRUPTION_BUDGET, BUDGET),
    ],
)
async def test_the_wall_says_what_the_class_lets_reach_further(
    targets: Api, thief: Api, label: str, kind: Kind, spec: Object
) -> None:
    body = body_of(kind, "open", HOME, {"spec": spec}, COPY)
    await targets.patch(kinds.NETWORK_POLICY, WALL, HOME, {"metadata": {"labels": {label: "true"}}})

    async def is_let() -> bool:
        """The wall's change is known a moment later."""
        try:
            await thief.create(kind, body)
        except Forbidden:
            return False
        return True

    try:
        await eventually(is_let)
        await thief.delete(kind, "open", HOME)
    finally:
        await targets.patch(kinds.NETWORK_POLICY, WALL, HOME, {"metadata": {"labels": {label: "false"}}})
        await eventually(lambda: _is_refused(thief, targets, kind, {"spec": spec}))
