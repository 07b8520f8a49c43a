"""Volumes that jobs have left count against the limit of their class, before anything begins that may leave more."""

from collections.abc import AsyncIterator

import pytest

from nestor.api import conditions, labels, names
from nestor.api.objects import is_terminating
from nestor.kube import Api, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.lifetime import POLICY, come_to, server_of, start
from tests.integration.operator.world import build_class, build_job, host_namespace, message_of
from tests.waiting import exists, gone, job_with, wait_for


@pytest.fixture
async def volume(api: Api, namespace: str) -> AsyncIterator[str]:
    """One that an earlier job of the namespace has left."""
    spec = {
        "capacity": {"storage": "6Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": "disks.example.org", "volumeHandle": namespace},
        "claimRef": {"namespace": f"nestor-{namespace}-former-00000001", "name": names.host_name("data", "shop"), "uid": "gone"},
    }
    name = f"left-{namespace}"
    meta = {"name": name, "labels": {labels.JOB: "former", labels.JOB_NAMESPACE: namespace}}
    meta["annotations"] = {labels.NESTED_NAME: "data", labels.NESTED_NAMESPACE: "shop"}
    await api.create(kinds.PERSISTENT_VOLUME, {"metadata": meta, "spec": spec})
    yield name
    await api.delete(kinds.PERSISTENT_VOLUME, name)


async def apply_class(api: Api, name: str, limit: str) -> None:
    policy = build_class(name)
    policy["spec"]["storage"] = {"classes": ["fast"], "retention": "Retain", "retainedLimit": limit}
    await api.apply(kinds.NESTED_CLASS, policy)


async def test_no_job_begins_while_what_others_have_left_is_too_much(
    operator: Operator, api: Api, namespace: str, volume: str
) -> None:
    name = f"class-{namespace}"
    await apply_class(api, name, "5Gi")
    await api.create(kinds.NESTED_APP_JOB, build_job("next", namespace, className=name))
    waiting = await job_with(api, "next", namespace, conditions.ADMITTED, "False", conditions.RETAINED_LIMIT)
    assert "have left (1) reach the limit of 5Gi" in message_of(waiting, conditions.ADMITTED)
    assert "clusterName" not in waiting["status"]
    await api.create(kinds.NESTED_APP_JOB, build_job("other", namespace))
    await job_with(api, "other", namespace, conditions.ADMITTED, "True")
    await apply_class(api, name, "7Gi")
    await job_with(api, "next", namespace, conditions.ADMITTED, "True")
    await apply_class(api, name, "5Gi")
    await job_with(api, "next", namespace, conditions.ADMITTED, "True")


@pytest.mark.parametrize("is_by_hand", [False, True])
async def test_a_later_job_gets_the_volume_that_an_earlier_one_has_left_and_leaves_it_again(
    operator: Operator, api: Api, namespace: str, volume: str, is_by_hand: bool
) -> None:
    """The host's own controllers bind the claim. One job after the other gets it, and the limit is no obstacle to that. An admin
    may have made the volume and its labels by hand.
    """
    name = f"class-{namespace}"
    await apply_class(api, name, "5Gi")
    if is_by_hand:
        await api.patch(kinds.PERSISTENT_VOLUME, volume, None, {"spec": {"claimRef": None}})
    for job, former in (("next", "former"), ("last", "next")):
        made = await api.create(kinds.NESTED_APP_JOB, build_job(job, namespace, className=name, storage={"volumesFrom": former}))
        where = await host_namespace(api, made)
        claim = names.host_name("data", "shop")
        found = await exists(api, kinds.PERSISTENT_VOLUME_CLAIM, claim, where, lambda item: item["status"]["phase"] == "Bound")
        assert found["spec"]["volumeName"] == volume
        other = await api.create(
            kinds.NESTED_APP_JOB, build_job(f"not-{job}", namespace, className=name, storage={"volumesFrom": former})
        )
        await job_with(api, f"not-{job}", namespace, conditions.ADMITTED, "False", conditions.VOLUMES_UNAVAILABLE)
        for item in (other, made):
            await api.delete(kinds.NESTED_APP_JOB, item["metadata"]["name"], namespace)
            await gone(api, kinds.NESTED_APP_JOB, item["metadata"]["name"], namespace)
        left = await exists(api, kinds.PERSISTENT_VOLUME, volume, "", lambda item: item["status"]["phase"] == "Released")
        assert left["metadata"]["labels"][labels.JOB] == job


@pytest.mark.slow
async def test_a_job_that_begins_again_keeps_its_volumes_until_they_may_stay(
    operator: Operator, api: Api, namespace: str, volume: str
) -> None:
    name = f"class-{namespace}"
    await apply_class(api, name, "7Gi")
    policy = {"action": "Restart", "maxRestarts": 1}
    _, where = await start(api, "again", namespace, className=name, successPolicy=POLICY, failurePolicy=policy)
    before = (await server_of(api, "again", where))["metadata"]["uid"]
    marks = {labels.MANAGED_BY: "nestor", labels.JOB: "again", labels.CLUSTER: "again", labels.NESTED_UID: "n"}
    meta = {"name": "data", "namespace": where, "labels": marks}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}
    await api.create(kinds.PERSISTENT_VOLUME_CLAIM, {"metadata": meta, "spec": spec})
    await apply_class(api, name, "5Gi")
    await come_to(api, "again", where, "Failed", "Job 'pi' has failed")
    await job_with(api, "again", namespace, conditions.ADMITTED, "False", conditions.RETAINED_LIMIT)
    assert await api.find(kinds.PERSISTENT_VOLUME_CLAIM, "data", where)
    assert (await server_of(api, "again", where))["metadata"]["uid"] == before
    await apply_class(api, name, "7Gi")
    await server_of(api, "again", where, after=before)
    await wait_for(api, kinds.PERSISTENT_VOLUME_CLAIM, "data", where, lambda found: found is None or is_terminating(found))
