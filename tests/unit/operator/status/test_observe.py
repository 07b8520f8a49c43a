"""What counts for a job's lifecycle: the current plan's record, the current server's report, the current data."""

import datetime
from typing import Any

import pytest

from nestor.api import labels
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.kube import Kind, kinds
from nestor.operator.guests.retained.keeper import Retain
from nestor.operator.lifecycle.data_epoch import DataEpoch, drop_data, read_epoch, track_data
from nestor.operator.lifecycle.lifecycle import Facts
from nestor.operator.lifecycle.suspend import SuspendProgress, find_progress
from nestor.operator.status.observe import find_start_deadline, gather_facts
from nestor.operator.world.ownership import find_home
from tests.unit.operator.builders import Object, build_job, build_run, build_shape
from tests.unit.operator.scene import HOME, Scene

NOW = datetime.datetime(2026, 1, 1, 12, 0, 0, tzinfo=datetime.UTC)
SERVER, CLAIM = "hello-k3s-0", "data-hello-k3s-0"


class World(Scene):
    """A cluster with its StatefulSet, without pods."""

    def __init__(self, cluster: Object | None = None, *, replicas: int = 1, is_persistent: bool = False) -> None:
        super().__init__()
        if cluster is not None:
            meta = {"name": "hello", "namespace": HOME, "uid": "c1", "creationTimestamp": "2026-01-01T00:00:00Z"}
            notes = {"annotations": cluster.get("annotations", {}), "labels": {labels.JOB_UID: "1234"}}
            self.change(kinds.NESTED_CLUSTER, {"metadata": meta | notes, "status": cluster.get("status", {})})
        claims = {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]} if is_persistent else {}
        self.add(kinds.STATEFUL_SET, "hello-k3s", spec={"replicas": replicas, **claims})

    def add(self, kind: Kind, name: str, uid: str = "p1", component: str = "", *, cluster: str = "hello", **more: Any) -> None:
        own = {labels.COMPONENT: component, labels.CLUSTER: cluster}
        meta = {"name": name, "namespace": HOME, "uid": uid, "labels": own} | more.pop("meta", {})
        self.show(kind, {"metadata": meta, **more})

    def gather(self, plan_hash: str | None = "h") -> Facts:
        job = build_job()
        spec = NestedAppJobSpec.model_validate(job["spec"])
        return gather_facts(self.context.cache, job, find_home(job), spec, NOW, plan_hash=plan_hash)

    async def drop(self, data: DataEpoch, *, is_stopping: bool = False) -> list[str]:
        """Delete this data. What was deleted, in this order."""
        before = {f"DELETE {plural} {home}/{name}": (plural, home, name) for plural, home, name in self.api.objects}
        self.api.asked.clear()
        if (space := self.context.cache.find(kinds.NAMESPACE, HOME)) is not None:
            await Retain(self.context).spare(space)
        await drop_data(self.context, build_shape(), data, is_stopping=is_stopping)
        return [
            line.replace(f" {HOME}/", " ") for line in self.api.asked if line in before and before[line] not in self.api.objects
        ]


@pytest.mark.parametrize(("plan_hash", "is_seen"), [("h", True), ("another", False), (None, True)])
def test_only_the_record_of_this_plan_counts_unless_the_job_has_none(plan_hash: str | None, is_seen: bool) -> None:
    facts = World({"status": {"run": build_run("Running")}}).gather(plan_hash)
    assert (facts.run is not None, facts.is_refused, facts.made_at) == (is_seen, plan_hash is None, "2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("server", "is_seen"),
    [({"uid": "p1"}, True), ({"uid": "p2"}, False), ({"uid": "p1", "meta": {"deletionTimestamp": "x"}}, False), (None, False)],
)
def test_only_the_word_of_the_server_that_is_there_counts(server: Object | None, is_seen: bool) -> None:
    world = World({"status": {"outcome": {"state": "Succeeded", "serverUID": "p1"}}})
    if server is not None:
        world.add(kinds.POD, SERVER, component="server", **server)
    assert (world.gather().outcome is not None) is is_seen


def test_a_job_without_a_cluster_has_nothing() -> None:
    facts = World().gather()
    assert (facts.made_at, facts.has_data, facts.epoch, facts.run, facts.outcome) == (None, False, 0, None, None)


def test_how_far_a_cluster_is_on_its_way_to_rest() -> None:
    world = World({"status": {"suspended": True}}, replicas=0, is_persistent=True)
    world.add(kinds.POD, SERVER, component="server")
    world.add(kinds.POD, "web", component="app", status={"phase": "Running"})
    world.add(kinds.POD, "done", component="app", status={"phase": "Succeeded"})
    world.add(kinds.POD, "hello-run", component="runner", status={"phase": "Pending"})
    world.add(kinds.POD, "hello-read", component="reader", status={"phase": "Running"})
    world.add(kinds.POD, "theirs", component="app", cluster="another", status={"phase": "Running"})
    cache, home = world.context.cache, find_home(build_job())
    assert find_progress(cache, home) == SuspendProgress(is_told=True, pods=2, claim=CLAIM, is_stopping=True)
    world.hide(kinds.POD, world.look(kinds.POD, SERVER))
    assert find_progress(cache, home).is_down


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
    world = World(noted, is_persistent=is_persistent)
    if is_persistent:
        world.add(kinds.POD, SERVER, uid="whichever", component="server")
    if holder:
        world.add(*((kinds.PERSISTENT_VOLUME_CLAIM, CLAIM) if is_persistent else (kinds.POD, SERVER)), holder)
    assert await track_data(world.context, build_shape()) == found
    assert world.api.asked == [f"PATCH nestedclusters {HOME}/hello"] * is_written
    assert read_epoch(world.context.cache.clusters.get("hello", HOME)) == found


async def test_claims_of_volumes_from_an_earlier_job_stay_when_the_application_starts_over() -> None:
    world = World(NOTED)
    for name, notes in (("own", {}), ("taken", {labels.VOLUMES_FROM: "shop"})):
        meta = {"labels": {labels.CLUSTER: "hello", labels.NESTED_UID: "n"}, "annotations": notes}
        world.add(kinds.PERSISTENT_VOLUME_CLAIM, name, meta=meta)
    assert await world.drop(DataEpoch(2, "p1"), is_stopping=True) == ["DELETE persistentvolumeclaims own"]


DROPPED_POD, DROPPED_CLAIM = f"DELETE pods {SERVER}", f"DELETE persistentvolumeclaims {CLAIM}"


@pytest.mark.parametrize(
    ("claim", "pod", "deleted"),
    [
        (None, "p1", [DROPPED_POD]),
        (None, "p2", []),
        (None, None, []),
        ("p1", "p7", [DROPPED_CLAIM, DROPPED_POD]),
        ("p1", None, [DROPPED_CLAIM]),
        ("p2", "p7", [DROPPED_POD]),
    ],
)
async def test_only_the_data_that_is_meant_is_deleted(claim: str | None, pod: str | None, deleted: list[str]) -> None:
    world = World(NOTED, is_persistent=claim is not None)
    if pod:
        world.add(kinds.POD, SERVER, pod, component="server")
    if claim:
        world.add(kinds.PERSISTENT_VOLUME_CLAIM, CLAIM, claim)
    assert await world.drop(DataEpoch()) == [], "where no data was seen there is none"
    assert await world.drop(DataEpoch(2, "p1")) == deleted


@pytest.mark.parametrize(
    ("uid", "is_stopping", "is_dropped"), [("p1", False, True), ("p2", False, False), (None, False, False), (None, True, True)]
)
async def test_the_applications_volumes_go_with_the_data_and_those_of_its_successor_stay(
    uid: str | None, is_stopping: bool, is_dropped: bool
) -> None:
    world = World(NOTED)
    if uid:
        world.add(kinds.POD, SERVER, uid, component="server")
    own = {labels.CLUSTER: "hello", labels.COMPONENT: labels.COMPONENT_APP, labels.NESTED_UID: "n1"}
    world.add(kinds.PERSISTENT_VOLUME_CLAIM, "db", "v1", meta={"labels": own})
    for name, cluster in (("backup", "hello"), ("theirs", "another")):
        meta = {"name": name, "namespace": HOME, "labels": own | {labels.CLUSTER: cluster}}
        world.api.put(kinds.VOLUME_SNAPSHOT, {"metadata": meta})
    volumes = ["DELETE persistentvolumeclaims db", "DELETE volumesnapshots backup"]
    pods = [DROPPED_POD] if uid else []
    assert await world.drop(DataEpoch(2, "p1"), is_stopping=is_stopping) == ([*volumes, *pods] if is_dropped else [])


@pytest.mark.parametrize("retention", ["Retain", "Delete"])
async def test_volumes_outlive_a_restart_where_the_class_says_so(retention: str) -> None:
    world = World(NOTED)
    world.add(kinds.POD, SERVER, component="server")
    job = {labels.JOB: "hello", labels.JOB_NAMESPACE: "team-a", labels.JOB_UID: "j1"}
    world.show(kinds.NAMESPACE, {"metadata": {"name": HOME, "labels": {**job, labels.RETENTION: retention}}})
    own = {**job, labels.CLUSTER: "hello", labels.COMPONENT: labels.COMPONENT_APP, labels.NESTED_UID: "n1"}
    world.add(kinds.PERSISTENT_VOLUME_CLAIM, "db", "v1", meta={"labels": own}, spec={"volumeName": "pv-1"})
    spec = {"persistentVolumeReclaimPolicy": "Delete", "claimRef": {"uid": "v1"}}
    world.api.put(kinds.PERSISTENT_VOLUME, {"metadata": {"name": "pv-1", "labels": {}}, "spec": spec})
    assert "DELETE persistentvolumeclaims db" in await world.drop(DataEpoch(2, "p1"))
    volume = world.look(kinds.PERSISTENT_VOLUME, "pv-1", "")
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == retention
    assert (volume["metadata"]["labels"] == job) is (retention == "Retain")
    verbs = [line.split()[0] for line in world.api.asked if "persistentvolume" in line]
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
