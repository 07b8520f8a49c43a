"""GPUs of the host itself: a tainted node with a real device plugin, whose devices do not exist.

The class says who gets there, how much of it, and all of that while jobs run.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import devcluster.cluster
from devcluster.progress import Console
from nestor.api import conditions, labels
from nestor.api.objects import Object, status_of
from nestor.kube import Api, kinds
from tests.e2e.conftest import apply, class_like_default, example, image, kubectl, kubectl_says, open_cluster, read_example
from tests.waiting import job_with, wait_for, wait_for_any

# The taint keeps no other test from what it does: those that need this node name it in their pods.
pytestmark = [pytest.mark.xdist_group("gpus"), pytest.mark.long]

NODE = "nestor-dev-2"
RESOURCE = "example.com/gpu"
DEVICES = 2
# Not the resource's name: a host with the admission plugin ExtendedResourceToleration, as the embedded one is, tolerates that for
# every pod with a GPU, whatever its class says.
POOL = "example.com/pool"
TAINT = {"key": POOL, "value": "gpu", "effect": "NoSchedule"}
TOLERATED = f"{POOL}:NoSchedule"
RULES: Object = {
    "extendedResources": [{"name": RESOURCE, "tolerations": [TOLERATED]}],
    "machines": [{"name": "gpu-node", "nodeSelector": {"kubernetes.io/hostname": NODE}, "tolerations": [TOLERATED]}],
}
PLUGINS = "/var/lib/kubelet/device-plugins"

Enter = Callable[..., Awaitable[Path]]


async def set_taints(api: Api, change: Callable[[list[Object]], list[Object]]) -> None:
    """Change the taints of the node."""
    node = await api.get(kinds.NODE, NODE)
    await api.patch(kinds.NODE, NODE, None, {"spec": {"taints": change(node["spec"].get("taints") or [])}})


@pytest.fixture(scope="module")
async def gpu_node(cluster: object, api: Api) -> AsyncIterator[str]:
    """The second node with GPUs, and a taint that keeps others away. At the end it is as it was."""
    if NODE not in devcluster.cluster.nodes():
        pytest.skip("the cluster was started with NODES=1")
    await asyncio.to_thread(devcluster.cluster.load, Console(), "device-plugin")
    home = f"team-gpus-{uuid.uuid4().hex[:6]}"
    await api.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}})
    await wait_for(api, kinds.SERVICE_ACCOUNT, "default", home, bool)
    await set_taints(api, lambda taints: [*(item for item in taints if item["key"] != POOL), TAINT])
    try:
        await api.create(kinds.POD, plugin(home))
        await wait_for(api, kinds.NODE, NODE, "", lambda node: allocatable(node) == DEVICES)
        yield NODE
    finally:
        await set_taints(api, lambda taints: [item for item in taints if item["key"] != POOL])
        await api.delete(kinds.POD, "plugin", home)
        await wait_for(api, kinds.NODE, NODE, "", lambda node: allocatable(node) == 0)
        await api.delete(kinds.NAMESPACE, home)


def plugin(namespace: str) -> Object:
    """The device plugin's pod: it finds the kubelet's socket in the node's folder."""
    container = {
        "name": "plugin",
        "image": image("device-plugin:1"),
        "args": [f"--resource={RESOURCE}", f"--count={DEVICES}"],
        "volumeMounts": [{"name": "plugins", "mountPath": PLUGINS}],
    }
    spec = {
        "nodeName": NODE,
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 5,
        "containers": [container],
        "volumes": [{"name": "plugins", "hostPath": {"path": PLUGINS}}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "plugin", "namespace": namespace}, "spec": spec}


def allocatable(node: Object | None) -> int:
    """How many GPUs the scheduler may give away on a node."""
    return int(status_of(node).get("allocatable", {}).get(RESOURCE, 0))


@pytest.fixture
async def gpu_class(api: Api) -> AsyncIterator[str]:
    """A class that says nothing about GPUs, but that a job may have one."""
    async with class_like_default(api, "gpu", namespace={"quota": {f"requests.{RESOURCE}": "1"}}) as name:
        yield name


@pytest.fixture
def enter(api: Api, namespace: str, gpu_class: str, tmp_path: Path) -> Enter:
    """Start a job of the class; the admin kubeconfig of its cluster."""

    async def start(name: str, **spec: Any) -> Path:
        _, inside = await open_cluster(api, name, namespace, tmp_path, className=gpu_class, **spec)
        return inside

    return start


def pod(name: str, gpus: int = 0, **spec: Any) -> str:
    """A pod that tells which devices it has got, and stays."""
    container: Object = {
        "name": "main",
        "image": "docker.io/library/busybox:1.35",
        "command": ["sh", "-c", 'echo "devices: $NESTOR_DEVICES"; exec sleep 3600'],
    }
    if gpus:
        container["resources"] = {"limits": {RESOURCE: gpus}}
    meta = {"name": name, "namespace": "default"}
    whole = {"terminationGracePeriodSeconds": 0, "containers": [container], **spec}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": whole})


async def allow(api: Api, name: str, placement: Object | None) -> None:
    """Change what a class says about places."""
    await api.patch(kinds.NESTED_CLASS, name, None, {"spec": {"placement": placement}})


async def wait_until_running(inside: Path, name: str) -> str:
    """The node of a pod, once it runs."""
    await kubectl(inside, "wait", "--for=condition=Ready", f"pod/{name}")
    return await kubectl(inside, "get", "pod", name, "-o", "jsonpath={.spec.nodeName}")


async def test_a_pod_says_why_it_gets_no_gpu_until_its_class_lets_it_onto_the_tainted_node(
    api: Api, gpu_node: str, gpu_class: str, enter: Enter
) -> None:
    inside = await enter("training")
    own = [{"key": POOL, "operator": "Exists"}]
    await kubectl(inside, "apply", "-f", "-", stdin=pod("first", 1, tolerations=own))
    why = 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}'
    said = await kubectl_says(inside, "get", "pod", "first", "-o", why, text="untolerated taint")
    assert "Insufficient example.com/gpu" in said
    told = await kubectl(inside, "get", "events", "--field-selector=involvedObject.name=first,reason=FieldsIgnored")
    assert f"`spec.tolerations` has '{POOL}'" in told

    # The class changes; the pod that waits is made anew by the new rules, its tenant does nothing.
    await allow(api, gpu_class, RULES)
    assert await wait_until_running(inside, "first") == gpu_node
    await kubectl_says(inside, "logs", "first", text="devices: device-")

    # A pod without a GPU has no business there.
    await kubectl(inside, "apply", "-f", "-", stdin=pod("plain"))
    assert await wait_until_running(inside, "plain") != gpu_node

    # The quota by name: a second GPU is one too many, and the pod says so.
    await kubectl(inside, "apply", "-f", "-", stdin=pod("second", 1))
    refused = "--field-selector=involvedObject.name=second,reason=PodRefused"
    assert "exceeded quota" in await kubectl_says(inside, "get", "events", refused, text=f"requests.{RESOURCE}")

    # What runs stays when the class takes it back.
    await allow(api, gpu_class, None)
    await wait_for_any(
        api, kinds.NESTED_CLUSTER, "", lambda item: item["spec"].get("className") == gpu_class and not has_placement(item)
    )
    assert await wait_until_running(inside, "first") == gpu_node


def has_placement(cluster: Object) -> bool:
    """Whether the syncer of a cluster has rules about places."""
    return "placement" in status_of(cluster).get("policy", {})


async def test_the_example_of_a_gpu_on_a_tainted_node(api: Api, namespace: str, gpu_node: str) -> None:
    """As its readers apply it, but that devices and taint have other names here."""
    folder = "11-gpu-on-a-tainted-node"
    (patch,) = renamed(read_example(folder, "placement.yaml"))
    (rule,) = patch["spec"]["placement"]["extendedResources"]
    rule["tolerations"] = [TOLERATED]
    async with class_like_default(api, "overflow", **patch["spec"]) as class_name:
        documents = renamed(example(folder, "training", namespace))
        documents[-1]["spec"]["className"] = class_name
        await apply(api, documents)
        job = await job_with(api, "training", namespace, conditions.ADMITTED, "True")
        home, own = job["status"]["namespace"], labels.selector(component=labels.COMPONENT_APP)
        found = await wait_for_any(api, kinds.POD, home, lambda item: bool(item["spec"].get("nodeName")), labels=own)
        assert found["spec"]["nodeName"] == gpu_node
        await job_with(api, "training", namespace, conditions.SUCCEEDED, "True")


def renamed(documents: list[Object]) -> list[Object]:
    """With the name of this test's devices instead of the usual one."""
    found: list[Object] = json.loads(json.dumps(documents).replace("nvidia.com/gpu", RESOURCE))
    return found
