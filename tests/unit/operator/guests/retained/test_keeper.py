"""Which volumes stay when a job is deleted, and how much may be left before a further one begins."""

import re
from typing import Any, cast

import pytest

from nestor.api import conditions, labels
from nestor.kube import Api, Kind, NotFound, kinds
from nestor.operator.guests.retained.keeper import check_retained, find_limit, retain_volumes
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import Object, build_policy

WHERE = "nestor-team-a-hello-1"
JOB = {labels.JOB: "hello", labels.JOB_NAMESPACE: "team-a", labels.JOB_UID: "j1"}
NAMESPACE = {"metadata": {"name": WHERE, "labels": JOB | {labels.RETENTION: "Retain"}}}


def build_cluster(*, of_app: bool = True, ref: str = "claim-1", volume: str | None = "pv-1", **spec: Any) -> MemoryApi:
    """A host cluster with a claim and a volume."""
    api = MemoryApi()
    marks = {labels.COMPONENT: labels.COMPONENT_APP, labels.NESTED_UID: "n1"} if of_app else {}
    meta = {"name": "data", "namespace": WHERE, "uid": "claim-1", "labels": JOB | marks}
    meta["annotations"] = {labels.NESTED_NAME: "data", labels.NESTED_NAMESPACE: "default", "other": "x"}
    api.put(kinds.PERSISTENT_VOLUME_CLAIM, {"metadata": meta, "spec": {"volumeName": volume} if volume else {}})
    own = {"persistentVolumeReclaimPolicy": "Delete", "claimRef": {"uid": ref}}
    api.put(kinds.PERSISTENT_VOLUME, {"metadata": {"name": "pv-1", "labels": {"zone": "a"}}, "spec": own | spec})
    return api


async def retained(api: MemoryApi) -> Object:
    await retain_volumes(cast(Api, api), NAMESPACE)
    return cast(Object, api.look(kinds.PERSISTENT_VOLUME, "pv-1"))


async def test_an_application_s_volume_stays_and_says_whose_it_was() -> None:
    api = build_cluster()
    volume = await retained(api)
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert volume["metadata"]["labels"] == {"zone": "a", **JOB}
    assert volume["metadata"]["annotations"] == {labels.NESTED_NAME: "data", labels.NESTED_NAMESPACE: "default"}
    api.asked.clear()
    await retained(api)
    assert not [line for line in api.asked if line.startswith("PATCH")]


@pytest.mark.parametrize(
    "given",
    [{"of_app": False}, {"ref": "claim-2"}, {"volume": None}, {"volume": "pv-2"}],
    ids=["own", "others", "unbound", "gone"],
)
async def test_no_other_volume_is_touched(given: Object) -> None:
    volume = await retained(build_cluster(**given))
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    assert volume["metadata"]["labels"] == {"zone": "a"}


@pytest.mark.parametrize(
    ("ref", "content", "policy"),
    [("snapshot-1", "content-1", "Retain"), ("other", "content-1", "Delete"), ("snapshot-1", "content-2", "Delete")],
    ids=["own", "others", "gone"],
)
async def test_a_snapshot_of_the_application_stays_alike(ref: str, content: str, policy: str) -> None:
    api = MemoryApi()
    marks = JOB | {labels.COMPONENT: labels.COMPONENT_APP, labels.NESTED_UID: "n1"}
    meta = {"name": "backup", "namespace": WHERE, "uid": "snapshot-1", "labels": marks}
    meta["annotations"] = {labels.NESTED_NAME: "backup", labels.NESTED_NAMESPACE: "default"}
    status = {"boundVolumeSnapshotContentName": content}
    api.put(kinds.VOLUME_SNAPSHOT, {"metadata": meta, "spec": {}, "status": status})
    spec = {"deletionPolicy": "Delete", "volumeSnapshotRef": {"uid": ref}}
    api.put(kinds.VOLUME_SNAPSHOT_CONTENT, {"metadata": {"name": "content-1"}, "spec": spec})
    await retain_volumes(cast(Api, api), NAMESPACE)
    found = cast(Object, api.look(kinds.VOLUME_SNAPSHOT_CONTENT, "content-1"))
    assert found["spec"]["deletionPolicy"] == policy
    assert (found["metadata"].get("labels") == JOB) is (policy == "Retain")


async def test_a_host_without_snapshots_has_none_to_keep() -> None:
    class Older(MemoryApi):
        """Has claims alone."""

        async def list(self, kind: Kind, *given: Any, **named: Any) -> list[Object]:
            if kind is kinds.VOLUME_SNAPSHOT:
                raise NotFound(404, "NotFound", "the server could not find the requested resource")
            return await super().list(kind, *given, **named)

    await retain_volumes(cast(Api, Older()), NAMESPACE)


def build_volume(size: str | None, **meta: Any) -> Object:
    return {"metadata": {"name": "pv", **meta}, "spec": {"capacity": {"storage": size}} if size else {}}


@pytest.mark.parametrize(
    ("storage", "quota", "limit"),
    [
        ({"retention": "Retain"}, {}, "100Gi"),
        ({"retention": "Retain"}, {"requests.storage": "5Gi"}, "5Gi"),
        ({"retention": "Retain", "retainedLimit": "7Gi"}, {"requests.storage": "5Gi"}, "7Gi"),
        ({"retention": "Retain", "retainedLimit": 0}, {}, "0"),
        ({"retainedLimit": "7Gi"}, {}, None),
        (None, {}, None),
    ],
)
def test_the_limit_is_the_class_s_or_its_quota_once(storage: Object | None, quota: Object, limit: str | None) -> None:
    given = {"storage": {"classes": ["fast"], **storage}} if storage is not None else {}
    assert find_limit(build_policy(namespace={"quota": quota}, **given)) == limit


@pytest.mark.parametrize(
    ("sizes", "is_refused"),
    [
        ((), False),
        (("4Gi",), False),
        (("4Gi", "1Gi"), True),
        (("6Gi",), True),
        # Each counts as one gibibyte at least, so that their number is bounded, too.
        (("1Mi",) * 4, False),
        (("1Mi",) * 5, True),
        ((None, "junk", "1k", "1k", "1k"), True),
    ],
)
def test_a_job_begins_only_while_less_is_left_than_the_limit(sizes: tuple[str | None, ...], is_refused: bool) -> None:
    found = check_retained("team-a", "databases", "5Gi", [build_volume(size) for size in sizes])
    assert (found is not None) is is_refused
    if found is not None:
        assert (found.reason, found.status) == (conditions.RETAINED_LIMIT, "False")
        assert found.retry_seconds
        assert "storage.retainedLimit" in found.message
        assert "kubectl get pv -l nestor.dev/job-namespace=team-a" in found.message


def test_snapshots_count_as_the_volumes_that_could_be_filled_from_them() -> None:
    content = {"metadata": {}, "spec": {"volumeSnapshotRef": {"name": "x"}}, "status": {"restoreSize": 4 * 2**30}}
    assert check_retained("team-a", "databases", "5Gi", [content]) is None
    found = check_retained("team-a", "databases", "5Gi", [content, {"metadata": {}, "spec": content["spec"]}])
    assert found is not None
    assert check_retained("team-a", "databases", "0", []) is not None, "with a limit of nothing no job begins"
    assert re.search(r"the volumes and snapshots .* \(2\) .* and `kubectl get volumesnapshotcontents` alike", found.message)
