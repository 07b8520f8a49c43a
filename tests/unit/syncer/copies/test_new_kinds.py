"""Kinds that are to come, as a row each: nothing of the engine or the caches knows them."""

from __future__ import annotations

from typing import Any

from nestor.api.objects import Object, status_of
from nestor.kube import Kind, kinds
from nestor.kube.informer import Key
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, value
from nestor.syncer.copies.row import Row
from tests.unit.syncer.copies.pair import SPACE, Clusters, running

STORAGE_CLASS = Kind("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)


class ClaimRow(Row):
    """Down, with its status up, and only where the size is allowed."""

    kind = kinds.PERSISTENT_VOLUME_CLAIM
    refused = "ClaimRefused"
    fields = (LABELS, ANNOTATIONS, value("spec.size"))

    def find_refusal(self, source: Object) -> str | None:
        return "`spec.size` may not be above 10" if source["spec"]["size"] > 10 else None

    def build(self, source: Object) -> Object:
        metadata = self.context.target.metadata(source)
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": source["spec"]}

    def lift(self, source: Object, copy: Object) -> Object | None:
        phase = status_of(copy).get("phase")
        return {"status": {"phase": phase}} if phase and phase != status_of(source).get("phase") else None


class StorageClassRow(Row):
    """Up, without a namespace, and only where it is allowed."""

    kind = STORAGE_CLASS
    direction = "Up"
    fields = (LABELS, value("provisioner"))

    def is_wanted(self, key: Key, source: Object) -> bool:
        return key[1] in ("fast", "slow")

    def build(self, source: Object) -> Object:
        marks = {"app.kubernetes.io/managed-by": "nestor"}
        meta = {"name": source["metadata"]["name"], "labels": marks}
        return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": meta, "provisioner": source["provisioner"]}


def claim(size: int) -> Object:
    return {"metadata": {"name": "data", "namespace": SPACE}, "spec": {"size": size}}


def storage_class(name: str, provisioner: str = "host") -> Object:
    return {"metadata": {"name": name}, "provisioner": provisioner}


async def test_a_claim_goes_down_and_its_status_comes_up() -> None:
    clusters = Clusters.build()
    async with running(clusters, ClaimRow) as made:
        clusters.nested.put(kinds.PERSISTENT_VOLUME_CLAIM, claim(1))
        await made.settle()
        copy: Any = clusters.copy(kinds.PERSISTENT_VOLUME_CLAIM, "data")
        assert copy["spec"] == {"size": 1}
        clusters.host.put(kinds.PERSISTENT_VOLUME_CLAIM, copy | {"status": {"phase": "Bound"}})
        await made.settle()
        nested: Any = clusters.nested.look(kinds.PERSISTENT_VOLUME_CLAIM, "data", SPACE)
        assert nested["status"] == {"phase": "Bound"}
        assert clusters.nested.asked == ["PATCH persistentvolumeclaims shop/data/status"]
        # The UID keeps it from a successor of the same name.
        assert clusters.nested.bodies[-1] == {"metadata": {"uid": nested["metadata"]["uid"]}, "status": {"phase": "Bound"}}
        clusters.nested.put(kinds.PERSISTENT_VOLUME_CLAIM, claim(2))
        await made.settle()
        copy = clusters.copy(kinds.PERSISTENT_VOLUME_CLAIM, "data")
        assert copy["spec"] == {"size": 2}


async def test_a_claim_that_is_refused_is_told_and_has_a_copy_only_while_it_is_not() -> None:
    clusters = Clusters.build()
    clusters.nested.put(kinds.PERSISTENT_VOLUME_CLAIM, claim(11))
    async with running(clusters, ClaimRow) as made:
        assert clusters.events == [("ClaimRefused", "`spec.size` may not be above 10")]
        assert clusters.copy(kinds.PERSISTENT_VOLUME_CLAIM, "data") is None
        clusters.nested.put(kinds.PERSISTENT_VOLUME_CLAIM, claim(9))
        await made.settle()
        assert clusters.copy(kinds.PERSISTENT_VOLUME_CLAIM, "data") is not None
        clusters.nested.put(kinds.PERSISTENT_VOLUME_CLAIM, claim(12))
        await made.settle()
        assert clusters.copy(kinds.PERSISTENT_VOLUME_CLAIM, "data") is None


async def test_storage_classes_come_up_by_policy_and_those_of_the_tenant_stay() -> None:
    clusters = Clusters.build(STORAGE_CLASS)
    for name in ("fast", "slow", "secret"):
        clusters.host.put(STORAGE_CLASS, storage_class(name))
    clusters.nested.put(STORAGE_CLASS, storage_class("slow", "tenant"))
    async with running(clusters, StorageClassRow) as made:
        fast, slow = (clusters.nested.look(STORAGE_CLASS, name) for name in ("fast", "slow"))
        assert fast is not None
        assert slow is not None
        assert (fast["provisioner"], slow["provisioner"]) == ("host", "tenant")
        assert clusters.nested.look(STORAGE_CLASS, "secret") is None
        clusters.host.put(STORAGE_CLASS, storage_class("fast", "other"))
        await made.settle()
        fast = clusters.nested.look(STORAGE_CLASS, "fast")
        assert fast is not None
        assert fast["provisioner"] == "other"
        clusters.host.drop(STORAGE_CLASS, "fast")
        await made.settle()
        assert clusters.nested.look(STORAGE_CLASS, "fast") is None
