"""Pods that leave for a backend because there is no room here, or because the class says so, and what their owners see of them.

The backend is the interLink plugin, which really runs containers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import PluginInfo
from devcluster.demo.tools import find_tool
from nestor.kube import Api, kinds
from nestor.objects import Object
from tests import children
from tests.e2e import overflow
from tests.e2e.conftest import fresh_namespace, kubectl, open_cluster, try_kubectl
from tests.e2e.overflow import LIMIT, deployment, pod
from tests.waiting import eventually, has, wait_for, wait_for_any

pytestmark = [pytest.mark.alone, pytest.mark.long]

NEVER: Object = {"mode": "Never"}
STAY = "exec sleep 3600"
BY_ROOM: Object = {"mode": "WhenFull", "completionsTrigger": 0, "localParallelism": 0, "backendParallelism": 0}
"""Room alone decides."""


@dataclass
class Place:
    """A nested cluster, and what its class says."""

    api: Api
    inside: Path
    home: str
    """The job's namespace in the host cluster."""
    class_name: str
    link: str

    async def allow(self, **rules: Any) -> None:
        """Say which pods overflow."""
        placement = {"overflow": {"backends": [{"name": self.link}], **rules}}
        await overflow.allow(self.api, self.class_name, placement)

    async def create(self, *documents: str) -> None:
        """Create objects in the nested cluster."""
        for document in documents:
            await kubectl(self.inside, "create", "-f", "-", stdin=document)

    async def get(self, name: str, path: str) -> str:
        """A part of a nested pod."""
        return await kubectl(self.inside, "get", "pod", name, "-o", f"jsonpath={{{path}}}")

    async def running(self, name: str) -> str:
        """The node of a nested pod, once it is ready."""
        await kubectl(self.inside, "wait", "--for=condition=Ready", f"pod/{name}", f"--timeout={LIMIT}s", limit=LIMIT + 30)
        return await self.get(name, ".spec.nodeName")

    async def ended(self, name: str, phase: str) -> None:
        """Await the end of a nested pod."""
        path = f"--for=jsonpath={{.status.phase}}={phase}"
        await kubectl(self.inside, "wait", path, f"pod/{name}", f"--timeout={LIMIT}s", limit=LIMIT + 30)

    async def told(self, name: str, reason: str) -> str:
        """The message of an event about a nested pod."""

        async def look() -> str:
            fields = f"--field-selector=involvedObject.name={name},reason={reason}"
            return await kubectl(self.inside, "get", "events", fields, "-o", "jsonpath={.items[*].message}")

        return await eventually(look, limit=LIMIT)

    async def places(self, prefix: str, count: int) -> list[str]:
        """The backends of so many pods whose names begin like this, once they all have a node; empty for the host's own."""

        async def look() -> list[str]:
            found = await overflow.find_places(self.api, self.home)
            chosen = [place for name, place in found.items() if name.startswith(prefix)]
            return chosen if len(chosen) == count else []

        return await eventually(look, limit=LIMIT)


@pytest.fixture(scope="module")
async def place(
    api: Api, link: str, used_namespaces: list[str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Place]:
    """One nested cluster for all tests."""
    async with (
        overflow.overflow_class(api, {"overflow": {"mode": "Never", "backends": [{"name": link}]}}) as class_name,
        fresh_namespace(api, used_namespaces) as namespace,
    ):
        folder = tmp_path_factory.mktemp("overflow")
        job, inside = await open_cluster(api, "out", namespace, folder, className=class_name)
        yield Place(api, inside, job["status"]["namespace"], class_name, link)


@pytest.fixture(autouse=True)
async def clean(place: Place, plugin: PluginInfo) -> AsyncIterator[None]:
    """Each test begins without pods, and with the plugin's usual switches."""
    overflow.rest(plugin)
    yield
    plugin.client.switch(hold=False, faults=[])
    await kubectl(place.inside, "delete", "deployments,jobs,pods", "--all", "--timeout=90s", limit=LIMIT)
    await overflow.until_forgotten(plugin, "")


async def test_pods_that_do_not_fit_go_out_and_say_where_and_why(place: Place) -> None:
    await place.allow(**BY_ROOM)
    share, own = await overflow.find_share(place.api), await overflow.backends_of_nodes(place.api)
    count = sum(not name for name in own.values()) + 2
    await place.create(deployment("parts", count, STAY, requests={"cpu": share}))
    await kubectl(place.inside, "rollout", "status", "deployment/parts", f"--timeout={LIMIT}s", limit=LIMIT + 30)
    found = await place.places("parts", count)
    assert found.count("") >= 1
    assert found.count(place.link) >= 2
    assert set(found) == {"", place.link}

    nodes = "jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName}{'\\n'}{end}"
    pods = dict(line.split() for line in (await kubectl(place.inside, "get", "pods", "-o", nodes)).splitlines())
    away = next(name for name, node in pods.items() if node == place.link)
    assert await place.told(away, "PodOverflowed") == (
        f"runs on node '{place.link}' of backend '{place.link}': no node of the host cluster had room"
    )
    assert place.link in await kubectl(place.inside, "get", "nodes")
    here = next(name for name, node in pods.items() if node != place.link)
    fields = f"--field-selector=involvedObject.name={here},reason=PodOverflowed"
    assert "No resources found" in await kubectl(place.inside, "get", "events", fields)


@pytest.mark.parametrize(("mode", "is_away"), [("Never", False), ("WhenFull", False), ("Always", True)])
async def test_a_small_pod_is_where_the_mode_says(place: Place, mode: str, is_away: bool) -> None:
    await place.allow(mode=mode)
    await place.create(pod("small", STAY))
    assert (await place.running("small") == place.link) is is_away


async def test_large_jobs_go_out_by_their_completions_and_others_by_their_parallelism(place: Place) -> None:
    await place.allow(mode="WhenFull")  # the defaults: 6 completions, 2 pods here, 50 at backends
    await place.create(job("small", 4, 4), job("large", 6, 3))
    assert sorted(await place.places("small", 4)) == ["", "", place.link, place.link]
    assert await place.places("large", 3) == [place.link] * 3


def job(name: str, completions: int, parallelism: int) -> str:
    """A Job whose pods stay."""
    template = {"spec": json.loads(pod(name, STAY, terminationGracePeriodSeconds=0))["spec"]}
    spec = {"completions": completions, "parallelism": parallelism, "template": template}
    return json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec})


FILES = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {colour: blue}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: default}
stringData: {password: sesame}
"""


async def test_a_pod_at_the_backend_has_its_files_and_variables_and_ends_with_its_exit_code(place: Place) -> None:
    await place.allow(mode="Always")
    await kubectl(place.inside, "apply", "-f", "-", stdin=FILES)
    script = (
        "cat /settings/colour /login/password /note/name /scratch/left; echo; echo $COLOUR $MY_NAME $GREETING; "
        "test -s /var/run/secrets/kubernetes.io/serviceaccount/token && echo has a token; exit 3"
    )
    first = {
        "name": "first",
        "image": overflow.BUSYBOX,
        "command": ["sh", "-c", "printf scratch > /scratch/left"],
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    }
    note = {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}
    made = pod(
        "files",
        script,
        initContainers=[first],
        env=[
            {"name": "COLOUR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "colour"}}},
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
    await kubectl(place.inside, "wait", "--for=condition=Complete", "job/sum", f"--timeout={LIMIT}s", limit=LIMIT + 30)
    log = await kubectl(place.inside, "logs", "-l", "job-name=sum", "--tail=-1")
    assert sorted(log.splitlines()) == ["part 0", "part 1", "part 2"]


async def test_a_followed_log_ends_with_the_pod_which_may_say_good_bye(place: Place, plugin: PluginInfo) -> None:
    await place.allow(mode="Always")
    await place.create(pod("talker", "trap 'echo bye; exit 0' TERM; echo hello; while true; do sleep 0.1; done"))
    await place.running("talker")
    async with following(place.inside, "talker") as log:
        assert await asyncio.wait_for(log.readline(), LIMIT) == b"hello\n"
        await kubectl(place.inside, "delete", "pod", "talker", f"--timeout={LIMIT}s", limit=LIMIT + 30)
        assert await asyncio.wait_for(log.read(), LIMIT) == b"bye\n"
    await overflow.until_forgotten(plugin, "talker")


@contextlib.asynccontextmanager
async def following(inside: Path, name: str) -> AsyncIterator[asyncio.StreamReader]:
    """The output of `kubectl logs -f`."""
    command = (find_tool("kubectl"), "--kubeconfig", str(inside), "logs", "-f", name)
    async with children.running(*command, stdout=asyncio.subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.stdout


async def test_a_container_that_was_restarted_has_a_previous_log(place: Place, plugin: PluginInfo) -> None:
    plugin.client.switch(backoff=0.1)
    await place.allow(mode="Always")
    script = "echo x >> /left/runs; echo run $(wc -l < /left/runs); test $(wc -l < /left/runs) -gt 1 && exec sleep 3600"
    await place.create(pod("again", script, restartPolicy="OnFailure", volumes=[{"name": "left", "emptyDir": {}}]))

    async def is_second() -> bool:
        code, log = await try_kubectl(place.inside, "logs", "again")
        return code == 0 and log == "run 2\n"

    await eventually(is_second, limit=LIMIT)
    assert await kubectl(place.inside, "logs", "again", "--previous") == "run 1\n"
    await eventually(lambda: _is(place, "again", ".status.containerStatuses[0].restartCount", "1"), limit=LIMIT)


async def _is(place: Place, name: str, path: str, value: str) -> bool:
    return await place.get(name, path) == value


async def test_what_the_backend_cannot_do_is_refused_by_name(place: Place) -> None:
    await place.allow(mode="Always")
    await place.create(pod("carrier", STAY, volumes=[{"name": "app", "image": {"reference": overflow.BUSYBOX}}]))
    await place.ended("carrier", "Failed")
    assert await place.get("carrier", ".status.reason") == "BackendRefused"
    message = await place.get("carrier", ".status.message")
    assert "`spec.volumes[0].image` (volume 'app') may not be set: interLink carries only configMap" in message

    await place.create(pod("plain", STAY))
    await place.running("plain")
    code, output = await try_kubectl(place.inside, "exec", "plain", "--", "true")
    assert code != 0
    assert "not supported" in output


async def test_a_pod_that_the_backend_holds_back_is_taken_back_and_runs_here(place: Place, plugin: PluginInfo) -> None:
    share, nodes = await overflow.find_share(place.api), await overflow.backends_of_nodes(place.api)
    own = sum(not name for name in nodes.values())
    await place.allow(**BY_ROOM | NEVER)
    await place.create(deployment("filler", own, STAY, requests={"cpu": share}))
    await place.places("filler", own)

    plugin.client.switch(hold=True)
    await place.allow(**BY_ROOM, pendingSeconds=20)
    await place.create(deployment("guest", 1, STAY, requests={"cpu": share}))
    assert await place.places("guest", 1) == [place.link]
    await kubectl(place.inside, "delete", "deployment", "filler", "--timeout=60s", limit=90)

    names = "jsonpath={range .items[?(@.status.reason=='BouncedBack')]}{.metadata.name} {.status.message}{'\\n'}{end}"

    async def look() -> str:
        return await kubectl(place.inside, "get", "pods", "-l", "app=guest", "-o", names)

    assert f"Backend '{place.link}' has not started the pod within 20 s" in await eventually(look, limit=LIMIT)
    await kubectl(place.inside, "rollout", "status", "deployment/guest", f"--timeout={LIMIT}s", limit=LIMIT + 30)
    assert await place.places("guest", 1) == [""]
    await overflow.until_forgotten(plugin, "guest")


async def test_pods_at_a_backend_that_does_not_answer_keep_their_state(place: Place, plugin: PluginInfo) -> None:
    await place.allow(mode="Always")
    await place.create(pod("patient", STAY))
    await place.running("patient")
    uid = await place.get("patient", ".metadata.uid")

    plugin.client.restart(after=100)  # what runs there runs on
    lost = await wait_for(place.api, kinds.NODE, place.link, "", has("Ready", "Unknown", "Unreachable"), limit=150)
    assert lost is not None
    assert await place.get("patient", ".status.phase") == "Running"

    await wait_for(place.api, kinds.NODE, place.link, "", has("Ready", "True"), limit=200)
    await place.running("patient")
    assert await place.get("patient", ".metadata.uid") == uid
    assert runs_of(plugin, "patient") == [1]
    assert await place.get("patient", ".status.containerStatuses[0].restartCount") == "0"


def runs_of(plugin: PluginInfo, prefix: str) -> list[int]:
    """How often the plugin has started the containers of such pods (it remembers two runs of each): a number for each of them."""
    return [len(item["runs"]) for found in overflow.records_of(plugin, prefix) for item in found["containers"]]


async def test_pods_outlive_the_process_of_their_node(place: Place, plugin: PluginInfo) -> None:
    await place.allow(mode="Always")
    await place.create(deployment("many", 5, STAY))
    await kubectl(place.inside, "rollout", "status", "deployment/many", f"--timeout={LIMIT}s", limit=LIMIT + 30)
    before = sorted(item["uid"] for item in overflow.records_of(plugin, "many"))

    await overflow.kill_process(place.api, place.link)
    await wait_for(place.api, kinds.OVERFLOW_BACKEND, place.link, "", has("Ready", "True"), limit=LIMIT)
    await place.create(pod("later", "echo later"))
    await place.ended("later", "Succeeded")
    assert await kubectl(place.inside, "logs", "later") == "later\n"
    assert sorted(item["uid"] for item in overflow.records_of(plugin, "many")) == before
    assert runs_of(plugin, "many") == [1] * 5
    await kubectl(place.inside, "delete", "deployment", "many", "--timeout=60s", limit=90)
    await overflow.until_forgotten(plugin, "many")


async def test_a_backend_that_is_deleted_empties_its_nodes_first(place: Place, plugin: PluginInfo) -> None:
    name = f"leaving-{uuid.uuid4().hex[:6]}"
    async with overflow.backend(place.api, name, overflow.interlink(plugin)):
        placement = {"overflow": {"mode": "Always", "backends": [{"name": name}]}}
        await overflow.allow(place.api, place.class_name, placement)
        await place.create(deployment("mover", 2, STAY))
        assert await place.places("mover", 2) == [name] * 2
        await kubectl(place.inside, "rollout", "status", "deployment/mover", f"--timeout={LIMIT}s", limit=LIMIT + 30)
        await overflow.remove_backend(place.api, name)
        await overflow.until_forgotten(plugin, "mover")
    events = await place.api.list(kinds.EVENT, "default")
    assert not [item for item in events if item["involvedObject"]["name"] == name and item["reason"] == "PodsLeftBehind"]

    # Their successors wait for a place until the class allows one.
    await place.allow(**NEVER)
    await kubectl(place.inside, "rollout", "status", "deployment/mover", f"--timeout={LIMIT}s", limit=LIMIT + 30)
    assert await place.places("mover", 2) == ["", ""]


async def test_a_deleted_job_leaves_nothing_at_the_backend(
    api: Api, place: Place, plugin: PluginInfo, namespace: str, tmp_path: Path
) -> None:
    await place.allow(mode="Always")
    _, inside = await open_cluster(api, "brief", namespace, tmp_path, className=place.class_name)
    await kubectl(inside, "create", "-f", "-", stdin=pod("orphan", STAY))
    await kubectl(inside, "wait", "--for=condition=Ready", "pod/orphan", f"--timeout={LIMIT}s", limit=LIMIT + 30)
    assert len(overflow.records_of(plugin, "orphan")) == 1
    await api.delete(kinds.NESTED_APP_JOB, "brief", namespace)
    await wait_for(api, kinds.NESTED_APP_JOB, "brief", namespace, lambda found: found is None, limit=LIMIT)
    await overflow.until_forgotten(plugin, "orphan")


async def test_any_pod_of_the_host_that_tolerates_the_node_may_run_there(
    api: Api, kubeconfig: Path, link: str, plugin: PluginInfo, namespace: str
) -> None:
    tolerations = [{"key": "virtual-kubelet.io/provider", "operator": "Exists", "effect": "NoSchedule"}]
    script = "test -s /var/run/secrets/kubernetes.io/serviceaccount/token && echo $KUBERNETES_SERVICE_HOST; exec sleep 3600"
    made = json.loads(pod("ordinary", script, nodeSelector={"type": "virtual-kubelet"}, tolerations=tolerations))
    made["metadata"]["namespace"] = namespace
    await api.create(kinds.POD, made)
    found = await wait_for(api, kinds.POD, "ordinary", namespace, has("Ready", "True"), limit=LIMIT)
    assert found is not None
    assert found["spec"]["nodeName"] == link
    assert "podIP" not in found["status"]
    service = await api.get(kinds.SERVICE, "kubernetes", "default")
    assert (await kubectl(kubeconfig, "logs", "-n", namespace, "ordinary")).strip() == service["spec"]["clusterIP"]
    event = await wait_for_any(api, kinds.EVENT, namespace, lambda item: item["reason"] == "Accepted")
    assert event["message"] == f"Accepted by backend '{link}'"
    await kubectl(kubeconfig, "delete", "pod", "-n", namespace, "ordinary", "--timeout=60s", limit=90)
    await overflow.until_forgotten(plugin, "ordinary")
