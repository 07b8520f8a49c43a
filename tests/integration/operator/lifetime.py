"""Jobs in various phases of their lifecycle, and helpers to observe them; the test plays syncer and kubelet."""

from collections.abc import Callable
from typing import Any

from nestor.api import conditions, labels, names
from nestor.api.objects import is_terminating
from nestor.kube import Api, kinds
from tests.integration.operator.world import Object, be_ready_server, build_class, build_job, host_namespace, run_of, runner_of
from tests.waiting import exists, job_with, wait_for_any

POLICY: Object = {"targets": [{"kind": "Job", "name": "pi"}]}
PERSISTENCE: Object = {"size": "1Gi", "storageClassName": "none-that-provisions"}


async def start(api: Api, name: str, namespace: str, *, state: str = "Succeeded", **spec: Any) -> tuple[Object, str]:
    """A job whose cluster works and whose one step is in this state; returns it and its own namespace."""
    job = await api.create(kinds.NESTED_APP_JOB, build_job(name, namespace, **spec))
    where = await host_namespace(api, job)
    await be_ready_server(api, name, where, run=await run_of(api, name, where, state, state=state))
    reasons = {"Succeeded": conditions.ALL_STEPS_APPLIED, "Failed": conditions.STEP_FAILED, "Running": conditions.STEP_RUNNING}
    status = "True" if state == "Succeeded" else "False"
    return await job_with(api, name, namespace, conditions.STEPS_APPLIED, status, reasons[state]), where


async def ensure_persistent_class(api: Api, name: str, persistence: Object | None = PERSISTENCE) -> None:
    """A class whose clusters have their data on a volume; nothing provisions one here, and nobody waits for it."""
    body = build_class(name)
    if persistence:
        body["spec"]["cluster"] = {"persistence": persistence}
    await api.apply(kinds.NESTED_CLASS, body)


async def change(api: Api, name: str, namespace: str, **spec: Any) -> None:
    """What the user changes of the job's spec."""
    await api.patch(kinds.NESTED_APP_JOB, name, namespace, {"spec": spec})


async def rerun(api: Api, name: str, namespace: str, value: str) -> None:
    """The user wants all steps to run again."""
    await api.patch(kinds.NESTED_APP_JOB, name, namespace, {"metadata": {"annotations": {labels.RERUN: value}}})


async def tell(api: Api, name: str, where: str, **status: Any) -> None:
    """What the syncer reports."""
    await api.patch(kinds.NESTED_CLUSTER, name, where, {"status": status}, subresource="status")


async def server_of(api: Api, name: str, where: str, *, after: str = "") -> Object:
    """Await the server's pod, another one than that with UID `after`."""

    def is_it(found: Object) -> bool:
        return found["metadata"]["uid"] != after and not is_terminating(found)

    return await exists(api, kinds.POD, f"{names.child(name, names.Part.SERVER)}-0", where, is_it)


async def another_plan(api: Api, name: str, where: str, before: str) -> None:
    """Await a runner of another plan than that."""

    def is_another(found: Object) -> bool:
        return bool(found["metadata"]["annotations"][labels.PLAN_HASH] != before)

    await runner_of(api, name, where, is_another)


async def seen(api: Api, name: str, namespace: str) -> Object:
    """Await that the operator has looked at the spec of a job as it is now, and return the job."""

    def is_seen(found: Object) -> bool:
        return bool(found["status"].get("observedGeneration") == found["metadata"]["generation"])

    return await exists(api, kinds.NESTED_APP_JOB, name, namespace, is_seen)


async def come_to(api: Api, name: str, where: str, state: str, message: str = "", *, server: str = "") -> None:
    """What the syncer of the server that is there (or of this one) says that the application came to."""
    uid = server or (await server_of(api, name, where))["metadata"]["uid"]
    await tell(api, name, where, outcome={"state": state, "message": message, "serverUID": uid})


async def cluster_with(api: Api, name: str, where: str, is_met: Callable[[Object], Any]) -> Object:
    """Await a state of the NestedCluster."""
    return await exists(api, kinds.NESTED_CLUSTER, name, where, is_met)


async def job_saying(api: Api, name: str, namespace: str, condition: str, text: str) -> Object:
    """Await a job one of whose conditions has this in its message."""

    def is_it(found: Object | None) -> bool:
        said = conditions.find((found or {}).get("status", {}).get("conditions"), condition)
        return bool(said and text in said["message"])

    return await exists(api, kinds.NESTED_APP_JOB, name, namespace, is_it)


async def job_restarted(api: Api, name: str, namespace: str, times: int) -> Object:
    """Await a job that was restarted that often."""
    return await exists(api, kinds.NESTED_APP_JOB, name, namespace, lambda found: found["status"].get("restarts") == times)


async def until_stopped(api: Api, name: str, where: str, *, is_stopped: bool = True) -> None:
    """Await that the application is told to rest, or to go on."""
    await cluster_with(api, name, where, lambda found: found["spec"].get("suspend", False) is is_stopped)


async def until_replicas(api: Api, name: str, where: str, replicas: int) -> None:
    """Await how many servers there are to be."""
    server = names.child(name, names.Part.SERVER)
    await exists(api, kinds.STATEFUL_SET, server, where, lambda found: found["spec"]["replicas"] == replicas)


async def until_told(api: Api, namespace: str, reason: str, text: str = "") -> Object:
    """Await an event in the user's namespace."""
    return await wait_for_any(api, kinds.EVENT, namespace, lambda event: event["reason"] == reason and text in event["message"])


async def create_app_pod(api: Api, name: str, where: str, job: Object, more: Object | None = None, **spec: Any) -> None:
    """A pod of the application on the host, as the syncer makes them. `more`: of its metadata."""
    own = labels.of_job(job["metadata"]["name"], job["metadata"]["namespace"], job["metadata"]["uid"])
    mine = {labels.CLUSTER: job["metadata"]["name"], labels.COMPONENT: labels.COMPONENT_APP}
    meta = {"name": name, "namespace": where, "labels": own | mine} | (more or {})
    main = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "10m"}}}
    await api.create(kinds.POD, {"metadata": meta, "spec": {"containers": [main]} | spec})
