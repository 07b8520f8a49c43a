"""Whoever has the operator's token, and with it the chart's roles, gets no further than the chart's policies."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import pytest

from nestor.api import labels
from nestor.api.contracts import vnode
from nestor.api.objects import Object
from nestor.cluster import certificates
from nestor.kube import Api, Conflict, Forbidden, Invalid, Kind, kinds
from nestor.overflow.vnode.identity import Wish, build_request
from tests.integration import apiserver
from tests.integration.operator import kueue, stolen, stolen_wishes
from tests.integration.operator.conftest import ACCOUNT
from tests.integration.operator.stolen import (
    ARGO,
    HOME,
    MARKED,
    POOLED,
    RESERVED,
    STRANGER,
    SYSTEM,
    TAKEN,
    USER,
    Attack,
    account,
    binding,
    claim,
    claiming,
    deployment,
    given,
    stateful,
)
from tests.integration.operator.stolen_wishes import SETS, admitted, refer, workload
from tests.integration.operator.world import build_class, build_job
from tests.integration.snapshots import define_snapshots
from tests.waiting import eventually, exists, until

BACKEND: Object = {"type": "Interlink", "interlink": {"url": "https://link.test"}}
POD: Object = {"containers": [{"name": "c", "image": "i"}]}
BASELINE = {"pod-security.kubernetes.io/enforce": "baseline"}


def body_of(kind: Kind, name: str, namespace: str | None, body: Object, marked: Mapping[str, str] = MARKED) -> Object:
    """A whole object; what a thief creates looks like the operator's own (or a syncer's) as far as that is possible."""
    meta = body.get("metadata", {})
    marks = {"labels": {key: value for key, value in ({**marked} | meta.get("labels", {})).items() if value is not None}}
    place = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": kind.api_version, "kind": kind.name, **body, "metadata": {**meta, **marks, **place}}


async def ensure(api: Api, kind: Kind, name: str, namespace: str | None = None, **body: Any) -> None:
    """What is attacked; it stays for the attacks to come."""
    with contextlib.suppress(Conflict):
        await api.create(
            kind,
            {"apiVersion": kind.api_version, "kind": kind.name, **body}
            | {"metadata": {**body.get("metadata", {}), "name": name} | ({"namespace": namespace} if namespace else {})},
        )


def volume(namespace: str, name: str, **spec: Any) -> Object:
    """A volume that a claim has had."""
    owner = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name, "uid": "1"}
    return {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": "none.test", "volumeHandle": name},
        "claimRef": owner,
    } | spec


def has_phase(phase: str, found: Object) -> bool:
    """Whether a volume is in this phase."""
    return bool(found["status"].get("phase") == phase)


def content(namespace: str, name: str) -> Object:
    """The content of a snapshot."""
    snapshot = {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "namespace": namespace, "name": name}
    source = {"snapshotHandle": name}
    return {"deletionPolicy": "Retain", "driver": "none.test", "source": source, "volumeSnapshotRef": snapshot}


@pytest.fixture(scope="module")
async def targets(guarded: apiserver.ControlPlane) -> AsyncIterator[Api]:
    """An admin's client. All that is attacked is there."""
    async with await Api.connect(str(guarded.kubeconfig), manager="test") as admin:
        await define_snapshots(admin)
        await kueue.define(admin)
        await _ensure_targets(admin)
        yield admin


IN_POOL = TAKEN["metadata"]["labels"] | BASELINE | {labels.POOL: "x"}


async def _ensure_targets(admin: Api) -> None:
    agreed = {labels.ARGOCD_CLUSTERS: "allowed"}
    for name, marks in (
        (STRANGER, {}),
        (USER, {}),
        (HOME, TAKEN["metadata"]["labels"] | BASELINE),
        (ARGO, agreed),
        (POOLED, IN_POOL),
    ):
        await ensure(admin, kinds.NAMESPACE, name, metadata={"labels": marks})
    for name in (STRANGER, USER):
        await ensure(admin, kinds.SERVICE_ACCOUNT, "powerful", name)
    await ensure(admin, kinds.SERVICE_ACCOUNT, "hello-syncer", HOME)
    await ensure(admin, kinds.SECRET, "theirs", STRANGER)
    await ensure(admin, kinds.CONFIG_MAP, "theirs", "kube-system")
    await ensure(admin, kinds.SERVICE, "theirs", STRANGER, spec={"ports": [{"port": 80}]})
    await ensure(admin, kinds.NETWORK_POLICY, "theirs", STRANGER, spec={"podSelector": {}})
    await ensure(admin, kinds.STATEFUL_SET, "theirs", STRANGER, **stateful())
    await ensure(
        admin,
        kinds.POD,
        "theirs",
        STRANGER,
        spec={"containers": [POD["containers"][0] | {"resources": {"requests": {"cpu": "1m"}}}]},
    )
    await ensure(admin, kinds.PERSISTENT_VOLUME_CLAIM, "theirs", STRANGER, **claim("none"))
    await ensure(admin, kinds.PERSISTENT_VOLUME, "theirs", spec=volume(STRANGER, "theirs"))
    await ensure(admin, kinds.PERSISTENT_VOLUME, "of-job", spec=volume(HOME, "data"))
    await ensure(admin, kinds.PERSISTENT_VOLUME_CLAIM, "used", HOME, **claim("fast"))
    used = await admin.get(kinds.PERSISTENT_VOLUME_CLAIM, "used", HOME)
    owner = {"namespace": HOME, "name": "used", "uid": used["metadata"]["uid"]}
    for name, phase, spec in (("left", "Released", {}), ("used", "Bound", {"claimRef": owner, "storageClassName": "fast"})):
        left = {"labels": {labels.JOB_NAMESPACE: USER}}
        await ensure(admin, kinds.PERSISTENT_VOLUME, name, metadata=left, spec=volume("nestor-owner-hello-00000001", "x") | spec)
        await until(partial(admin.get, kinds.PERSISTENT_VOLUME, name), partial(has_phase, phase))
    taken = {"source": {"persistentVolumeClaimName": "theirs"}}
    await ensure(admin, kinds.VOLUME_SNAPSHOT, "theirs", STRANGER, spec=taken)
    await ensure(admin, kinds.VOLUME_SNAPSHOT_CONTENT, "theirs", spec=content(STRANGER, "theirs"))
    await ensure(admin, kinds.VOLUME_SNAPSHOT_CONTENT, "of-job", spec=content(HOME, "data"))
    await ensure(admin, kinds.ROLE_BINDING, "theirs", STRANGER, **binding("view", account("powerful", STRANGER)))
    await ensure(admin, kinds.CLUSTER_ROLE_BINDING, "theirs", **binding("view", account("powerful", STRANGER)))
    await ensure(admin, kinds.NODE, "real")
    taints = [{"key": "x", "effect": "NoSchedule"}]
    await ensure(admin, kinds.NODE, "virtual", metadata={"labels": {labels.BACKEND: "x"}}, spec={"taints": taints})
    await ensure(admin, kinds.NODE, "late")
    await ensure(admin, kinds.CONFIG_MAP, vnode.RESERVED_CONFIG_MAP, SYSTEM, data={"late": RESERVED})
    await ensure(admin, kinds.NESTED_CLASS, "default", **build_class())
    await ensure(admin, kinds.NESTED_CLUSTER, "own", USER, spec={})
    await ensure(admin, kinds.NESTED_APP_JOB, "theirs", USER, spec=build_job("theirs", USER)["spec"])
    await ensure(admin, kinds.OVERFLOW_BACKEND, "theirs", spec=BACKEND)
    await _ensure_workloads(admin)
    request = build_request(Wish("theirs", "real", "client"), certificates.new_key())
    await ensure(admin, kinds.CERTIFICATE_REQUEST, "theirs", spec=request["spec"])


async def _ensure_workloads(admin: Api) -> None:
    """`theirs` of a stranger's, `free` and `beforehand` of nobody yet, `of-job` of a user's job."""
    stranger = (await admin.get(kinds.SECRET, "theirs", STRANGER))["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Secret", "name": "theirs", "uid": stranger, "controller": True}
    own = await refer_to_job(admin)
    sets = workload(*SETS)
    await ensure(admin, kueue.WORKLOAD, "theirs", STRANGER, metadata={"ownerReferences": [owner]}, spec=workload("main"))
    await ensure(admin, kueue.WORKLOAD, "free", STRANGER, spec=workload("main"))
    await ensure(admin, kueue.WORKLOAD, "beforehand", USER, spec=sets)
    await ensure(admin, kueue.WORKLOAD, "of-job", USER, metadata={"ownerReferences": [own]}, spec=sets)


async def refer_to_job(admin: Api) -> Object:
    """The user's job as an owner."""
    return refer((await admin.get(kinds.NESTED_APP_JOB, "theirs", USER))["metadata"]["uid"])


@pytest.fixture(scope="module")
async def thief(guarded: apiserver.ControlPlane, targets: Api) -> AsyncIterator[Api]:
    """A client with the operator's token, once the policies are in force."""
    async with await Api.connect(str(guarded.kubeconfig_of(ACCOUNT)), manager="thief") as client:

        async def is_held() -> bool:
            try:
                await client.create(kinds.SERVICE_ACCOUNT, body_of(kinds.SERVICE_ACCOUNT, "y-syncer", STRANGER, {}))
            except (Forbidden, Invalid) as error:
                return "may not write this in namespaces" in str(error)
            await targets.delete(kinds.SERVICE_ACCOUNT, "y-syncer", STRANGER)
            return False

        async def knows_nodes() -> bool:
            try:
                await client.patch(kinds.CONFIG_MAP, vnode.RESERVED_CONFIG_MAP, SYSTEM, {"data": {"real": RESERVED}})
            except (Forbidden, Invalid) as error:
                return "names of virtual nodes only" in str(error)
            await targets.patch(kinds.CONFIG_MAP, vnode.RESERVED_CONFIG_MAP, SYSTEM, {"data": {"real": None}})
            return False

        await eventually(is_held)
        await eventually(knows_nodes)
        yield client


async def send(api: Api, attack: Attack, marked: Mapping[str, str] = MARKED) -> None:
    """The request."""
    if attack.verb == "create":
        await api.create(attack.kind, body_of(attack.kind, attack.name, attack.namespace, attack.body, marked))
    elif attack.verb == "patch":
        await api.patch(attack.kind, attack.name, attack.namespace, attack.body)
    elif attack.verb == "delete":
        await api.delete(attack.kind, attack.name, attack.namespace)
    elif attack.verb == "deletecollection":
        await api.delete_all(attack.kind, attack.namespace or "")
    elif attack.verb == "list":
        await api.list(attack.kind, attack.namespace)
    elif attack.verb == "approve":
        said = {"type": "Approved", "status": "True", "reason": "x", "message": "x"}
        await api.patch(attack.kind, attack.name, None, {"status": {"conditions": [said]}}, subresource="approval")
    else:
        await api.patch(attack.kind, attack.name, attack.namespace, attack.body, subresource=attack.verb)


@pytest.mark.parametrize("attack", [*stolen.ATTACKS, *stolen_wishes.ATTACKS], ids=lambda attack: attack.id)
async def test_a_thief_of_the_operators_token_does_not_get(thief: Api, attack: Attack) -> None:
    with pytest.raises((Forbidden, Invalid), match=attack.refused):
        await send(thief, attack)


async def test_where_a_user_has_a_job_the_operator_writes(thief: Api, targets: Api) -> None:
    """What the policies let through; all of it is in the other tests of the operator, which run under them too."""
    for kind, name, body in (
        (kinds.STATEFUL_SET, "x-k3s", claiming("data")),
        (kinds.SECRET, "x", {}),
        (kinds.SERVICE_ACCOUNT, "x-syncer", {}),
        (kinds.ROLE_BINDING, "x", binding("nestor-syncer", account("x-syncer", HOME))),
    ):
        await thief.create(kind, body_of(kind, name, HOME, body))
        await targets.delete(kind, name, HOME)
    kubeconfig = body_of(kinds.SECRET, "x-kubeconfig", USER, {"type": "Opaque"}, labels.of_job("x", USER, "1"))
    await thief.create(kinds.SECRET, kubeconfig)
    await targets.delete(kinds.SECRET, "x-kubeconfig", USER)
    kept = {"metadata": {"labels": {labels.JOB: "hello"}, "annotations": {labels.NESTED_NAME: "data"}}}
    await thief.patch(kinds.VOLUME_SNAPSHOT_CONTENT, "of-job", None, kept | {"spec": {"deletionPolicy": "Retain"}})
    made = {"metadata": {"name": "nestor-y", "labels": {labels.JOB_UID: "9"} | BASELINE}}
    await thief.create(kinds.NAMESPACE, made)
    await exists(targets, kinds.SERVICE_ACCOUNT, "default", "nestor-y")
    await thief.create(kinds.POD, body_of(kinds.POD, "x", "nestor-y", {"spec": POD}))
    await thief.delete(kinds.NAMESPACE, "nestor-y")


async def test_the_operator_writes_its_finalizer_and_what_marks_a_volume(thief: Api) -> None:
    for kind, name, namespace in ((kinds.NESTED_APP_JOB, "theirs", USER), (kinds.OVERFLOW_BACKEND, "theirs", None)):
        for finalizers in ([labels.FINALIZER], []):
            await thief.patch(kind, name, namespace, {"metadata": {"finalizers": finalizers}})
    kept = {"labels": {labels.JOB: "hello", labels.JOB_NAMESPACE: USER}, "annotations": {labels.NESTED_NAME: "data"}}
    body = {"metadata": kept, "spec": {"persistentVolumeReclaimPolicy": "Retain"}}
    await thief.patch(kinds.PERSISTENT_VOLUME, "of-job", None, body)
    await thief.patch(kinds.PERSISTENT_VOLUME, "left", None, given("nestor-owner-hello-00000002"))


async def test_the_operator_runs_a_backend_and_reserves_the_names_of_its_nodes(thief: Api, targets: Api) -> None:
    await thief.create(kinds.DEPLOYMENT, body_of(kinds.DEPLOYMENT, "vnode-x", SYSTEM, deployment()))
    await targets.delete(kinds.DEPLOYMENT, "vnode-x", SYSTEM)
    # A machine that has come since then is no reason to refuse others.
    reserved = {"data": {"virtual": RESERVED, "late": RESERVED}}
    await thief.patch(kinds.CONFIG_MAP, vnode.RESERVED_CONFIG_MAP, SYSTEM, reserved)
    await targets.patch(kinds.CONFIG_MAP, vnode.RESERVED_CONFIG_MAP, SYSTEM, {"data": {"virtual": None}})


async def test_the_operator_keeps_the_workloads_of_its_jobs(thief: Api, targets: Api) -> None:
    owner = await refer_to_job(targets)
    body = {"metadata": {"ownerReferences": [owner]}, "spec": workload(*SETS)}
    await thief.create(kueue.WORKLOAD, body_of(kueue.WORKLOAD, "x", USER, body))
    await thief.patch(kueue.WORKLOAD, "x", USER, {"spec": {"priority": 5}})
    found = await targets.patch(kueue.WORKLOAD, "x", USER, admitted(*SETS), subresource="status")
    ready = [*found["status"]["conditions"], kueue.say("PodsReady", "True", "Started")]
    await thief.patch(kueue.WORKLOAD, "x", USER, {"status": {"conditions": ready}}, subresource="status")
    said = [kueue.say(kind, "False", "Pending") for kind in ("QuotaReserved", "Admitted")]
    await thief.patch(kueue.WORKLOAD, "x", USER, {"status": {"admission": None, "conditions": said}}, subresource="status")
    assert await thief.delete(kueue.WORKLOAD, "x", USER)
    await thief.patch(kueue.WORKLOAD, "beforehand", USER, {"metadata": {"ownerReferences": [owner]}})
    await targets.patch(kueue.WORKLOAD, "beforehand", USER, {"metadata": {"ownerReferences": None}})


async def test_what_remains_is_what_the_docs_say(thief: Api) -> None:
    """Held against docs/hardening.md: reads by name, and namespaces of jobs."""
    assert (await thief.get(kinds.SECRET, "theirs", STRANGER))["metadata"]["name"] == "theirs"
    assert await thief.delete(kinds.POD, "none", STRANGER) is False
