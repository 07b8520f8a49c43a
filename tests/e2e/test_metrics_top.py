"""What pods use, inside a nested cluster: from a real metrics-server in the host, and a clear answer where there is none."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import devcluster.cluster
from devcluster.progress import Console
from nestor.api import conditions, labels
from nestor.api.objects import Object
from nestor.kube import Api, Kind, kinds
from tests.e2e.conftest import (
    Web,
    apply,
    change_nestor,
    class_like_default,
    example,
    image,
    kubectl,
    nested_kubeconfig,
    try_kubectl,
)
from tests.waiting import eventually, gone, has, job_with, wait_for, wait_for_none

# The metrics API is the host's: while it is there, all nested clusters have it.
pytestmark = [pytest.mark.xdist_group("metrics"), pytest.mark.long]

NAME, NAMESPACE = "metrics-server", "kube-system"
VERSION = "v1beta1.metrics.k8s.io"

RULES: list[Object] = [
    {"apiGroups": [""], "resources": ["nodes/metrics"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["extension-apiserver-authentication"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]},
    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
]


def build_pod() -> Object:
    """metrics-server, as its own manifests run it, but for the kubelets' certificates."""
    container = {
        "name": NAME,
        "image": image("metrics-server:v0.9.0"),
        "args": [
            "--cert-dir=/tmp",
            "--secure-port=10251",
            "--kubelet-preferred-address-types=InternalIP",
            "--kubelet-use-node-status-port",
            "--kubelet-insecure-tls",
            "--metric-resolution=10s",
            "--kubelet-request-timeout=5s",
        ],
        "readinessProbe": {
            "httpGet": {"path": "/readyz", "port": 10251, "scheme": "HTTPS"},
            "periodSeconds": 2,
            "timeoutSeconds": 10,
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    spec = {
        "serviceAccountName": NAME,
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }
    return {"metadata": {"name": NAME, "namespace": NAMESPACE, "labels": {"app": NAME}}, "spec": spec}


def build_rest() -> list[tuple[Kind, Object]]:
    """What metrics-server needs, and its entry in the API server."""
    home = {"name": NAME, "namespace": NAMESPACE}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME}
    service = {"selector": {"app": NAME}, "ports": [{"name": "https", "port": 443, "targetPort": 10251}]}
    api = {
        "group": "metrics.k8s.io",
        "version": "v1beta1",
        "service": home,
        "insecureSkipTLSVerify": True,
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
    }
    return [
        (kinds.SERVICE_ACCOUNT, {"metadata": home}),
        (kinds.CLUSTER_ROLE, {"metadata": {"name": NAME}, "rules": RULES}),
        (
            kinds.CLUSTER_ROLE_BINDING,
            {"metadata": {"name": NAME}, "roleRef": role, "subjects": [{"kind": "ServiceAccount"} | home]},
        ),
        (kinds.SERVICE, {"metadata": home, "spec": service}),
        (kinds.POD, build_pod()),
        (kinds.API_SERVICE, {"metadata": {"name": VERSION}, "spec": api}),
    ]


@pytest.fixture
async def metrics_server(api: Api) -> AsyncIterator[Any]:
    """Starts a metrics-server in the host, which goes at the end: it first, or namespaces could not be deleted meanwhile."""

    async def start() -> None:
        await asyncio.to_thread(devcluster.cluster.load, Console(), "metrics-server")
        for kind, body in build_rest():
            if kind is kinds.API_SERVICE:  # one that does not answer would hold up whoever deletes a namespace
                await wait_for(api, kinds.POD, NAME, NAMESPACE, has("Ready", "True"))
            await api.apply(kind, body)

    yield start
    for kind, body in reversed(build_rest()):
        await api.delete(kind, body["metadata"]["name"], body["metadata"].get("namespace"))
    await gone(api, kinds.POD, NAME, NAMESPACE)


async def test_an_autoscaled_web_server_grows_under_load(api: Api, namespace: str, metrics_server: Any, tmp_path: Path) -> None:
    await apply(api, example("16-autoscaled-web", "autoscaled", namespace))
    job = await job_with(api, "autoscaled", namespace, conditions.READY, "True")
    inside = await nested_kubeconfig(api, job, tmp_path)

    async def top(*arguments: str) -> str | None:
        code, output = await try_kubectl(inside, "top", *arguments, "--no-headers")
        return output if code == 0 and "No resources found" not in output else None

    # Without a metrics API in the host, everybody is told why, the autoscaler above all.
    async def is_told() -> bool:
        code, output = await try_kubectl(inside, "top", "pods")
        return code != 0 and "the host cluster has no metrics API" in output

    await eventually(is_told)

    begin = time.monotonic()
    await metrics_server()
    await kubectl(inside, "scale", "deployment/load", "--replicas=2")
    pods = await eventually(lambda: top("pods", "-l", "app=web"))
    print(f"kubectl top pods after {time.monotonic() - begin:.0f} s:\n{pods}")
    assert pods.startswith("web-")

    async def are_all_shown() -> bool:
        """The web server grows meanwhile, perhaps onto another node."""
        nodes = await top("nodes") or ""
        listed = json.loads(await kubectl(inside, "get", "nodes", "-o", "json"))["items"]
        return sorted(line.split()[0] for line in nodes.splitlines()) == sorted(item["metadata"]["name"] for item in listed)

    await eventually(are_all_shown)

    async def has_grown() -> bool:
        found = json.loads(await kubectl(inside, "get", "deployment", "web", "-o", "json"))
        return int(found["status"].get("readyReplicas", 0)) > 1

    try:
        await eventually(has_grown)
    finally:
        print(await kubectl(inside, "describe", "hpa", "web"), await top("pods"))
        print(await try_kubectl(inside, "logs", "--selector=app=load", "--tail=5"))  # not all of them need to run yet
    print(f"grown after {time.monotonic() - begin:.0f} s")


@pytest.fixture
async def activator(kubeconfig: Path, metrics_server: Any) -> AsyncIterator[None]:
    """Jobs may sleep."""
    await metrics_server()
    await change_nestor(kubeconfig, "activator.enabled=true")
    yield
    await change_nestor(kubeconfig, "activator.enabled=false")


@pytest.mark.alone  # the operator restarts
@pytest.mark.parametrize("data", ["memory", "volume"])
async def test_a_job_that_nobody_uses_sleeps_and_a_request_wakes_it(
    api: Api, namespace: str, web: Web, activator: None, data: str
) -> None:
    parts = {"cluster": {"persistence": {"size": "1Gi"}}} if data == "volume" else {}
    async with class_like_default(api, "sleepy", **parts) as class_name:
        documents = example("01-hello-world", "sleepy", namespace)
        documents[-1]["spec"] |= {"className": class_name, "idleSeconds": 30}
        await apply(api, documents)
        url = (await job_with(api, "sleepy", namespace, conditions.READY, "True"))["status"]["url"]
        assert "Hello" in await web.page(url)
        asleep = await job_with(api, "sleepy", namespace, conditions.READY, "False", conditions.SUSPENDED)
        where = asleep["status"]["namespace"]
        await wait_for_none(api, kinds.POD, where, labels=labels.selector(component=labels.COMPONENT_APP))
        if data == "volume":
            await wait_for_none(api, kinds.POD, where, labels=labels.selector(component=labels.COMPONENT_SERVER))

        begin = time.monotonic()
        assert "Hello" in (await web.ask(url)).text
        print(f"{data}: woke after {time.monotonic() - begin:.1f} s")
        await job_with(api, "sleepy", namespace, conditions.READY, "True")
        await api.delete(kinds.NESTED_APP_JOB, "sleepy", namespace)
        await gone(api, kinds.NESTED_APP_JOB, "sleepy", namespace)
