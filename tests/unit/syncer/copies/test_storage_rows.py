"""Claims, volumes and StorageClasses between two clusters in memory."""

from typing import Any

import pytest

from nestor.api import labels, names
from nestor.api.objects import Object
from nestor.kube import NotFound, RetryLater, kinds
from nestor.syncer.copies.rows.classes import StorageClassRow
from nestor.syncer.copies.rows.storage import ClaimRow, VolumeRow
from tests.unit.pods.translate.builders import TARGET
from tests.unit.syncer.copies.pair import HOST, SPACE, Clusters, Running, remembered, running

CLAIM, VOLUME, CLASS = kinds.PERSISTENT_VOLUME_CLAIM, kinds.PERSISTENT_VOLUME, kinds.STORAGE_CLASS


def build(*, data: str = "first", classes: tuple[str, ...] = ("fast",)) -> Clusters:
    """With a StorageClass that the policy allows, and the namespace that tells a nested cluster's data."""
    clusters = Clusters.build(storage={"classes": list(classes)})
    clusters.nested.put(kinds.NAMESPACE, {"metadata": {"name": "kube-system", "uid": data}})
    clusters.host.put(CLASS, {"metadata": {"name": "fast"}, "provisioner": "disks.example.org"})
    return clusters


def claim(**spec: Any) -> Object:
    wanted = {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": "data", "namespace": SPACE}, "spec": wanted | spec}


def copy(clusters: Clusters) -> Any:
    return clusters.copy(CLAIM, "data")


def bind(clusters: Clusters, volume: str = "pvc-1") -> Object:
    """Play the host's binder."""
    found: Any = copy(clusters)
    status = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    return clusters.host.put(CLAIM, found | {"spec": found["spec"] | {"volumeName": volume}, "status": status})


async def put_bound(clusters: Clusters, made: Running) -> Object:
    """A claim whose copy the host has bound. Returns it as it was before that."""
    nested = clusters.nested.put(CLAIM, claim())
    await made.settle()
    bind(clusters)
    await made.settle()
    return nested


async def test_a_claim_that_is_bound_has_a_shadow_of_its_volume_until_it_goes() -> None:
    clusters = build()
    async with running(clusters, ClaimRow, VolumeRow, StorageClassRow) as made:
        nested = await put_bound(clusters, made)
        volume: Any = clusters.nested.look(VOLUME, "pvc-1")
        assert volume["spec"]["claimRef"]["uid"] == nested["metadata"]["uid"]
        await made.drop_nested(CLAIM, "data", SPACE)
        assert copy(clusters) is None
        assert clusters.nested.look(VOLUME, "pvc-1") is None
        assert [remembered(engine) for engine in made.engines] == [0, 0, 0]


async def test_a_volume_that_is_lost_loses_its_finalizer_though_the_news_of_its_claim_are_late() -> None:
    """The nested binder has bound the claim: with the finalizer, the volume would stay as long as that."""
    clusters = build()
    async with running(clusters, ClaimRow, VolumeRow, StorageClassRow) as made:
        nested = await put_bound(clusters, made)
        clusters.nested.hold(CLAIM)
        clusters.nested.put(CLAIM, nested | {"spec": nested["spec"] | {"volumeName": "pvc-1"}, "status": {"phase": "Bound"}})
        lost: Any = copy(clusters)
        await made.drop_host(CLAIM, lost["metadata"]["name"], HOST)
        assert clusters.nested.look(VOLUME, "pvc-1") is None
        assert "PATCH persistentvolumes pvc-1" in clusters.nested.asked


async def test_a_claim_gets_its_volume_again_after_the_nested_cluster_has_lost_its_data() -> None:
    clusters = build()
    async with running(clusters, ClaimRow, VolumeRow, StorageClassRow) as made:
        await made.put_nested(CLAIM, claim())
        before = bind(clusters)
    fresh = build(data="second")
    fresh.host.go_on_from(clusters.host)
    async with running(fresh, ClaimRow, VolumeRow, StorageClassRow) as made:
        there: Any = copy(fresh)
        assert there["metadata"]["uid"] == before["metadata"]["uid"]  # nobody has asked for its end
        fresh.allow()  # and what is there needs no permission
        nested = fresh.nested.put(CLAIM, claim())
        await made.settle()
        there = copy(fresh)
        assert there["metadata"]["uid"] == before["metadata"]["uid"]
        assert there["metadata"]["labels"][labels.NESTED_UID] == nested["metadata"]["uid"]
        assert there["metadata"]["annotations"][labels.NESTED_DATA] == "second"
        volume: Any = fresh.nested.look(VOLUME, "pvc-1")
        assert volume["spec"]["claimRef"]["uid"] == nested["metadata"]["uid"]
        fresh.nested.drop(CLAIM, "data", SPACE)
        await made.settle()
        assert copy(fresh) is None


async def test_a_claim_gets_the_volume_that_the_operator_has_taken_up_for_it_if_it_fits() -> None:
    clusters = build()
    async with running(clusters, ClaimRow, VolumeRow, StorageClassRow) as made:
        name = names.host_name("data", SPACE)
        own = {labels.MANAGED_BY: "nestor", labels.CLUSTER: TARGET.cluster, labels.NESTED_UID: ""}
        notes = {labels.NESTED_NAME: "data", labels.NESTED_NAMESPACE: SPACE, labels.VOLUMES_FROM: "shop"}
        taken = claim(resources={"requests": {"storage": "5Gi"}}, volumeMode="Filesystem")
        clusters.host.put(CLAIM, taken | {"metadata": {"name": name, "namespace": HOST, "labels": own, "annotations": notes}})
        await made.put_nested(CLAIM, claim(accessModes=["ReadWriteMany"], volumeMode="Filesystem"))
        ((reason, message),) = clusters.events
        assert (reason, message.count('`spec.accessModes: ["ReadWriteOnce"]`')) == ("ClaimRefused", 1)
        assert copy(clusters)["metadata"]["labels"][labels.NESTED_UID] == ""
        await made.drop_nested(CLAIM, "data", SPACE)
        nested = clusters.nested.put(CLAIM, claim(volumeMode="Filesystem"))
        await made.settle()
        found = copy(clusters)
        assert found["metadata"]["labels"][labels.NESTED_UID] == nested["metadata"]["uid"]
        assert found["spec"]["resources"]["requests"]["storage"] == "5Gi", "a claim cannot be smaller than its volume"


async def test_nothing_is_decided_before_the_nested_cluster_can_be_told_from_an_earlier_one() -> None:
    clusters = build()
    clusters.nested.drop(kinds.NAMESPACE, "kube-system", "")
    async with running(clusters, ClaimRow, StorageClassRow) as made:
        await made.put_nested(CLAIM, claim())
        assert copy(clusters) is None
        with pytest.raises(RetryLater):
            await made.engines[0].ensure((SPACE, "data"))
        clusters.nested.put(kinds.NAMESPACE, {"metadata": {"name": "kube-system", "uid": "first"}})
        await made.until(lambda: copy(clusters))


async def test_pods_wait_for_a_claim_for_a_moment_and_are_then_told() -> None:
    clusters = build()
    async with running(clusters, ClaimRow, StorageClassRow) as made:
        pod = clusters.add_pod(
            volumes=[{"name": "a", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "b", "ephemeral": {"x": {}}}]
        )
        engine = made.engines[0]
        assert list(engine.row.find_needs(pod)) == [(SPACE, "data"), (SPACE, "web-b")]
        for _ in range(40):
            with pytest.raises(RetryLater):
                await engine.ensure((SPACE, "data"))
        with pytest.raises(NotFound, match='persistentvolumeclaim "data" not found'):
            await engine.ensure((SPACE, "data"))
        clusters.nested.put(CLAIM, claim())
        await engine.ensure((SPACE, "data"))
        assert copy(clusters) is not None


async def test_claims_of_a_tenant_s_own_storage_class_stay_his() -> None:
    clusters = build()
    clusters.nested.put(CLASS, {"metadata": {"name": "fast"}, "provisioner": "own.example.org"})
    async with running(clusters, ClaimRow, StorageClassRow) as made:
        await made.put_nested(CLAIM, claim())
        ((reason, message),) = clusters.events
        assert reason == "ClaimRefused"
        assert message.startswith("StorageClass 'fast' of this cluster is not the host cluster's")
        clusters.nested.drop(CLASS, "fast", "")
        await made.until(lambda: copy(clusters))


async def test_a_claim_that_is_being_deleted_gets_no_volume_any_more() -> None:
    clusters = build()
    async with running(clusters, ClaimRow, StorageClassRow) as made:
        body = claim()
        body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        await made.put_nested(CLAIM, body)
        assert copy(clusters) is None


async def test_a_claim_is_filled_from_claims_of_its_own_cluster_alone() -> None:
    """In a user's namespace there may be claims of others, and of other nested clusters, that have such a name."""
    clusters = build()
    clusters.add_foreign(CLAIM, "old", spec={})
    source = {"kind": "PersistentVolumeClaim", "name": "old"}
    clusters.nested.put(CLAIM, claim(dataSource=source, dataSourceRef=source))
    async with running(clusters, ClaimRow) as made:
        assert copy(clusters) is None
        message = "it is to be filled from claim 'old', which has no volume of the host cluster"
        assert clusters.events == [("ClaimRefused", message)]
        clusters.host.drop(CLAIM, names.host_name("old", SPACE), HOST)
        clusters.nested.put(CLAIM, claim() | {"metadata": {"name": "old", "namespace": SPACE}})
        await made.until(lambda: copy(clusters))
        assert copy(clusters)["spec"]["dataSource"]["name"] == names.host_name("old", SPACE)
