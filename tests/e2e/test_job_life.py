"""A job's life with real pods: it rests and goes on with its data, ends by itself or by its time, begins again when it failed."""

import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from nestor.pods.translate.labels import host_key
from tests.e2e.conftest import apply, class_like_default, dump, example, inline_job, kubectl, nested_kubeconfig, workload
from tests.waiting import gone, has, job_with, message_of, wait_for, wait_for_any, wait_for_none

APP = labels.selector(component="app")
SERVER = labels.selector(component="server")

SERVICE = dump(workload("Deployment", "web"))
BARE = """
apiVersion: v1
kind: Pod
metadata: {name: bare, namespace: default}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {name: main, image: "docker.io/library/busybox:1.35", command: [sleep, "3600"]}
"""
BATCH = """
apiVersion: batch/v1
kind: Job
metadata: {name: pi, namespace: default}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers:
      - {name: main, image: "docker.io/library/busybox:1.35", command: [sh, -c, "exit 3"]}
"""
POLICY: Object = {"targets": [{"kind": "Job", "name": "pi"}]}


async def start(api: Api, name: str, namespace: str, templates: dict[str, str], **spec: Any) -> Object:
    """A job that has been admitted."""
    documents = inline_job(name, namespace, templates)
    documents[-1]["spec"] |= spec
    await apply(api, documents)
    return await job_with(api, name, namespace, conditions.ADMITTED, "True")


async def change(api: Api, job: Object, **spec: Any) -> None:
    """What the user changes of the job's spec."""
    meta = job["metadata"]
    await api.patch(kinds.NESTED_APP_JOB, meta["name"], meta["namespace"], {"spec": spec})


async def until_app_runs(api: Api, where: str, count: int) -> None:
    """Await so many pods of the application that are ready on the host."""

    def is_running(item: Object) -> bool:
        return conditions.is_true(item["status"].get("conditions"), "Ready")

    seen: set[str] = set()
    while len(seen) < count:
        pod = await wait_for_any(
            api, kinds.POD, where, lambda item: is_running(item) and item["metadata"]["name"] not in seen, labels=APP
        )
        seen.add(pod["metadata"]["name"])


async def until_at_rest(api: Api, job: Object, text: str) -> Object:
    """Await that the job says in this way that it rests."""

    def is_it(found: Object | None) -> bool:
        return has(conditions.READY, "False", conditions.SUSPENDED)(found) and text in message_of(found or {}, conditions.READY)

    meta = job["metadata"]
    found = await wait_for(api, kinds.NESTED_APP_JOB, meta["name"], meta["namespace"], is_it)
    assert found is not None
    return found


def _waits(pod: Object, prefix: str) -> bool:
    """A nested pod that waits for its job to go on, and says so."""
    scheduled = conditions.find(pod["status"].get("conditions"), "PodScheduled") or {}
    return (
        pod["metadata"]["name"].startswith(prefix)
        and pod["status"].get("phase") == "Pending"
        and scheduled.get("reason") == conditions.SUSPENDED
    )


async def until_told(api: Api, namespace: str, *reasons: str) -> None:
    """Await events with these reasons in the user's namespace; they are posted a moment after the status is written."""
    for reason in reasons:
        await wait_for_any(api, kinds.EVENT, namespace, _gives(reason))


def _gives(reason: str) -> Callable[[Object], bool]:
    return lambda event: event["reason"] == reason


async def test_a_job_rests_before_it_begins_and_while_it_runs_and_is_stopped_at_its_deadline(
    api: Api, namespace: str, tmp_path: Path
) -> None:
    job = await start(api, "rests", namespace, {"web.yml": SERVICE, "bare.yml": BARE}, suspend=True)
    await until_at_rest(api, job, "before it started")
    assert await api.list(kinds.NAMESPACE, labels=labels.selector(job_uid=job["metadata"]["uid"])) == []
    await change(api, job, suspend=False, activeDeadlineSeconds=3600)
    job = await job_with(api, "rests", namespace, conditions.READY, "True")
    where = job["status"]["namespace"]
    await until_app_runs(api, where, 2)
    nested = await nested_kubeconfig(api, job, tmp_path)
    await kubectl(nested, "create", "configmap", "mine", "--from-literal=kept=yes")

    await change(api, job, suspend=True)
    resting = await until_at_rest(api, job, "its control plane keeps running")
    assert await api.list(kinds.POD, where, labels=APP) == []
    assert conditions.is_true(resting["status"]["conditions"], conditions.CLUSTER_READY)
    async with await Api.connect(str(nested)) as inside:
        await wait_for_any(inside, kinds.POD, "default", lambda item: _waits(item, "web-"))
        await wait_for_any(inside, kinds.POD, "default", lambda item: _waits(item, "bare"))
    assert await api.list(kinds.POD, where, labels=APP) == [], "what waits gets no pod on the host"

    await change(api, job, suspend=False)
    back = await job_with(api, "rests", namespace, conditions.READY, "True")
    await until_app_runs(api, where, 2)
    assert await kubectl(nested, "get", "configmap", "mine", "-o", "jsonpath={.data.kept}") == "yes"
    assert back["status"]["steps"] == job["status"]["steps"], "no finished step runs twice"

    await change(api, job, activeDeadlineSeconds=1)
    job = await job_with(api, "rests", namespace, conditions.SUCCEEDED, "False", conditions.DEADLINE_EXCEEDED)
    assert has(conditions.READY, "False", conditions.DEADLINE_EXCEEDED)(job)
    await wait_for_none(api, kinds.POD, where, labels=APP)
    await until_told(api, namespace, "Suspended", "Resumed", "DeadlineExceeded")


@pytest.fixture
async def persistent_class(api: Api) -> AsyncIterator[str]:
    """A class like the default one whose clusters keep their data on a volume: one, below `/run` of a node, gone with it."""
    name = f"keep-{uuid.uuid4().hex[:6]}"
    await api.create(
        kinds.STORAGE_CLASS,
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "Immediate",
        },
    )
    own = await api.list(kinds.NODE, labels=f"!{labels.BACKEND}")  # other tests have virtual ones
    node = own[0]["metadata"]["labels"]["kubernetes.io/hostname"]
    there = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    await api.create(
        kinds.PERSISTENT_VOLUME,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": name,
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": {"path": f"/run/nestor-e2e/{name}", "type": "DirectoryOrCreate"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [there]}},
            },
        },
    )
    async with class_like_default(api, "keep", cluster={"persistence": {"size": "1Gi", "storageClassName": name}}) as class_name:
        yield class_name
    for kind in (kinds.PERSISTENT_VOLUME, kinds.STORAGE_CLASS):
        await api.delete(kind, name)


@pytest.mark.long
async def test_with_a_volume_a_suspended_job_has_no_pod_at_all_and_comes_back_as_it_was(
    api: Api, namespace: str, persistent_class: str, tmp_path: Path
) -> None:
    await start(api, "kept", namespace, {"web.yml": SERVICE}, className=persistent_class)
    job = await job_with(api, "kept", namespace, conditions.READY, "True")
    where = job["status"]["namespace"]
    await until_app_runs(api, where, 1)
    nested = await nested_kubeconfig(api, job, tmp_path)
    await kubectl(nested, "create", "configmap", "mine", "--from-literal=kept=yes")

    await change(api, job, suspend=True)
    resting = await until_at_rest(api, job, "its data stays in PersistentVolumeClaim 'data-kept-k3s-0'")
    assert has(conditions.CLUSTER_READY, "False", conditions.SUSPENDED)(resting)
    await wait_for_none(api, kinds.POD, where, labels=SERVER)
    assert await api.list(kinds.POD, where, labels=APP) == []

    await change(api, job, suspend=False)
    back = await job_with(api, "kept", namespace, conditions.READY, "True")
    await until_app_runs(api, where, 1)
    assert await kubectl(nested, "get", "configmap", "mine", "-o", "jsonpath={.data.kept}") == "yes"
    assert back["status"]["steps"] == job["status"]["steps"], "no data was lost: nothing is applied anew"

    await api.delete(kinds.NESTED_APP_JOB, "kept", namespace)
    await gone(api, kinds.NESTED_APP_JOB, "kept", namespace)
    assert await api.list(kinds.PERSISTENT_VOLUME_CLAIM, where) == []


async def test_a_batch_job_completes_by_itself_and_is_deleted_when_its_time_is_over(
    api: Api, namespace: str, tmp_path: Path
) -> None:
    files, document = example("06-batch", "batch", namespace)
    files["data"]["web.yml"] = SERVICE
    command = document["spec"]["app"]["appDef"]["commands"]["Run"]["nested_kubernetes"]
    command["templates"].append({"name": "web", "type": "kubectl", "path": "web.yml"})
    await apply(api, [files, document])
    job = await job_with(api, "batch", namespace, conditions.SUCCEEDED, "True", conditions.COMPLETED)
    where = job["status"]["namespace"]
    assert job["status"]["completionTime"] >= job["status"]["startTime"]
    assert has(conditions.READY, "True", conditions.COMPLETED)(job)

    def has_ended(item: Object) -> bool:
        return item["status"].get("phase") in ("Succeeded", "Failed")

    # The service beside it is taken down; what the batch said can still be read.
    await wait_for_none(api, kinds.POD, where, labels=f"{APP},{host_key('app', ())}=web")
    assert all(has_ended(pod) for pod in await api.list(kinds.POD, where, labels=APP))
    nested = await nested_kubeconfig(api, job, tmp_path)
    sums = await kubectl(nested, "logs", "-n", "default", "-l", "app=sum")
    assert sum(int(line) for line in sums.split()) == sum(range(1_000_000))

    await change(api, job, ttlSecondsAfterFinished=1)
    await gone(api, kinds.NESTED_APP_JOB, "batch", namespace)
    await gone(api, kinds.NAMESPACE, where, "")
    await until_told(api, namespace, "Completed", "Expired")


@pytest.mark.long
async def test_a_failed_batch_begins_again_in_an_empty_cluster_and_fails_for_good_in_the_end(
    api: Api, namespace: str, tmp_path: Path
) -> None:
    policy = {"action": "Restart", "maxRestarts": 1}
    job = await start(api, "tries", namespace, {"batch.yml": BATCH}, successPolicy=POLICY, failurePolicy=policy)
    where = job["status"]["namespace"]
    job = await job_with(api, "tries", namespace, conditions.READY, "False", conditions.RESTARTING)
    assert "restart 1 of 1 in an empty cluster" in message_of(job, conditions.READY)
    (before,) = await api.list(kinds.POD, where, labels=SERVER)
    job = await job_with(api, "tries", namespace, conditions.SUCCEEDED, "False", conditions.RESTARTS_EXHAUSTED)
    assert job["status"]["restarts"] == 1
    (after,) = await api.list(kinds.POD, where, labels=SERVER)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    # The control plane stays, so that it can be seen what failed.
    nested = await nested_kubeconfig(api, job, tmp_path)
    assert "pi" in await kubectl(nested, "get", "jobs", "-n", "default", "-o", "name")
    await until_told(api, namespace, "Restarted", "JobFailed")
