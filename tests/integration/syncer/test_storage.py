"""Claims of nested clusters get volumes of the host, by the StorageClasses that the class allows. Tests play the provisioner."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from nestor.api import names
from nestor.api.objects import Object
from nestor.kube import Api, Kind, kinds
from tests.integration.syncer.pods import build_pod, condition, start
from tests.integration.syncer.world import World
from tests.waiting import until

FAST, SLOW, HIDDEN = "fast", "slow", "hidden"
DEFAULT = "storageclass.kubernetes.io/is-default-class"
CLAIM, VOLUME = kinds.PERSISTENT_VOLUME_CLAIM, kinds.PERSISTENT_VOLUME


async def _is_gone(world: World, name: str) -> bool:
    return await world.nested.find(kinds.STORAGE_CLASS, name) is None


@pytest.fixture
async def classes(world: World) -> AsyncIterator[None]:
    """The host has three StorageClasses, of which the class allows two."""
    for name in (FAST, SLOW, HIDDEN):
        body = {
            "metadata": {"name": name},
            "provisioner": "example.org/disks",
            "parameters": {"secret": "of-the-host"},
            "volumeBindingMode": "WaitForFirstConsumer" if name == SLOW else "Immediate",
            "allowVolumeExpansion": True,
        }
        await world.host.apply(kinds.STORAGE_CLASS, body)
    await world.allow(storage={"classes": [SLOW, FAST]})
    for name in (FAST, SLOW):
        await is_so(world, world.nested, kinds.STORAGE_CLASS, name, None, bool)
    yield
    await world.allow(storage=None)
    for name in (FAST, SLOW):  # so that the next test does not take them for its own
        await world.eventually(partial(_is_gone, world, name))


def claim(space: str, name: str = "data", *, size: str = "1Gi", **spec: Any) -> Object:
    """A nested claim."""
    resources = {"requests": {"storage": size}}
    return {
        "metadata": {"name": name, "namespace": space},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources, "storageClassName": FAST} | spec,
    }


def using(name: str) -> Object:
    """The volumes of a pod that uses this claim."""
    return {"volumes": [{"name": "disk", "persistentVolumeClaim": {"claimName": name}}]}


async def provision(world: World, host: Object, size: str = "1Gi") -> str:
    """Play the provisioner: a volume for this host claim, to which the host's binder then binds it."""
    meta, spec = host["metadata"], host["spec"]
    name = f"pvc-{meta['uid']}"
    ref = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": meta["namespace"], "name": meta["name"]}
    volume = {
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": spec["accessModes"],
            "storageClassName": spec["storageClassName"],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": ref | {"uid": meta["uid"]},
            "csi": {"driver": "disks.example.org", "volumeHandle": "disk-1"},
        },
    }
    await world.host.create(VOLUME, volume)
    return name


async def is_so(world: World, api: Api, kind: Kind, name: str, namespace: str | None, check: Any) -> Object:
    """The object, once `check` is true for it."""
    return await until(lambda: api.find(kind, name, namespace), lambda found: found is not None and check(found))


def is_bound(found: Object) -> bool:
    """Whether a claim has its volume."""
    return bool(found.get("status", {}).get("phase") == "Bound")


async def bound(world: World, space: str, body: Object) -> tuple[Object, Object]:
    """A nested claim and its host claim, both bound."""
    name = (await world.nested.create(CLAIM, body))["metadata"]["name"]
    await provision(world, await world.host_object(CLAIM, name, space))
    nested = await is_so(world, world.nested, CLAIM, name, space, is_bound)
    return nested, await world.host_object(CLAIM, name, space)


async def refusals(world: World, space: str, name: str, reason: str = "ClaimRefused") -> list[str]:
    """What was said about one object, once there is something."""

    async def look() -> list[str]:
        found = await world.nested.list(kinds.EVENT, space, fields=f"involvedObject.name={name}")
        return [item["message"] for item in found if item["reason"] == reason]

    return await world.eventually(look)


@pytest.mark.usefixtures("classes")
async def test_the_nested_cluster_has_the_storage_classes_that_its_class_allows(world: World) -> None:
    fast, slow = [await world.nested.get(kinds.STORAGE_CLASS, name) for name in (FAST, SLOW)]
    assert DEFAULT not in fast["metadata"]["annotations"]
    assert slow["metadata"]["annotations"][DEFAULT] == "true"
    assert slow["volumeBindingMode"] == "WaitForFirstConsumer"
    assert fast["allowVolumeExpansion"] is True
    assert "parameters" not in fast
    await world.heard()
    assert await world.nested.find(kinds.STORAGE_CLASS, HIDDEN) is None

    await world.allow(storage={"classes": [FAST]})
    await is_so(world, world.nested, kinds.STORAGE_CLASS, FAST, None, lambda found: DEFAULT in found["metadata"]["annotations"])
    await world.gone(world.nested, kinds.STORAGE_CLASS, slow)
    # Deleted by the tenant, or changed: it comes back as it was.
    await world.nested.delete(kinds.STORAGE_CLASS, FAST)
    await is_so(
        world, world.nested, kinds.STORAGE_CLASS, FAST, None, lambda found: found["metadata"]["uid"] != fast["metadata"]["uid"]
    )
    await world.nested.patch(kinds.STORAGE_CLASS, FAST, None, {"allowVolumeExpansion": False})
    await is_so(world, world.nested, kinds.STORAGE_CLASS, FAST, None, lambda found: found["allowVolumeExpansion"])


@pytest.mark.usefixtures("classes")
async def test_a_claim_is_bound_as_its_copy_is_and_the_pod_gets_that(world: World, space: str) -> None:
    await world.nested.create(CLAIM, claim(space))
    nested, host = await start(world, build_pod(space, **using("data")))
    assert host["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] == names.host_name("data", space)
    copy = await world.host_object(CLAIM, "data", space)
    assert copy["spec"]["resources"]["requests"] == {"storage": "1Gi"}
    volume = await provision(world, copy, size="2Gi")
    found = await is_so(world, world.nested, CLAIM, "data", space, is_bound)
    assert found["spec"]["volumeName"] == volume
    assert found["status"]["capacity"] == {"storage": "2Gi"}
    assert found["status"]["accessModes"] == ["ReadWriteOnce"]
    shadow = await world.nested.get(VOLUME, volume)
    assert shadow["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert shadow["spec"]["claimRef"]["uid"] == found["metadata"]["uid"]
    assert "disk-1" not in str(shadow)

    # The volume survives its pod, and goes with its claim.
    await world.nested.delete(kinds.POD, "web", space, grace_seconds=0)
    await world.finish(host)
    await world.gone(world.nested, kinds.POD, nested)
    assert await world.host.find(CLAIM, copy["metadata"]["name"], world.namespace) is not None
    await world.nested.delete(CLAIM, "data", space)
    await world.gone(world.host, CLAIM, copy)
    await world.gone(world.nested, VOLUME, shadow)
    await world.heard()
    assert await world.nested.find(CLAIM, "data", space) is None
    assert (await world.host.get(VOLUME, volume))["status"]["phase"] in ("Bound", "Released")


@pytest.mark.usefixtures("classes")
async def test_a_claim_can_grow(world: World, space: str) -> None:
    await bound(world, space, claim(space))
    await world.nested.patch(CLAIM, "data", space, {"spec": {"resources": {"requests": {"storage": "3Gi"}}}})
    name = names.host_name("data", space)
    copy = await is_so(
        world, world.host, CLAIM, name, world.namespace, lambda found: found["spec"]["resources"]["requests"]["storage"] == "3Gi"
    )
    status: Object = {
        "allocatedResources": {"storage": "3Gi"},
        "allocatedResourceStatuses": {"storage": "ControllerResizeInProgress"},
        "conditions": [{"type": "Resizing", "status": "True", "message": f"claim {name}"}],
    }
    await world.host.patch(CLAIM, name, world.namespace, {"status": status}, subresource="status")
    seen = await is_so(world, world.nested, CLAIM, "data", space, lambda found: found["status"].get("conditions"))
    assert seen["status"]["conditions"][0]["message"] == "claim data"
    assert seen["status"]["allocatedResources"] == {"storage": "3Gi"}
    assert seen["status"]["capacity"] == {"storage": "1Gi"}

    done = {"capacity": {"storage": "3Gi"}, "conditions": None, "allocatedResourceStatuses": None, "allocatedResources": None}
    await world.host.patch(CLAIM, name, world.namespace, {"status": done}, subresource="status")

    def has_grown(found: Object) -> bool:
        """Also the nested binder writes the capacity, by the volume's."""
        return found["status"]["capacity"] == {"storage": "3Gi"} and not found["status"].get("conditions")

    await is_so(world, world.nested, CLAIM, "data", space, has_grown)
    volume = copy["spec"]["volumeName"]
    await is_so(world, world.nested, VOLUME, volume, None, lambda found: found["spec"]["capacity"] == {"storage": "3Gi"})


@pytest.mark.usefixtures("classes")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"storageClassName": HIDDEN}, "`spec.storageClassName` may not be 'hidden': the class allows 'slow', 'fast'"),
        ({"storageClassName": ""}, "`spec.storageClassName` is not set"),
        ({"volumeMode": "Block"}, "`spec.volumeMode` may not be 'Block'"),
        ({"selector": {"matchLabels": {"a": "b"}}}, "`spec.selector` may not be set"),
        ({"volumeName": "pv-of-somebody"}, "`spec.volumeName` is 'pv-of-somebody'"),
        (
            {"dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "x"}},
            "`spec.dataSource` may not be a VolumeSnapshot",
        ),
    ],
    ids=["class", "static", "block", "selector", "volume", "snapshot"],
)
async def test_what_gets_no_volume_says_so_and_so_does_its_pod(world: World, space: str, spec: Object, message: str) -> None:
    await world.nested.create(CLAIM, claim(space) | {"spec": claim(space)["spec"] | spec})
    nested = await world.nested.create(kinds.POD, build_pod(space, **using("data")))
    (told,) = await refusals(world, space, "data")
    assert told.startswith(message)
    seen = await world.nested_pod(nested, lambda pod: condition(pod, "PodScheduled").get("reason") == "PodRefused")
    assert condition(seen, "PodScheduled")["message"] == f"PersistentVolumeClaim 'data': {told}"
    await world.heard()
    assert await world.host.find(CLAIM, names.host_name("data", space), world.namespace) is None


@pytest.mark.usefixtures("classes")
async def test_a_successor_gets_a_volume_of_its_own(world: World, space: str) -> None:
    """Also while the host still holds the predecessor's."""
    nested, host = await bound(world, space, claim(space))
    name = host["metadata"]["name"]
    hold = {"metadata": {"finalizers": ["example.org/hold", *host["metadata"].get("finalizers", [])]}}
    await world.host.patch(CLAIM, name, world.namespace, hold)
    await world.nested.delete(CLAIM, "data", space)
    await world.gone(world.nested, CLAIM, nested)
    successor = await world.nested.create(CLAIM, claim(space))
    await is_so(world, world.host, CLAIM, name, world.namespace, lambda found: found["metadata"].get("deletionTimestamp"))
    held = await world.host.get(CLAIM, name, world.namespace)
    assert held["metadata"]["labels"]["nestor.dev/nested-uid"] == nested["metadata"]["uid"]
    await world.host.patch(CLAIM, name, world.namespace, {"metadata": {"finalizers": None}})
    other = await is_so(
        world, world.host, CLAIM, name, world.namespace, lambda found: found["metadata"]["uid"] != host["metadata"]["uid"]
    )
    assert other["metadata"]["labels"]["nestor.dev/nested-uid"] == successor["metadata"]["uid"]
    assert "volumeName" not in other["spec"]


@pytest.mark.usefixtures("classes")
async def test_a_volume_that_the_host_takes_away_is_lost_and_not_replaced_in_silence(world: World, space: str) -> None:
    nested, host = await bound(world, space, claim(space))
    await world.heard()
    await world.host.delete(CLAIM, host["metadata"]["name"], world.namespace)
    await is_so(world, world.nested, CLAIM, "data", space, lambda found: found["status"]["phase"] == "Lost")
    (told,) = await refusals(world, space, "data")
    assert told.startswith(f"`spec.volumeName` is '{nested['spec']['volumeName']}', but the host cluster has no volume")
    await world.heard()
    assert await world.host.find(CLAIM, host["metadata"]["name"], world.namespace) is None


@pytest.mark.usefixtures("classes")
async def test_a_restart_in_the_middle_finds_what_has_happened(world: World, space: str) -> None:
    await world.nested.create(CLAIM, claim(space, "early"))
    early = await world.host_object(CLAIM, "early", space)
    gone, gone_host = await bound(world, space, claim(space, "gone"))
    await world.stop()
    try:
        volume = await provision(world, early)
        await world.nested.create(CLAIM, claim(space, "late"))
        await world.nested.delete(CLAIM, "gone", space)
        await world.gone(world.nested, CLAIM, gone)
    finally:
        await world.start()
    found = await is_so(world, world.nested, CLAIM, "early", space, is_bound)
    assert found["spec"]["volumeName"] == volume
    await world.host_object(CLAIM, "late", space)
    await world.gone(world.host, CLAIM, gone_host)
    await until(lambda: world.nested.find(VOLUME, gone["spec"]["volumeName"]), lambda found: found is None)


@pytest.mark.usefixtures("classes")
async def test_events_of_the_host_claim_come_up(world: World, space: str) -> None:
    await world.nested.create(CLAIM, claim(space))
    copy = await world.host_object(CLAIM, "data", space)
    meta = copy["metadata"]
    body = {
        "metadata": {"name": "data.1", "namespace": world.namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "name": meta["name"],
            "namespace": meta["namespace"],
            "uid": meta["uid"],
        },
        "type": "Warning",
        "reason": "ProvisioningFailed",
        "message": f'no disk for claim "{world.namespace}/{meta["name"]}"',
        "source": {"component": "example.org/disks"},
    }
    await world.host.create(kinds.EVENT, body)
    (told,) = await refusals(world, space, "data", "ProvisioningFailed")
    assert told == f'no disk for claim "{space}/data"'
    # The nested binder's own, once.
    assert len(await refusals(world, space, "data", "ExternalProvisioning")) == 1


@pytest.mark.usefixtures("classes")
async def test_a_quota_s_refusal_is_told(world: World, space: str) -> None:
    quota = {"metadata": {"name": "storage", "namespace": world.namespace}, "spec": {"hard": {"requests.storage": "10Gi"}}}
    await world.host.create(kinds.RESOURCE_QUOTA, quota)
    try:
        body = claim(space, size="11Gi")
        await world.refuses(CLAIM, {"spec": body["spec"]})
        await world.nested.create(CLAIM, body)
        (told,) = await refusals(world, space, "data")
        assert told.startswith("exceeded quota: storage, requested: requests.storage=11Gi")
        assert told.endswith("; ask an administrator of the host cluster to raise this quota")
    finally:
        await world.host.delete(kinds.RESOURCE_QUOTA, "storage", world.namespace)
    await world.host_object(CLAIM, "data", space)
