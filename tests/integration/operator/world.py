"""Builders of what users write, and the parts of kubelet and syncer, played by tests."""

from collections.abc import Callable
from typing import Any

from nestor.api import conditions, labels, names
from nestor.api.objects import status_of
from nestor.api.times import timestamp
from nestor.kube import Api, kinds
from tests.waiting import exists, wait_for_any

Object = dict[str, Any]

VERSIONS = [{"version": "v1.35", "image": "rancher/k3s:v1.35.5-k3s1"}, {"version": "v1.36", "image": "rancher/k3s:v1.36.2-k3s1"}]
TARGET = {"service_name": "web", "service_port": 8080, "service_namespace": "default"}
STEP = {"name": "hello", "type": "kubectl", "path": "hello.yml"}
OWN_DEFAULTS = {
    "pods": "102",
    "count/pods": "1002",
    "services": "52",
    "services.nodeports": "0",
    "services.loadbalancers": "0",
    "configmaps": "208",
    "secrets": "208",
    "persistentvolumeclaims": "20",
    "requests.storage": "100Gi",
    "count/networkpolicies.networking.k8s.io": "132",
}
"""The default quota, with room for the nested cluster's own objects."""


def build_class(name: str = "default", **expose: Any) -> Object:
    """A class whose jobs are exposed below `jobs.test`."""
    return {
        "metadata": {"name": name},
        "spec": {"profile": "Evaluation", "expose": {"domain": "jobs.test", "ingressClassName": "test", "port": 8080} | expose},
    }


def build_job(name: str, namespace: str, *, nested: Object | None = None, **spec: Any) -> Object:
    """hello-world from an app image."""
    kubernetes = {"targets": [TARGET], "templates": [STEP]} if nested is None else nested
    appdef = {"name": "Hello", "appdefversion": 2, "commands": {"Hello": {"nested_kubernetes": kubernetes}}}
    app = {"image": "registry.test/hello:1", "appDef": appdef}
    return {
        "apiVersion": "nestor.dev/v1alpha1",
        "kind": "NestedAppJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"app": app} | spec,
    }


async def host_namespace(api: Api, job: Object) -> str:
    """Await and return the job's own namespace in the host cluster."""
    found = await wait_for_any(
        api, kinds.NAMESPACE, "", lambda item: True, labels=labels.selector(job_uid=job["metadata"]["uid"])
    )
    return str(found["metadata"]["name"])


async def set_pod_status(api: Api, name: str, namespace: str, status: Object) -> Object:
    """What kubelet would write; awaits the pod first."""
    await exists(api, kinds.POD, name, namespace)
    return await api.patch(kinds.POD, name, namespace, {"status": status}, subresource="status")


def waiting(container: str, reason: str, message: str) -> Object:
    """The status of a pod with a container that waits."""
    state = {
        "name": container,
        "image": "x",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"waiting": {"reason": reason, "message": message}},
    }
    return {"phase": "Pending", "containerStatuses": [state]}


def ended(container: str, code: int, reason: str = "Error") -> Object:
    """The status of a pod whose container ended just now."""
    state = {
        "name": container,
        "image": "x",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"terminated": {"exitCode": code, "reason": reason, "finishedAt": timestamp()}},
    }
    return {"phase": "Succeeded" if code == 0 else "Failed", "containerStatuses": [state]}


TOUCHED: Object = {"metadata": {"annotations": {"test/touched": "yes"}}}
"""A patch for which an object is looked at again, and which changes nothing else."""
SCHEDULED: Object = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
READY_POD: Object = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}, *SCHEDULED["conditions"]]}


async def be_syncer(api: Api, name: str, namespace: str, **status: Any) -> None:
    """What the syncer would write: Ready, and more status."""
    ready = {"type": "Ready", "status": "True", "reason": "Synced", "message": "ok", "lastTransitionTime": timestamp()}
    await exists(api, kinds.NESTED_CLUSTER, name, namespace)
    body = {"status": {"conditions": [ready], "kubernetesVersion": "v1.36.2+k3s1"} | status}
    await api.patch(kinds.NESTED_CLUSTER, name, namespace, body, subresource="status")


async def be_ready_server(api: Api, name: str, namespace: str, **status: Any) -> None:
    """The nested cluster's pod runs and its syncer works."""
    await be_syncer(api, name, namespace, **status)
    await set_pod_status(api, f"{names.child(name, names.Part.SERVER)}-0", namespace, READY_POD)


async def start_server(api: Api, name: str, namespace: str) -> None:
    """What the scheduler does; the runner's pod comes then. A server that has a status already keeps it."""
    pod = await exists(api, kinds.POD, names.server_pod(name), namespace)
    if status_of(pod).get("phase") == "Pending" and "conditions" not in status_of(pod):
        await set_pod_status(api, names.server_pod(name), namespace, SCHEDULED)


async def runner_of(api: Api, name: str, namespace: str, is_met: Callable[[Object], bool] = bool) -> Object:
    """Start the server, and await the runner's pod."""
    await start_server(api, name, namespace)
    return await exists(api, kinds.POD, names.child(name, names.Part.RUNNER), namespace, is_met)


async def plan_hash(api: Api, name: str, namespace: str) -> str:
    """The plan that the job's runner is told to run."""
    pod = await runner_of(api, name, namespace)
    return str(pod["metadata"]["annotations"]["nestor.dev/plan-hash"])


async def run_of(api: Api, name: str, namespace: str, run_state: str, **step: Any) -> Object:
    """A run with one step."""
    base = {"name": "hello", "type": "kubectl", "state": "Succeeded", "attempt": 1, "maxAttempts": 1, "message": ""}
    return {"version": 1, "hash": await plan_hash(api, name, namespace), "state": run_state, "steps": [base | step]}


async def be_target(
    api: Api, namespace: str, job: Object, *, service: str = "web", port: int = 8080, is_ready: bool = True
) -> None:
    """A target's host Service and its endpoints, as syncer and kubelet would make them."""
    name = names.host_name(service, "default")
    own = labels.of_job(job["metadata"]["name"], job["metadata"]["namespace"], job["metadata"]["uid"])
    await api.apply(
        kinds.SERVICE,
        {
            "metadata": {"name": name, "namespace": namespace, "labels": own},
            "spec": {"ports": [{"name": "http", "port": port, "targetPort": port}]},
        },
    )
    await api.apply(
        kinds.ENDPOINT_SLICE,
        {
            "metadata": {"name": f"{name[:50]}-1", "namespace": namespace, "labels": own | {"kubernetes.io/service-name": name}},
            "addressType": "IPv4",
            "ports": [{"name": "http", "port": port}],
            "endpoints": [{"addresses": ["10.42.0.9"], "conditions": {"ready": is_ready}}],
        },
    )


def message_of(job: Object, kind: str) -> str:
    """A condition's message."""
    found = conditions.find(job["status"]["conditions"], kind)
    assert found is not None
    return str(found["message"])
