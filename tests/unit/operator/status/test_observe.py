"""What counts for a job's lifecycle: the current plan's record, the current server's report, the current data."""

from __future__ import annotations

import datetime
from typing import Any, cast

import pytest

from nestor.api import labels, names
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.cluster.shape import Host
from nestor.kube import Api, Kind, kinds
from nestor.operator.guests.retained import Retain
from nestor.operator.lifecycle.data_epoch import DataEpoch, drop_data, read_epoch, track_data
from nestor.operator.lifecycle.lifecycle import Facts
from nestor.operator.lifecycle.suspend import SuspendProgress, find_progress
from nestor.operator.settings import Settings
from nestor.operator.status.observe import find_start_deadline, gather_facts
from nestor.operator.world.context import Cache, Context
from nestor.operator.world.ownership import find_home
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import Object, build_job, build_run, build_shape

NOW = datetime.datetime(2026, 1, 1, 12, 0, 0, tzinfo=datetime.UTC)
WHERE = names.job_namespace("hello", "team-a", "1234")
SERVER = "hello-k3s-0"


class FakeApi:
    """Remembers what it was asked to change."""

    def __init__(self) -> None:
        self.deleted: list[tuple[str, str | None]] = []
        self.patched: list[Object] = []
        self.snapshots: list[Object] = []

    async def list(self, kind: Kind, namespace: str, **_: Any) -> list[Object]:
        """The VolumeSnapshots: all else is cached."""
        assert (kind, namespace) == (kinds.VOLUME_SNAPSHOT, WHERE)
        return self.snapshots

    async def delete(self, kind: Kind, name: str, namespace: str, *, uid: str | None = None, **_: Any) -> bool:
        self.deleted.append((f"{kind.name} {name}", uid))
        return True

    async def patch(self, kind: Kind, name: str, namespace: str, patch: Object) -> Object:
        """Note it, and answer as the API server would."""
        self.patched.append(patch["metadata"]["annotations"])
        return {"metadata": {"name": name, "namespace": namespace, "uid": "c1", "resourceVersion": "99", **patch["metadata"]}}


def build_world(
    api: FakeApi | MemoryApi, *, cluster: Object | None = None, replicas: int = 1, is_persistent: bool = False
) -> Cache:
    """A cluster with its StatefulSet, without pods."""
    world = Cache(cast(Api, api))
    if cluster is not None:
        meta = {
            "name": "hello",
            "namespace": WHERE,
            "uid": "c1",
            "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": cluster.pop("annotations", {}),
        }
        world.clusters.put({"metadata": meta, **cluster})
    claims = {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]} if is_persistent else {}
    put(world, kinds.STATEFUL_SET, "hello-k3s", spec={"replicas": replicas, **claims})
    return world


def put(world: Cache, kind: Kind, name: str, uid: str = "p1", component: str = "", **more: Any) -> None:
    own = {labels.COMPONENT: component, labels.CLUSTER: more.pop("cluster", "hello")}
    meta = {"name": name, "namespace": WHERE, "uid": uid, "labels": own} | more.pop("meta", {})
    world.informers[kind]._set((WHERE, name), {"metadata": meta, **more})


def gather(world: Cache, plan_hash: str | None = "h") -> Facts:
    job = build_job()
    return gather_facts(world, job, find_home(job), NestedAppJobSpec.model_validate(job["spec"]), NOW, plan_hash=plan_hash)


@pytest.mark.parametrize(("plan_hash", "is_seen"), [("h", True), ("another", False), (None, True)])
def test_only_the_record_of_this_plan_counts_unless_the_job_has_none(plan_hash: str | None, is_seen: bool) -> None:
    world = build_world(FakeApi(), cluster={"status": {"run": build_run("Running")}})
    facts = gather(world, plan_hash)
    assert (facts.run is not None, facts.is_refused, facts.made_at) == (is_seen, plan_hash is None, "2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("server", "is_seen"),
    [({"uid": "p1"}, True), ({"uid": "p2"}, False), ({"uid": "p1", "meta": {"deletionTimestamp": "x"}}, False), (None, False)],
)
def test_only_the_word_of_the_server_that_is_there_counts(server: Object | None, is_seen: bool) -> None:
    world = build_world(FakeApi(), cluster={"status": {"outcome": {"state": "Succeeded", "serverUID": "p1"}}})
    if server is not None:
        put(world, kinds.POD, SERVER, component="server", **server)
    assert (gather(world).outcome is not None) is is_seen


def test_a_job_without_a_cluster_has_nothing() -> None:
    facts = gather(build_world(FakeApi()))
    assert (facts.made_at, facts.has_data, facts.epoch, facts.run, facts.outcome) == (None, False, 0, None, None)


def test_how_far_a_cluster_is_on_its_way_to_rest() -> None:
    world = build_world(FakeApi(), cluster={"status": {"suspended": True}}, replicas=0, is_persistent=True)
    put(world, kinds.POD, SERVER, component="server")
    put(world, kinds.POD, "web", component="app", status={"phase": "Running"})
    put(world, kinds.POD, "done", component="app", status={"phase": "Succeeded"})
    put(world, kinds.POD, "hello-run", component="runner", status={"phase": "Pending"})
    put(world, kinds.POD, "hello-read", component="reader", status={"phase": "Running"})
    put(world, kinds.POD, "theirs", component="app", cluster="another", status={"phase": "Running"})
    home = find_home(build_job())
    assert find_progress(world, home) == SuspendProgress(is_told=True, pods=2, claim=f"data-{SERVER}", is_stopping=True)
    world.informers[kinds.POD]._set((WHERE, SERVER), None)
    assert find_progress(world, home).is_down


def build_context(api: FakeApi | MemoryApi, world: Cache) -> Context:
    """What keeps track of the data."""
    return Context.create(cast(Api, api), Settings(image="x"), world, Host(()))


NOTED = {"annotations": {labels.SERVER_UID: "p1", labels.DATA_EPOCH: "2"}}


@pytest.mark.parametrize(
    ("noted", "holder", "found", "is_written"),
    [
        ({}, None, DataEpoch(), False),
        ({}, "p1", DataEpoch(0, "p1"), True),
        (NOTED, None, DataEpoch(2, "p1"), False),
        (NOTED, "p1", DataEpoch(2, "p1"), False),
        (NOTED, "p2", DataEpoch(3, "p2"), True),
    ],
)
@pytest.mark.parametrize("is_persistent", [False, True])
async def test_other_data_than_the_noted_was_lost(
    noted: Object, holder: str | None, found: DataEpoch, is_written: bool, is_persistent: bool
) -> None:
    api = FakeApi()
    world = build_world(api, cluster=dict(noted), is_persistent=is_persistent)
    if is_persistent:
        put(world, kinds.POD, SERVER, uid="whichever", component="server")
    kind, name = (kinds.PERSISTENT_VOLUME_CLAIM, f"data-{SERVER}") if is_persistent else (kinds.POD, SERVER)
    if holder:
        put(world, kind, name, holder)
    assert await track_data(build_context(api, world), build_shape()) == found
    assert bool(api.patched) is is_written
    assert read_epoch(world.clusters.get("hello", WHERE)) == found


@pytest.mark.parametrize(
    ("is_persistent", "pod", "deleted"),
    [
        (False, "p1", [(f"Pod {SERVER}", "p1")]),
        (False, "p2", []),
        (False, None, []),
        (True, "p7", [(f"PersistentVolumeClaim data-{SERVER}", "p1"), (f"Pod {SERVER}", "p7")]),
        (True, None, [(f"PersistentVolumeClaim data-{SERVER}", "p1")]),
    ],
)
async def test_only_the_data_that_is_meant_is_deleted(
    is_persistent: bool, pod: str | None, deleted: list[tuple[str, str]]
) -> None:
    api = FakeApi()
    world = build_world(api, cluster=dict(NOTED), is_persistent=is_persistent)
    if pod:
        put(world, kinds.POD, SERVER, pod, component="server")
    context = build_context(api, world)
    await drop_data(context, build_shape(), DataEpoch(2, "p1"), ignore, is_down=False)
    assert api.deleted == deleted
    api.deleted.clear()
    await drop_data(context, build_shape(), DataEpoch(), ignore, is_down=False)
    assert api.deleted == [], "where no data was seen there is none"


async def ignore(namespace: Object) -> None:
    """Nothing outlives the job."""


@pytest.mark.parametrize(
    ("uid", "is_down", "is_dropped"), [("p1", False, True), ("p2", False, False), (None, False, False), (None, True, True)]
)
async def test_the_applications_volumes_go_with_the_data_and_those_of_its_successor_stay(
    uid: str | None, is_down: bool, is_dropped: bool
) -> None:
    api = FakeApi()
    world = build_world(api, cluster=dict(NOTED))
    if uid:
        put(world, kinds.POD, SERVER, uid, component="server")
    put(world, kinds.PERSISTENT_VOLUME_CLAIM, "db", "v1", meta={"labels": {labels.CLUSTER: "hello", labels.NESTED_UID: "n1"}})
    for name, cluster in (("backup", "hello"), ("theirs", "another")):
        own = {labels.CLUSTER: cluster, labels.NESTED_UID: "n2"}
        api.snapshots.append({"metadata": {"name": name, "namespace": WHERE, "uid": name, "labels": own}})
    await drop_data(build_context(api, world), build_shape(), DataEpoch(2, "p1"), ignore, is_down=is_down)
    assert (("PersistentVolumeClaim db", "v1") in api.deleted) is is_dropped
    found = [item for item in api.deleted if item[0].startswith("VolumeSnapshot")]
    assert found == ([("VolumeSnapshot backup", "backup")] if is_dropped else [])


@pytest.mark.parametrize("retention", ["Retain", "Delete"])
async def test_volumes_outlive_a_restart_where_the_class_says_so(retention: str) -> None:
    api = MemoryApi()
    world = build_world(api, cluster=dict(NOTED))
    put(world, kinds.POD, SERVER, component="server")
    job = {labels.JOB: "hello", labels.JOB_NAMESPACE: "team-a", labels.JOB_UID: "j1"}
    space = {"metadata": {"name": WHERE, "labels": {**job, labels.RETENTION: retention}}}
    world.informers[kinds.NAMESPACE]._set(("", WHERE), space)
    own = {**job, labels.CLUSTER: "hello", labels.COMPONENT: labels.COMPONENT_APP, labels.NESTED_UID: "n1"}
    claim = {"metadata": {"name": "db", "namespace": WHERE, "uid": "v1", "labels": own}, "spec": {"volumeName": "pv-1"}}
    api.put(kinds.PERSISTENT_VOLUME_CLAIM, claim)
    world.informers[kinds.PERSISTENT_VOLUME_CLAIM]._set((WHERE, "db"), claim)
    spec = {"persistentVolumeReclaimPolicy": "Delete", "claimRef": {"uid": "v1"}}
    api.put(kinds.PERSISTENT_VOLUME, {"metadata": {"name": "pv-1", "labels": {}}, "spec": spec})
    context = build_context(api, world)
    await drop_data(context, build_shape(), DataEpoch(2, "p1"), Retain(context).spare, is_down=False)
    assert api.look(kinds.PERSISTENT_VOLUME_CLAIM, "db", WHERE) is None
    volume = cast(Object, api.look(kinds.PERSISTENT_VOLUME, "pv-1"))
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == retention
    assert (volume["metadata"]["labels"] == job) is (retention == "Retain")
    verbs = [line.split()[0] for line in api.asked if "persistentvolume" in line]
    assert "PATCH" not in verbs or verbs.index("PATCH") < verbs.index("DELETE"), "a volume without its claim may be gone at once"


@pytest.mark.parametrize(
    ("status", "start_time", "is_overdue"),
    [
        # It was made long ago, and waited for its class, its AppDef or to be resumed: its time begins when it does.
        ({}, None, False),
        ({"startTime": "2020-01-01T00:00:00Z"}, None, False),
        ({"timings": {"admitted": "2020-01-01T00:00:00Z"}}, "2999-01-01T00:00:00Z", False),
        ({}, "2020-01-01T00:00:00Z", True),
        ({"timings": {"clusterReady": "2020-01-01T00:00:00Z"}}, "2020-01-01T00:00:00Z", False),
    ],
)
def test_a_cluster_is_overdue_by_the_time_that_the_job_began(status: Object, start_time: str | None, is_overdue: bool) -> None:
    job = {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}, "status": status}
    assert (find_start_deadline(job, start_time) <= 0) is is_overdue
