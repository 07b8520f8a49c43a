"""Deletion in every phase, with and without an operator, with obstacles: nothing is left, and force is reported."""

import pytest

from nestor.api import conditions, labels
from nestor.api.objects import status_of
from nestor.kube import Api, Kind, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator, operator_running
from tests.integration.operator.world import Object, be_ready_server, build_class, build_job, host_namespace, runner_of
from tests.waiting import eventually, exists, gone, job_with, wait_for, wait_for_any, wait_for_none

CONTROLLER_REVISION = Kind("apps", "v1", "controllerrevisions", "ControllerRevision")
MADE = [
    CONTROLLER_REVISION,
    kinds.PERSISTENT_VOLUME_CLAIM,
    kinds.RESOURCE_QUOTA,
    kinds.LIMIT_RANGE,
    kinds.NAMESPACE,
    kinds.POD,
    kinds.SERVICE,
    kinds.CONFIG_MAP,
    kinds.SECRET,
    kinds.SERVICE_ACCOUNT,
    kinds.STATEFUL_SET,
    kinds.ENDPOINT_SLICE,
    kinds.INGRESS,
    kinds.NETWORK_POLICY,
    kinds.ROLE_BINDING,
    kinds.CLUSTER_ROLE_BINDING,
    kinds.NESTED_APP_JOB,
    kinds.NESTED_CLUSTER,
]


async def nothing_left(api: Api, *words: str) -> None:
    """Await that no object of the kinds that a job makes has all these words in its name and its namespace's."""

    async def is_clean() -> bool:
        found = [item["metadata"] for kind in MADE for item in await api.list(kind)]
        return not [meta for meta in found if all(word in f"{meta.get('namespace')}/{meta['name']}" for word in words)]

    await eventually(is_clean)


def finalizers_of(item: Object) -> list[str]:
    """What an object's deletion waits for."""
    return list(item["metadata"].get("finalizers") or ())


async def await_gone(api: Api, job: Object) -> None:
    """The job's namespace and the job."""
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    await gone(api, kinds.NESTED_APP_JOB, name, namespace)
    await wait_for_none(api, kinds.NAMESPACE, "", labels=labels.selector(job_uid=job["metadata"]["uid"]))


async def test_a_job_deleted_at_once_leaves_nothing(operator: Operator, api: Api, namespace: str) -> None:
    await api.create(kinds.NESTED_APP_JOB, build_job("blink", namespace))
    await api.delete(kinds.NESTED_APP_JOB, "blink", namespace)
    await gone(api, kinds.NESTED_APP_JOB, "blink", namespace)
    # A deletion in the very moment of our finalizer wins over it, and that pass makes everything before the next one sweeps it.

    async def is_seen() -> bool:
        return f"NestedAppJob {namespace}/blink reconciled" in operator.log.read_text()

    await eventually(is_seen)
    await nothing_left(api, "blink")


async def test_a_ready_cluster_goes_to_the_last_object(operator: Operator, api: Api, namespace: str) -> None:
    body = build_job("ready", namespace)
    # Held until its last state has been read, which may be over in a second.
    body["metadata"]["finalizers"] = ["example.com/read"]
    job = await api.create(kinds.NESTED_APP_JOB, body)
    await be_ready_server(api, "ready", await host_namespace(api, job))
    await job_with(api, "ready", namespace, conditions.CLUSTER_READY, "True")
    await api.delete(kinds.NESTED_APP_JOB, "ready", namespace)
    ready = await job_with(api, "ready", namespace, conditions.READY, "False", conditions.TERMINATING)
    assert ready["status"]["namespace"] in conditions.find(ready["status"]["conditions"], "Ready")["message"]  # type: ignore[index]
    held = body["metadata"]["finalizers"]
    await exists(api, kinds.NESTED_APP_JOB, "ready", namespace, lambda found: finalizers_of(found) == held)
    await api.patch(kinds.NESTED_APP_JOB, "ready", namespace, {"metadata": {"finalizers": None}})
    await await_gone(api, job)
    await nothing_left(api, "ready", namespace)


async def test_pods_that_do_not_end_are_forced_and_named(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("stuck", namespace))
    where = await host_namespace(api, job)
    await runner_of(api, "stuck", where)
    # A pod with a node ends when its kubelet says so; this node has none.
    binding = {
        "metadata": {"name": "stuck-run", "namespace": where},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "lost"},
    }
    await api.create(kinds.POD, binding, subresource="binding", name="stuck-run")
    await api.delete(kinds.NESTED_APP_JOB, "stuck", namespace)
    event = await wait_for_any(api, kinds.EVENT, namespace, lambda item: item["reason"] == "PodForceDeleted")
    assert "'stuck-run'" in event["message"]
    await await_gone(api, job)


@pytest.mark.slow
async def test_a_namespace_that_never_goes_is_left_behind_and_named(second_plane: apiserver.ControlPlane, lonely: Api) -> None:
    """Given up by another operator: the first one awaits what the host's controller says of it, however long that takes."""
    async with operator_running(second_plane):
        job = await lonely.create(kinds.NESTED_APP_JOB, build_job("left", "default"))
        where = await host_namespace(lonely, job)
        keep = {"metadata": {"name": "keep", "namespace": where, "finalizers": ["example.com/never"]}}
        await lonely.apply(kinds.CONFIG_MAP, keep)
        await lonely.delete(kinds.NESTED_APP_JOB, "left", "default")
        await wait_for(lonely, kinds.NAMESPACE, where, "", lambda found: "example.com/never" in str(status_of(found)))
    async with operator_running(second_plane, give_up=1):
        event = await wait_for_any(lonely, kinds.EVENT, "default", lambda item: item["reason"] == "NamespaceLeftBehind")
        assert "example.com/never" in event["message"]
        await gone(lonely, kinds.NESTED_APP_JOB, "left", "default")
    await lonely.patch(kinds.CONFIG_MAP, "keep", where, {"metadata": {"finalizers": None}})
    await gone(lonely, kinds.NAMESPACE, where, "")


def build_volume(name: str, claim: Object) -> Object:
    """A volume as a provisioner makes it: it goes with its claim."""
    meta = claim["metadata"]
    ref = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"} | {key: meta[key] for key in ("name", "namespace", "uid")}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "persistentVolumeReclaimPolicy": "Delete",
        "claimRef": ref,
        "csi": {"driver": "disks.example.org", "volumeHandle": name},
    }
    return {"metadata": {"name": name}, "spec": spec}


async def test_volumes_outlive_their_job_where_the_class_says_so(operator: Operator, api: Api, namespace: str) -> None:
    name = f"class-{namespace}"
    policy = build_class(name)
    policy["spec"]["storage"] = {"classes": ["fast"], "retention": "Retain"}
    await api.apply(kinds.NESTED_CLASS, policy)
    job = await api.create(kinds.NESTED_APP_JOB, build_job("keeper", namespace, className=name))
    where = await host_namespace(api, job)
    await exists(api, kinds.NESTED_CLUSTER, "keeper", where)
    # What the syncer makes of a nested claim.
    own = {labels.JOB: "keeper", labels.JOB_NAMESPACE: namespace, labels.JOB_UID: job["metadata"]["uid"]}
    marks = {labels.COMPONENT: labels.COMPONENT_APP, labels.NESTED_UID: "nested", labels.CLUSTER: "keeper"}
    meta = {"name": "data-x-default", "namespace": where, "labels": own | marks}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}
    notes = {labels.NESTED_NAME: "data", labels.NESTED_NAMESPACE: "default"}
    body = {"metadata": meta | {"annotations": notes}, "spec": spec}
    claim = await api.create(kinds.PERSISTENT_VOLUME_CLAIM, body)
    volume = f"pv-{namespace}"
    await api.create(kinds.PERSISTENT_VOLUME, build_volume(volume, claim))
    await wait_for(
        api, kinds.PERSISTENT_VOLUME_CLAIM, "data-x-default", where, lambda found: status_of(found).get("phase") == "Bound"
    )

    await api.delete(kinds.NESTED_APP_JOB, "keeper", namespace)
    await await_gone(api, job)
    found = await api.list(kinds.PERSISTENT_VOLUME, labels=f"{labels.JOB_NAMESPACE}={namespace},{labels.JOB}=keeper")
    (kept,) = found
    assert kept["metadata"]["name"] == volume
    assert kept["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert notes.items() <= kept["metadata"]["annotations"].items()
    await api.delete(kinds.PERSISTENT_VOLUME, volume)
