"""VolumeSnapshots of nested clusters are made by the host, by the VolumeSnapshotClasses that the class allows.

The definitions are the real ones. No CSI driver runs here: functions of this file stand in for the host's snapshot controller
and write what it would write.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api import names
from nestor.api.objects import Object
from nestor.kube import kinds
from nestor.pods.translate.fields.volumes import SNAPSHOT_SOURCE, SNAPSHOT_SPEC
from tests.integration.snapshots import define_snapshots
from tests.integration.syncer.test_storage import CLAIM, bound, claim, is_bound, is_so, provision, refusals
from tests.integration.syncer.world import World

SNAPSHOT, CLASS, CONTENT = kinds.VOLUME_SNAPSHOT, kinds.VOLUME_SNAPSHOT_CLASS, kinds.VOLUME_SNAPSHOT_CONTENT
DISKS = "disks"
MADE = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="session")
async def definitions(world: World) -> dict[str, Object]:
    """The host cluster has snapshots from here on."""
    return await define_snapshots(world.host)


@pytest.fixture
async def classes(world: World, definitions: dict[str, Object]) -> AsyncIterator[None]:
    """The host has two VolumeSnapshotClasses, of which the class allows one."""
    assert definitions
    await world.host.apply(kinds.STORAGE_CLASS, {"metadata": {"name": DISKS}, "provisioner": "disks.example.org"})
    for name in ("hourly", "hidden"):
        body = {"driver": "disks.example.org", "deletionPolicy": "Delete", "parameters": {"secret": "of-the-host"}}
        await world.host.apply(CLASS, {"metadata": {"name": name}, **body})
    await world.allow(storage={"classes": [DISKS], "snapshotClasses": ["hourly"]})
    await is_so(world, world.nested, CLASS, "hourly", None, bool)
    await is_so(world, world.nested, kinds.STORAGE_CLASS, DISKS, None, bool)
    yield
    await world.allow(storage=None)

    async def are_gone() -> bool:
        found = [await world.nested.find(CLASS, "hourly"), await world.nested.find(kinds.STORAGE_CLASS, DISKS)]
        return found == [None, None]

    await world.eventually(are_gone)  # so that the next test does not take them for its own


def snapshot(space: str, name: str = "backup", **spec: Any) -> Object:
    """A nested snapshot of claim `data`."""
    source = {"source": {"persistentVolumeClaimName": "data"}}
    metadata = {"name": name, "namespace": space}
    return {"apiVersion": SNAPSHOT.api_version, "kind": SNAPSHOT.name, "metadata": metadata, "spec": source | spec}


def data(space: str, name: str = "data", **spec: Any) -> Object:
    """A nested claim."""
    return claim(space, name, storageClassName=DISKS, **spec)


async def make(world: World, host: Object) -> str:
    """Stand in for the host's snapshot controller: a content for this host snapshot, which is ready then."""
    meta = host["metadata"]
    name = f"snapcontent-{meta['uid']}"
    ref = {"apiVersion": SNAPSHOT.api_version, "kind": SNAPSHOT.name, "namespace": meta["namespace"], "name": meta["name"]}
    spec = {
        "deletionPolicy": "Delete",
        "driver": "disks.example.org",
        "source": {"volumeHandle": "disk-1"},
        "volumeSnapshotClassName": host["spec"]["volumeSnapshotClassName"],
        "volumeSnapshotRef": ref | {"uid": meta["uid"]},
    }
    body = {"apiVersion": CONTENT.api_version, "kind": CONTENT.name, "metadata": {"name": name}, "spec": spec}
    await world.host.create(CONTENT, body)
    status = {"boundVolumeSnapshotContentName": name, "readyToUse": True, "restoreSize": "1Gi", "creationTime": MADE}
    await world.host.patch(SNAPSHOT, meta["name"], meta["namespace"], {"status": status}, subresource="status")
    return name


def is_ready(found: Object) -> bool:
    """Whether a snapshot can be used."""
    return bool(found.get("status", {}).get("readyToUse"))


async def made(world: World, space: str, name: str = "backup") -> tuple[Object, Object]:
    """A nested snapshot and its host snapshot, both ready."""
    await world.nested.create(SNAPSHOT, snapshot(space, name))
    host = await world.host_object(SNAPSHOT, name, space)
    await make(world, host)
    nested = await is_so(world, world.nested, SNAPSHOT, name, space, is_ready)
    return nested, host


async def test_the_table_has_the_fields_of_the_definition(definitions: dict[str, Object]) -> None:
    (version,) = [item for item in definitions[SNAPSHOT.plural]["spec"]["versions"] if item["name"] == SNAPSHOT.version]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert spec.keys() == SNAPSHOT_SPEC.keys()
    assert spec["source"]["properties"].keys() == SNAPSHOT_SOURCE.keys()


@pytest.mark.usefixtures("classes")
async def test_a_snapshot_is_made_on_the_host_and_a_claim_is_filled_from_it(world: World, space: str) -> None:
    found = await world.nested.get(CLASS, "hourly")
    assert (found["driver"], "parameters" in found) == ("host.nestor.dev", False)
    await world.heard()
    assert await world.nested.find(CLASS, "hidden") is None
    await bound(world, space, data(space))
    nested, host = await made(world, space)
    assert host["spec"]["source"] == {"persistentVolumeClaimName": names.host_name("data", space)}
    assert nested["spec"]["volumeSnapshotClassName"] == "hourly"
    name = nested["status"]["boundVolumeSnapshotContentName"]
    content = await is_so(world, world.nested, CONTENT, name, None, is_ready)
    assert content["spec"]["volumeSnapshotRef"]["uid"] == nested["metadata"]["uid"]
    assert content["status"]["restoreSize"] == 2**30
    assert "disk-1" not in str(content)

    source = {"apiGroup": SNAPSHOT.group, "kind": SNAPSHOT.name, "name": "backup"}
    await world.nested.create(CLAIM, data(space, "again", dataSource=source))
    copy = await world.host_object(CLAIM, "again", space)
    assert copy["spec"]["dataSource"] == source | {"name": host["metadata"]["name"]}
    assert copy["spec"]["dataSourceRef"] == copy["spec"]["dataSource"]
    await provision(world, copy)
    await is_so(world, world.nested, CLAIM, "again", space, is_bound)

    await world.nested.delete(SNAPSHOT, "backup", space)
    await world.gone(world.host, SNAPSHOT, host)
    await world.gone(world.nested, CONTENT, content)
    await world.heard()
    assert await world.nested.find(SNAPSHOT, "backup", space) is None


@pytest.mark.usefixtures("classes")
async def test_a_snapshot_of_another_namespace_fills_no_claim(world: World, space: str) -> None:
    """The host has the snapshots of all nested namespaces in one of its own, and API servers take any name in a claim."""
    await bound(world, space, data(space))
    await made(world, space)
    await world.nested.create(kinds.NAMESPACE, {"metadata": {"name": f"{space}-2"}})
    for field in ("dataSource", "dataSourceRef"):
        for name in ("backup", names.host_name("backup", space)):
            source = {"apiGroup": SNAPSHOT.group, "kind": SNAPSHOT.name, "name": name}
            body = data(f"{space}-2", f"{field.lower()}-{name}"[:60].rstrip("-"))
            body["spec"][field] = source
            await world.nested.create(CLAIM, body)
            (told,) = await refusals(world, f"{space}-2", body["metadata"]["name"])
            assert told == f"VolumeSnapshot '{name}' is not in the host cluster, or is being deleted there"
            copy = names.host_name(body["metadata"]["name"], f"{space}-2")
            await world.heard()
            assert await world.host.find(CLAIM, copy, world.namespace) is None


@pytest.mark.usefixtures("classes")
async def test_a_restart_in_the_middle_finds_what_has_happened(world: World, space: str) -> None:
    await bound(world, space, data(space))
    await world.nested.create(SNAPSHOT, snapshot(space, "early"))
    early = await world.host_object(SNAPSHOT, "early", space)
    gone, gone_host = await made(world, space, "gone")
    lost, lost_host = await made(world, space, "lost")
    await world.stop()
    try:
        await make(world, early)
        await world.nested.create(SNAPSHOT, snapshot(space, "late"))
        await world.nested.delete(SNAPSHOT, "gone", space)
        await world.host.delete(SNAPSHOT, lost_host["metadata"]["name"], world.namespace)
    finally:
        await world.start()
    await is_so(world, world.nested, SNAPSHOT, "early", space, is_ready)
    await world.host_object(SNAPSHOT, "late", space)
    await world.gone(world.host, SNAPSHOT, gone_host)
    await is_so(world, world.nested, SNAPSHOT, "lost", space, lambda found: found["status"]["readyToUse"] is False)
    (told,) = await refusals(world, space, "lost", "SnapshotRefused")
    assert told.startswith("the host cluster has no such snapshot")
    contents = [item["status"]["boundVolumeSnapshotContentName"] for item in (gone, lost)]

    async def are_gone() -> bool:
        return [await world.nested.find(CONTENT, name) for name in contents] == [None, None]

    await world.eventually(are_gone)
