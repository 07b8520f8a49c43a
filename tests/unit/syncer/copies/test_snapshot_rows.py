"""VolumeSnapshots, their classes, contents and definitions between two clusters in memory."""

from typing import Any

import pytest

from nestor.api import labels, names
from nestor.api.objects import Object
from nestor.kube import Forbidden, NotFound, kinds
from nestor.syncer.copies.row import Row
from nestor.syncer.copies.rows.classes import SnapshotClassRow
from nestor.syncer.copies.rows.snapshots import SnapshotContentRow, SnapshotRow, build_definition
from nestor.syncer.copies.rows.storage import ClaimRow
from nestor.syncer.translate.snapshots import LOST
from tests.unit.syncer.copies.pair import HOST, SPACE, Clusters, remembered, running

CLAIM, SNAPSHOT = kinds.PERSISTENT_VOLUME_CLAIM, kinds.VOLUME_SNAPSHOT
CLASS, CONTENT = kinds.VOLUME_SNAPSHOT_CLASS, kinds.VOLUME_SNAPSHOT_CONTENT
ROWS: tuple[type[Row], ...] = (ClaimRow, SnapshotClassRow, SnapshotRow, SnapshotContentRow)
STORAGE = {"classes": ["fast"], "snapshotClasses": ["hourly", "daily"]}


def build(*, data: str = "first", storage: Object | None = None) -> Clusters:
    """With classes that the policy allows, and one that it does not."""
    clusters = Clusters.build(storage=STORAGE if storage is None else storage)
    clusters.nested.put(kinds.NAMESPACE, {"metadata": {"name": "kube-system", "uid": data}})
    clusters.host.put(kinds.STORAGE_CLASS, {"metadata": {"name": "fast"}, "provisioner": "disks.example.org"})
    for name in ("hourly", "daily", "hidden"):
        body = {"driver": "disks.example.org", "deletionPolicy": "Delete", "parameters": {"secret": "of-the-host"}}
        clusters.host.put(CLASS, {"metadata": {"name": name}, **body})
    return clusters


def claim(name: str = "data", **spec: Any) -> Object:
    wanted = {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": name, "namespace": SPACE}, "spec": wanted | spec}


def snapshot(name: str = "backup", of: str = "data", **spec: Any) -> Object:
    return {"metadata": {"name": name, "namespace": SPACE}, "spec": {"source": {"persistentVolumeClaimName": of}} | spec}


def copy(clusters: Clusters, name: str = "backup") -> Any:
    return clusters.copy(SNAPSHOT, name)


def make(clusters: Clusters, name: str = "backup", **status: Any) -> Object:
    """Play the host's snapshot controller."""
    found = copy(clusters, name)
    own = {"boundVolumeSnapshotContentName": f"snapcontent-{name}", "readyToUse": True, "restoreSize": "1Gi"}
    return clusters.host.put(SNAPSHOT, found | {"status": own | {"creationTime": "2026-01-01T00:00:00Z"} | status})


async def test_a_snapshot_is_made_by_the_host_and_has_a_content_until_it_goes() -> None:
    clusters = build()
    async with running(clusters, *ROWS) as made:
        clusters.nested.put(CLAIM, claim())
        nested = clusters.nested.put(SNAPSHOT, snapshot())
        await made.settle()
        found = copy(clusters)
        assert found["spec"] == {
            "source": {"persistentVolumeClaimName": names.host_name("data", SPACE)},
            "volumeSnapshotClassName": "hourly",
        }
        assert (clusters.nested.look(SNAPSHOT, "backup", SPACE) or {})["spec"]["volumeSnapshotClassName"] == "hourly"
        make(clusters)
        await made.settle()
        told: Any = clusters.nested.look(SNAPSHOT, "backup", SPACE)
        assert told["status"] == {
            "boundVolumeSnapshotContentName": "snapcontent-backup",
            "readyToUse": True,
            "restoreSize": "1Gi",
            "creationTime": "2026-01-01T00:00:00Z",
        }
        content: Any = clusters.nested.look(CONTENT, "snapcontent-backup")
        assert content["spec"]["volumeSnapshotRef"]["uid"] == nested["metadata"]["uid"]
        assert content["spec"]["deletionPolicy"] == "Retain"
        assert content["status"] == {
            "snapshotHandle": "snapcontent-backup",
            "readyToUse": True,
            "restoreSize": 2**30,
            "creationTime": 1767225600 * 10**9,
        }
        await made.drop_nested(SNAPSHOT, "backup", SPACE)
        assert copy(clusters) is None
        assert clusters.nested.look(CONTENT, "snapcontent-backup") is None
        assert [remembered(engine) for engine in made.engines][2:] == [0, 0]


async def test_an_error_comes_up_in_the_tenant_s_words() -> None:
    clusters = build()
    async with running(clusters, *ROWS) as made:
        clusters.nested.put(CLAIM, claim())
        await made.put_nested(SNAPSHOT, snapshot())
        text = f"claim {HOST}/{names.host_name('data', SPACE)} is in use"
        make(clusters, readyToUse=False, error={"message": text, "time": "2026-01-01T00:00:00Z"})
        await made.settle()
        told: Any = clusters.nested.look(SNAPSHOT, "backup", SPACE)
        assert told["status"]["error"] == {"message": f"claim {SPACE}/data is in use", "time": "2026-01-01T00:00:00Z"}
        make(clusters)
        await made.settle()
        told = clusters.nested.look(SNAPSHOT, "backup", SPACE)
        assert "error" not in told["status"]


async def test_the_nested_cluster_has_the_classes_that_its_class_allows() -> None:
    clusters = build()
    async with running(clusters, *ROWS) as made:
        found: Any = clusters.nested.look(CLASS, "hourly")
        assert (found["driver"], found["deletionPolicy"]) == ("host.nestor.dev", "Delete")
        assert found["metadata"]["annotations"]["snapshot.storage.kubernetes.io/is-default-class"] == "true"
        assert "parameters" not in found
        assert clusters.nested.look(CLASS, "daily") is not None
        assert clusters.nested.look(CLASS, "hidden") is None
        await made.allow(storage=STORAGE | {"snapshotClasses": ["daily"]})
        assert clusters.nested.look(CLASS, "hourly") is None


REFUSALS: list[tuple[Object, str]] = [
    ({"volumeSnapshotClassName": "hidden"},
     "`spec.volumeSnapshotClassName` may not be 'hidden': the class allows 'hourly', 'daily'"),
    ({"source": {"volumeSnapshotContentName": "snapcontent-of-somebody"}},
     "`spec.source.volumeSnapshotContentName` may not be set: it would be a content of the host cluster"),
    ({"source": {"persistentVolumeClaimName": "other"}}, "there is no PersistentVolumeClaim 'other'"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "message"), REFUSALS, ids=["class", "content", "claim"])
async def test_what_is_refused_says_so(spec: Object, message: str) -> None:
    clusters = build()
    async with running(clusters, *ROWS) as made:
        clusters.nested.put(CLAIM, claim())
        await made.put_nested(SNAPSHOT, snapshot(**spec))
        ((reason, told),) = clusters.events
        assert reason == "SnapshotRefused"
        assert told.startswith(message)
        assert copy(clusters) is None


async def test_a_snapshot_of_a_claim_that_the_host_does_not_have_waits_for_it() -> None:
    clusters = build()
    async with running(clusters, *ROWS) as made:
        clusters.nested.put(CLAIM, claim(storageClassName="other"))
        await made.put_nested(SNAPSHOT, snapshot())
        assert copy(clusters) is None
        assert [reason for reason, _ in clusters.events] == ["ClaimRefused"]
        clusters.nested.drop(CLAIM, "data", SPACE)
        clusters.nested.put(CLAIM, claim())
        await made.until(lambda: copy(clusters))


def restored(name: str, source: str) -> Object:
    return claim(name, dataSource={"apiGroup": SNAPSHOT.group, "kind": SNAPSHOT.name, "name": source})


async def test_a_snapshot_of_somebody_else_s_in_the_same_namespace_of_the_host_fills_no_claim() -> None:
    clusters = build()
    clusters.add_foreign(SNAPSHOT, "backup", spec={})
    async with running(clusters, *ROWS) as made:
        await made.put_nested(CLAIM, restored("again", "backup"))
        assert clusters.copy(CLAIM, "again") is None
        clusters.nested.put(CLAIM, claim())
        await made.put_nested(SNAPSHOT, snapshot())
        assert copy(clusters)["spec"] == {}
        assert "already exists and belongs to someone else" in clusters.events[-1][1]


async def test_without_permission_a_claim_names_the_field_that_would_give_it() -> None:
    clusters = build(storage={"classes": ["fast"]})
    async with running(clusters, *ROWS) as made:
        await made.put_nested(CLAIM, restored("again", "backup"))
        ((_, told),) = clusters.events
        assert told.endswith("the class allows no snapshots (`storage.snapshotClasses`)")
        # Nobody asks for snapshots of either cluster then.
        clusters.nested.put(CLAIM, claim())
        await made.put_nested(SNAPSHOT, snapshot())
        assert copy(clusters) is None
        assert len(clusters.events) == 1
        clusters.allow(storage=STORAGE)
        await made.until(lambda: copy(clusters))


async def test_a_stricter_class_takes_no_snapshot_away_also_after_a_restart() -> None:
    clusters = build()
    async with running(clusters, *ROWS) as made:
        clusters.nested.put(CLAIM, claim())
        await made.put_nested(SNAPSHOT, snapshot())
        before = make(clusters)
        clusters.allow(storage={"classes": ["fast"]})
        await made.put_nested(SNAPSHOT, snapshot("more"))
        assert copy(clusters)["metadata"]["uid"] == before["metadata"]["uid"]
        assert clusters.events == [("SnapshotRefused", "the class allows no snapshots (`storage.snapshotClasses`)")]
    async with running(clusters, *ROWS) as made:
        await made.settle()
        clusters.nested.drop(SNAPSHOT, "backup", SPACE)
        await made.until(lambda: copy(clusters) is None)


async def test_a_snapshot_that_the_host_has_lost_says_so_and_is_not_made_anew_in_silence() -> None:
    clusters = build()
    async with running(clusters, *ROWS) as made:
        clusters.nested.put(CLAIM, claim())
        await made.put_nested(SNAPSHOT, snapshot())
        make(clusters)
        await made.settle()
        await made.drop_host(SNAPSHOT, names.host_name("backup", SPACE), HOST)
        told: Any = clusters.nested.look(SNAPSHOT, "backup", SPACE)
        assert told["status"]["readyToUse"] is False
        assert told["status"]["error"]["message"] == LOST
        assert clusters.nested.look(CONTENT, "snapcontent-backup") is None
        assert copy(clusters) is None
        ((reason, message),) = clusters.events
        assert (reason, message.startswith("the host cluster has no such snapshot")) == ("SnapshotRefused", True)


async def test_a_snapshot_comes_back_after_the_nested_cluster_has_lost_its_data_and_a_successor_gets_its_own() -> None:
    clusters = build()
    async with running(clusters, *ROWS) as made:
        clusters.nested.put(CLAIM, claim())
        await made.put_nested(SNAPSHOT, snapshot())
        before = make(clusters)
    fresh = build(data="second")
    fresh.host.go_on_from(clusters.host)
    async with running(fresh, *ROWS) as made:
        assert copy(fresh)["metadata"]["uid"] == before["metadata"]["uid"]  # nobody has asked for its end
        fresh.nested.put(CLAIM, claim())
        nested = fresh.nested.put(SNAPSHOT, snapshot())
        await made.settle()
        found = copy(fresh)
        assert found["metadata"]["uid"] == before["metadata"]["uid"]
        assert found["metadata"]["labels"][labels.NESTED_UID] == nested["metadata"]["uid"]
        assert (fresh.nested.look(SNAPSHOT, "backup", SPACE) or {})["status"]["readyToUse"] is True
    fresh.nested.drop(SNAPSHOT, "backup", SPACE)
    fresh.nested.put(SNAPSHOT, snapshot())
    async with running(fresh, *ROWS) as made:
        await made.until(lambda: (copy(fresh) or before)["metadata"]["uid"] != before["metadata"]["uid"])
        assert "status" not in copy(fresh)


async def test_one_that_is_too_large_for_what_it_says_takes_no_memory_and_is_refused() -> None:
    """The nested cluster's admin may serve the kind himself, or define it without limits."""
    clusters = build()
    async with running(clusters, *ROWS) as made:
        clusters.nested.put(CLAIM, claim())
        await made.put_nested(SNAPSHOT, snapshot(filler="x" * 40_000))
        assert clusters.events == [("SnapshotRefused", "the VolumeSnapshot is too large")]
        assert copy(clusters) is None
        kept = made.caches.nested(SNAPSHOT).get("backup", SPACE)
        assert kept is not None
        assert len(str(kept)) < 1000


@pytest.mark.parametrize("side", ["host", "nested"])
async def test_a_cluster_that_does_not_have_the_kinds_holds_nothing_else_up_and_loses_nothing(side: str) -> None:
    clusters = build()
    async with running(clusters, *ROWS) as made:
        clusters.nested.put(CLAIM, claim())
        await made.put_nested(SNAPSHOT, snapshot())
        make(clusters)
    missing = tuple(f"/{kind.plural}" for kind in (SNAPSHOT, CLASS, CONTENT))
    error = NotFound(404, "NotFound", "the server could not find the requested resource")
    getattr(clusters, side).fault = lambda _, path: error if path.endswith(missing) else None
    async with running(clusters, *ROWS) as made:
        await made.put_nested(CLAIM, claim("more"))
        assert clusters.copy(CLAIM, "more") is not None
        assert copy(clusters) is not None
        clusters.nested.put(CLAIM, restored("again", "gone"))
        with pytest.raises(Forbidden):
            await made.engines[0].ensure((SPACE, "again"))


def test_a_definition_has_one_version_and_nothing_that_calls_the_host() -> None:
    versions: list[Object] = [
        {"name": name, "served": True, "storage": name == "v1beta1", "schema": {}} for name in ("v1beta1", "v1")
    ]
    spec = {"group": SNAPSHOT.group, "names": {"kind": "X"}, "scope": "Namespaced", "versions": versions}
    notes = {"api-approved.kubernetes.io": "https://example.org", "of-the-host": "x"}
    built = build_definition(
        {"metadata": {"name": "x", "annotations": notes}, "spec": spec | {"conversion": {"strategy": "Webhook"}}}
    )
    assert built["spec"] == spec | {"versions": [{"name": "v1", "served": True, "storage": True, "schema": {}}]}
    assert built["metadata"]["annotations"] == {"api-approved.kubernetes.io": "https://example.org"}
