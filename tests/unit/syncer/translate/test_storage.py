"""What of StorageClasses, claims and volumes is carried."""

from typing import Any

import pytest

from nestor.api import names
from nestor.api.allowances import Storage
from nestor.api.objects import Object
from nestor.syncer.translate import storage
from tests.unit.pods.translate.builders import TARGET

ALLOWED = Storage(classes=["slow", "fast"])
NAME = names.host_name("data", "shop")


def build_claim(**spec: Any) -> Object:
    return {
        "metadata": {"name": "data", "namespace": "shop", "uid": "claim-uid", "labels": {"app": "db"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "volumeMode": "Filesystem",
            "resources": {"requests": {"storage": "1Gi"}},
            **spec,
        },
    }


def build_host(claim: Object | None = None, **status: Any) -> Object:
    """The host's claim, bound."""
    host = storage.build_claim(claim or build_claim(), TARGET, "data-1")
    host["metadata"]["uid"] = "host-uid"
    host["spec"]["volumeName"] = "pvc-1"
    host["status"] = {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **status}
    return host


@pytest.mark.parametrize(
    ("spec", "allowed", "is_own", "message"),
    [
        ({}, ALLOWED, False, None),
        ({}, Storage(), False, "`spec.storageClassName` may not be 'fast': the class allows no persistent volumes"),
        ({}, ALLOWED, True, "StorageClass 'fast' of this cluster is not the host cluster's"),
        ({"storageClassName": "other"}, ALLOWED, False,
         "`spec.storageClassName` may not be 'other': the class allows 'slow', 'fast'"),
        ({"storageClassName": None}, ALLOWED, False, "`spec.storageClassName` is not set"),
        ({"storageClassName": ""}, ALLOWED, False, "`spec.storageClassName` is not set"),
        ({"volumeName": "pv"}, ALLOWED, False, "`spec.volumeName` is 'pv', but the host cluster has no volume for this claim"),
        ({"volumeMode": "Block"}, ALLOWED, False, "`spec.volumeMode` may not be 'Block'"),
        ({"volumeMode": "Block"}, Storage(classes=["fast"], block_volumes=True), False, None),
        ({"selector": {"matchLabels": {}}}, ALLOWED, False, "`spec.selector` may not be set"),
        ({"volumeAttributesClassName": "gold"}, ALLOWED, False, "`spec.volumeAttributesClassName` may not be set"),
        ({"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}, ALLOWED, False, None),
        ({"dataSourceRef": {"kind": "VolumeSnapshot", "apiGroup": "x", "name": "a"}}, ALLOWED, False,
         "`spec.dataSourceRef` may not"),
        ({"dataSourceRef": {"kind": "PersistentVolumeClaim", "namespace": "other"}}, ALLOWED, False,
         "`spec.dataSourceRef` may not"),
    ],
)  # fmt: skip
def test_what_gets_no_volume(spec: Object, allowed: Storage, is_own: bool, message: str | None) -> None:
    found = "; ".join(storage.find_refusals(build_claim(**spec), allowed, is_own_class=is_own)) or None
    assert found == message if message is None or found is None else found.startswith(message)


def test_the_host_s_claim_has_what_decides_about_its_volume_and_nothing_else() -> None:
    claim = build_claim(
        dataSource={"kind": "PersistentVolumeClaim", "name": "old"},
        dataSourceRef={"kind": "PersistentVolumeClaim", "name": "old"},
        resources={"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}},
        volumeName="of-the-nested-cluster",
    )
    found = storage.build_claim(claim, TARGET, "data-1")
    assert found["metadata"]["name"] == NAME
    assert found["metadata"]["annotations"]["nestor.dev/nested-data"] == "data-1"
    assert "app" not in found["metadata"]["labels"]
    assert found["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}},
        "dataSource": {"kind": "PersistentVolumeClaim", "name": names.host_name("old", "shop")},
    }


def bound(**status: Any) -> Object:
    return build_claim(volumeName="pvc-1") | {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, **status}}


OTHER = build_claim() | {"metadata": build_claim()["metadata"] | {"uid": "other"}}
RESIZING = {"type": "Resizing", "status": "True", "message": f"claim {NAME} in {TARGET.namespace}"}
TOLD = RESIZING | {"message": "claim data in shop"}


@pytest.mark.parametrize(
    ("nested", "host", "patch"),
    [
        (bound(), build_host(), None),
        (build_claim(), build_host(capacity={"storage": "2Gi"}), None),
        (bound(), build_host() | {"status": {"phase": "Lost"}}, None),
        (bound(), build_host(OTHER, capacity={"storage": "2Gi"}), None),
        (bound(), build_host(capacity={"storage": "2Gi"}), {"capacity": {"storage": "2Gi"}}),
        (bound(), build_host(conditions=[RESIZING]), {"conditions": [TOLD]}),
        (bound(conditions=[TOLD]), build_host(conditions=[RESIZING]), None),
        (bound(conditions=[TOLD]), build_host(), {"conditions": None}),
        (bound(), build_host(allocatedResources={"storage": "2Gi"}), {"allocatedResources": {"storage": "2Gi"}}),
    ],
)
def test_only_what_differs_comes_up_once_both_are_bound(nested: Object, host: Object, patch: Object | None) -> None:
    found = storage.lift_status(nested, host, TARGET)
    assert found == (None if patch is None else {"status": patch})
