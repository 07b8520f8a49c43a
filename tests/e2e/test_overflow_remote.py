"""Pods that run in another Kubernetes cluster: what their owners see of them, and what is left there.

The other cluster is a nested one. Its pods are pods of the host cluster after all, with real kubelets.
"""

import asyncio
import json
import os
import re
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from devcluster.demo.tools import find_tool
from nestor.api import labels
from nestor.api.objects import Object
from nestor.kube import Api
from tests import children
from tests.e2e import overflow
from tests.e2e.conftest import BUSYBOX, LIMIT_SECONDS, class_like_default, fresh_namespace, kubectl, open_cluster, try_kubectl
from tests.e2e.overflow import STAY, Place, pod
from tests.waiting import eventually, until

pytestmark = [pytest.mark.xdist_group("second-cluster"), pytest.mark.long]

VOLUMES = [{"name": "settings", "configMap": {"name": "settings"}}, {"name": "login", "secret": {"secretName": "login"}}]
CAPACITY = {"cpu": "4", "memory": "4Gi", "pods": "20"}


@dataclass
class Far:
    """The other cluster."""

    kubeconfig: Path
    backend: str

    async def names(self, kind: str) -> list[str]:
        """What host pods have there, of one kind."""
        found = await kubectl(self.kubeconfig, "get", kind, "-n", "nestor", "-l", labels.HOST_UID, "-o", "name")
        return found.split()

    async def until_empty(self) -> None:
        """Await that nothing is left there."""

        async def look() -> bool:
            return not [name for kind in ("pods", "configmaps", "secrets") for name in await self.names(kind)]

        await eventually(look)


@pytest.fixture(scope="module")
async def both(
    api: Api, used_namespaces: list[str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Place, Far]]:
    """A nested cluster whose pods all go out, and the nested cluster to which they go."""
    folder, name = tmp_path_factory.mktemp("clusters"), f"east-{uuid.uuid4().hex[:6]}"
    async with AsyncExitStack() as stack:
        namespace = await stack.enter_async_context(fresh_namespace(api, used_namespaces))
        spec = await stack.enter_async_context(overflow.second_cluster(api, "east", namespace, folder, CAPACITY))
        await stack.enter_async_context(overflow.backend(api, name, spec))
        placement = {"overflow": {"mode": "Always", "backends": [{"name": name}]}}
        class_name = await stack.enter_async_context(class_like_default(api, "overflow", placement=placement))
        job, inside = await open_cluster(api, "near", namespace, folder, className=class_name)
        await kubectl(inside, "apply", "-f", "-", stdin=overflow.FILES)
        yield Place(api, inside, job["status"]["namespace"], class_name, name), Far(folder / "east.kubeconfig", name)


@pytest.fixture
async def near(both: tuple[Place, Far]) -> AsyncIterator[Place]:
    """The first one. At the end of each test, nothing is left in the other one."""
    place, far = both
    yield place
    await kubectl(place.inside, "delete", "pods", "--all")
    await far.until_empty()


@pytest.fixture
def far(both: tuple[Place, Far]) -> Far:
    """The other one."""
    return both[1]


async def test_a_pod_has_its_files_there_and_ends_with_its_exit_code(near: Place, far: Far) -> None:
    token = "/var/run/secrets/kubernetes.io/serviceaccount"
    script = (
        "cat /settings/color /login/password; echo; echo $COLOR $MY_NAME; "
        f"test -s {token}/token && test -s {token}/ca.crt && echo has a token in $(cat {token}/namespace); exit 3"
    )
    env = [
        {"name": "COLOR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "color"}}},
        {"name": "MY_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]
    await near.create(pod("files", script, env=env, volumes=VOLUMES))
    await near.ended("files", "Failed")
    assert await near.get("files", ".status.containerStatuses[0].state.terminated.exitCode") == "3"
    assert await kubectl(near.inside, "logs", "files") == "bluesesame\nblue files\nhas a token in default\n"
    assert await kubectl(near.inside, "logs", "files", "--tail=1") == "has a token in default\n"
    assert await near.get("files", ".spec.nodeName") == near.link
    left = await far.names("pods")
    assert len(left) == 1, await kubectl(far.kubeconfig, "get", "pods,nodes,events", "-n", "nestor", "-o", "wide")


async def test_commands_run_in_a_pod_there_and_its_log_is_followed(near: Place, far: Far) -> None:
    await near.create(pod("shell", f"echo hello; {STAY}", volumes=VOLUMES))
    assert await near.running("shell") == near.link
    await near.writes("shell", "hello\n")
    assert await kubectl(near.inside, "exec", "shell", "--", "cat", "/settings/color") == "blue"
    assert await kubectl(near.inside, "exec", "-i", "shell", "--", "cat", stdin="typed") == "typed"
    code, _ = await try_kubectl(near.inside, "exec", "shell", "--", "sh", "-c", "exit 4")
    assert code == 4
    (name,) = await far.names("pods")
    assert name.startswith("pod/shell")
    owners = "jsonpath={.items[*].metadata.ownerReferences[0].name}"
    found = await kubectl(far.kubeconfig, "get", "configmaps,secrets", "-n", "nestor", "-l", labels.HOST_UID, "-o", owners)
    assert set(found.split()) == {name.removeprefix("pod/")}
    assert await near.told("shell", "PodOverflowed")


async def test_a_pod_there_is_attached_to(near: Place, far: Far) -> None:
    body = json.loads(pod("typist", 'read line; echo "got $line"; sleep 5'))
    body["spec"]["containers"][0] |= {"stdin": True, "stdinOnce": True}
    await near.create(json.dumps(body))
    await near.running("typist")
    assert "got hello" in await kubectl(near.inside, "attach", "-i", "typist", stdin="hello\n")
    await near.ended("typist", "Succeeded")
    assert await kubectl(near.inside, "logs", "typist") == "got hello\n"


@asynccontextmanager
async def forwarded(kubeconfig: Path, name: str, port: int) -> AsyncIterator[int]:
    """A local port that leads to one of a pod."""
    command = (find_tool("kubectl"), "port-forward", f"pod/{name}", f":{port}", "--address=127.0.0.1")
    env = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    async with children.running(*command, env=env, stdout=asyncio.subprocess.PIPE) as process, asyncio.timeout(LIMIT_SECONDS):
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        found = re.search(r"127\.0\.0\.1:(\d+) ->", line)
        assert found, line
        yield int(found[1])


async def test_a_port_of_a_pod_there_is_forwarded(near: Place, far: Far) -> None:
    await near.create(pod("web", "mkdir /tmp/www; echo found > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www"))
    await near.running("web")

    async def serves() -> bool:
        return (await try_kubectl(near.inside, "exec", "web", "--", "wget", "-qO-", "127.0.0.1:8080"))[0] == 0

    await eventually(serves)
    async with (
        forwarded(near.inside, "web", 8080) as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/") as response,
    ):
        assert await response.text() == "found\n"


async def test_changes_of_a_pod_that_runs_there_reach_it(near: Place, far: Far) -> None:
    await near.create(pod("flexible", STAY, requests={"cpu": "10m"}))
    await near.running("flexible")
    # A debug container: it shares the network of the pod, and its log and commands are read as those of any other.
    own = ("--image", BUSYBOX, "--container=probe", "--profile=baseline", "--", "sh", "-c", f"echo probed; {STAY}")
    await kubectl(near.inside, "debug", "flexible", *own)
    assert await eventually(lambda: near.get("flexible", ".status.ephemeralContainerStatuses[*].state.running.startedAt"))
    await near.writes("flexible", "probed\n", "-c", "probe")
    assert await kubectl(near.inside, "exec", "flexible", "-c", "probe", "--", "echo", "hello") == "hello\n"
    # More CPU, without a restart.
    more = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "20m"}}}]}}
    await kubectl(near.inside, "patch", "pod", "flexible", "--subresource=resize", "-p", json.dumps(more))
    path = ".status.containerStatuses[0].resources.requests.cpu"
    await until(lambda: near.get("flexible", path), lambda found: found == "20m")
    assert await near.get("flexible", ".status.containerStatuses[0].restartCount") == "0"
    # Labels: the pod's own are renamed there.
    await kubectl(near.inside, "label", "pod", "flexible", "tier=front")

    async def find_pod() -> Object:
        found = await kubectl(far.kubeconfig, "get", "pods", "-n", "nestor", "-l", labels.HOST_UID, "-o", "json")
        (there,) = json.loads(found)["items"]
        return dict(there)

    there = await until(find_pod, lambda found: "front" in found["metadata"]["labels"].values())
    assert there["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "20m"
