"""Pods that run at a backend because their class or they themselves say so, and what their owners see of them.

The backend is the interLink plugin, which really runs containers.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devcluster.cluster import PluginInfo
from devcluster.demo.tools import find_tool
from nestor.kube import Api, kinds
from tests import children
from tests.e2e import overflow
from tests.e2e.conftest import BUSYBOX, kubectl, kubectl_says, try_kubectl
from tests.e2e.overflow import GPU, STAY, Place, pod
from tests.waiting import has, until, wait_for, wait_for_any

pytestmark = [pytest.mark.xdist_group("plugin"), pytest.mark.long]


@pytest.mark.parametrize(("mode", "is_away"), [("Never", False), ("WhenFull", False), ("Always", True)])
async def test_a_small_pod_is_where_the_mode_says(place: Place, mode: str, is_away: bool) -> None:
    await place.allow(mode=mode)
    await place.create(pod("small", STAY))
    assert (await place.running("small") == place.link) is is_away


async def test_a_pod_with_a_gpu_goes_where_the_gpus_are(place: Place) -> None:
    await place.allow(mode="Never", gpu="Backend")
    script = f"echo $ACCELERATORS; {STAY}"
    await place.create(pod("trained", script, limits={GPU: 1}), pod("plain", STAY), pod("greedy", STAY, limits={GPU: 3}))
    assert await place.running("trained") == place.link
    assert await place.running("plain") != place.link
    await place.writes("trained", f"{GPU}=0\n")
    assert await place.told("trained", "PodOverflowed") == (
        f"runs on node '{place.link}' of backend '{place.link}': it requests '{GPU}'"
    )
    why = '.status.conditions[?(@.type=="PodScheduled")].message'
    await until(lambda: place.get("greedy", why), lambda said: f"Insufficient {GPU}" in said)


async def test_a_pod_at_the_backend_has_its_files_and_variables_and_ends_with_its_exit_code(place: Place) -> None:
    await place.allow(mode="Always")
    await kubectl(place.inside, "apply", "-f", "-", stdin=overflow.FILES)
    script = (
        "cat /settings/color /login/password /note/name /scratch/left; echo; echo $COLOR $MY_NAME $GREETING; "
        "test -s /var/run/secrets/kubernetes.io/serviceaccount/token && echo has a token; exit 3"
    )
    first = {
        "name": "first",
        "image": BUSYBOX,
        "command": ["sh", "-c", "printf scratch > /scratch/left"],
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    }
    note = {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}
    made = pod(
        "files",
        script,
        initContainers=[first],
        env=[
            {"name": "COLOR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "color"}}},
            {"name": "MY_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "GREETING", "value": "hello $(MY_NAME)"},
        ],
        volumes=[
            {"name": "settings", "configMap": {"name": "settings"}},
            {"name": "login", "secret": {"secretName": "login"}},
            {"name": "note", "downwardAPI": note},
            {"name": "scratch", "emptyDir": {}},
        ],
    )
    await place.create(made)
    await place.ended("files", "Failed")
    assert await place.get("files", ".status.containerStatuses[0].state.terminated.exitCode") == "3"
    assert await place.get("files", ".status.initContainerStatuses[0].state.terminated.reason") == "Completed"
    log = "bluesesamefilesscratch\nblue files hello files\nhas a token\n"
    assert await kubectl(place.inside, "logs", "files", "-c", "main") == log
    assert await kubectl(place.inside, "logs", "files", "-c", "main", "--tail=1") == "has a token\n"
    stamped = await kubectl(place.inside, "logs", "files", "-c", "main", "--timestamps", "--tail=1")
    assert stamped.endswith("Z has a token\n")


async def test_a_job_completes_at_the_backend(place: Place) -> None:
    await place.allow(mode="Always")
    template = {"spec": json.loads(pod("sum", "echo part $JOB_COMPLETION_INDEX"))["spec"]}
    spec = {"completionMode": "Indexed", "completions": 3, "parallelism": 3, "template": template}
    await place.create(json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum"}, "spec": spec}))
    await kubectl(place.inside, "wait", "--for=condition=Complete", "job/sum")
    log = await kubectl(place.inside, "logs", "-l", "job-name=sum", "--tail=-1")
    assert sorted(log.splitlines()) == ["part 0", "part 1", "part 2"]


async def test_a_followed_log_ends_with_the_pod_which_may_say_good_bye(place: Place, plugin: PluginInfo) -> None:
    await place.allow(mode="Always")
    script = "trap 'echo bye; exit 0' TERM; echo hello; while true; do sleep 0.1; done"
    await place.create(pod("talker", script, terminationGracePeriodSeconds=30))
    await place.running("talker")
    async with following(place.inside, "talker") as log:
        assert await log.readline() == b"hello\n"
        await kubectl(place.inside, "delete", "pod", "talker")
        assert await log.read() == b"bye\n"
    await overflow.until_forgotten(plugin, "talker")


@contextlib.asynccontextmanager
async def following(inside: Path, name: str) -> AsyncIterator[asyncio.StreamReader]:
    """The output of `kubectl logs -f`."""
    command = (find_tool("kubectl"), "--kubeconfig", str(inside), "logs", "-f", name)
    async with children.running(*command, stdout=asyncio.subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.stdout


async def test_what_the_backend_cannot_do_is_refused_by_name(place: Place) -> None:
    await place.allow(mode="Always")
    await place.create(pod("carrier", STAY, volumes=[{"name": "app", "image": {"reference": BUSYBOX}}]))
    await place.ended("carrier", "Failed")
    assert await place.get("carrier", ".status.reason") == "BackendRefused"
    message = await place.get("carrier", ".status.message")
    assert "`spec.volumes[0].image` (volume 'app') may not be set: interLink carries only configMap" in message

    await place.create(pod("plain", STAY))
    await place.running("plain")
    code, output = await try_kubectl(place.inside, "exec", "plain", "--", "true")
    assert code != 0
    assert "not supported" in output


async def test_any_pod_of_the_host_that_tolerates_the_node_may_run_there(
    api: Api, kubeconfig: Path, link: str, plugin: PluginInfo, namespace: str
) -> None:
    tolerations = [{"key": "virtual-kubelet.io/provider", "operator": "Exists", "effect": "NoSchedule"}]
    script = "test -s /var/run/secrets/kubernetes.io/serviceaccount/token && echo $KUBERNETES_SERVICE_HOST; exec sleep 3600"
    node = {"type": "virtual-kubelet", "kubernetes.io/hostname": link}
    made = json.loads(pod("ordinary", script, nodeSelector=node, tolerations=tolerations))
    made["metadata"]["namespace"] = namespace
    await api.patch(kinds.NAMESPACE, namespace, None, {"metadata": {"labels": {"nestor.dev/backend-tokens": "allowed"}}})
    await api.create(kinds.POD, made)
    found = await wait_for(api, kinds.POD, "ordinary", namespace, has("Ready", "True"))
    assert found is not None
    assert found["spec"]["nodeName"] == link
    assert "podIP" not in found["status"]
    service = await api.get(kinds.SERVICE, "kubernetes", "default")
    await kubectl_says(kubeconfig, "logs", "-n", namespace, "ordinary", text=service["spec"]["clusterIP"])
    event = await wait_for_any(api, kinds.EVENT, namespace, lambda item: item["reason"] == "Accepted")
    assert event["message"].startswith(f"Accepted by backend '{link}' as job ")
    await kubectl(kubeconfig, "delete", "pod", "-n", namespace, "ordinary")
    await overflow.until_forgotten(plugin, "ordinary")
