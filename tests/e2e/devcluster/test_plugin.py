"""The interLink plugin of the embedded cluster really runs containers.

The protocol alone is in tests/unit/devcluster/plugin; what files pods have, how their logs end and what a restart of the plugin
does to them, in `test_overflow_pods` and `test_overflow_life`.

Its switches are for all who use it: tests of it run one after the other, in one group.
"""

import asyncio
import json
import os
import signal
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from devcluster import cluster
from devcluster.cluster import ClusterInfo, PluginInfo, cgroups, launcher
from devcluster.cluster.plugin import components
from devcluster.plugin.pki import Pki
from devcluster.plugin.status import is_known
from devcluster.progress import Console
from nestor.api.objects import Object
from tests.e2e.devcluster.conftest import BUSYBOX
from tests.e2e.devcluster.lifecycle import await_healthy, command_line, supervisor, wait_until
from tests.waiting import eventually

pytestmark = pytest.mark.xdist_group("plugin")


@dataclass
class Backend:
    """Hop 1 of the plugin, as a virtual kubelet sees it."""

    info: PluginInfo
    session: aiohttp.ClientSession

    async def ask(self, method: str, route: str, content: Any = None) -> str:
        """The text of a good answer."""
        async with self.session.request(method, f"{self.info.server_url}/{route}", json=content) as answer:
            text = await answer.text()
            assert answer.status == 200, f"{route}: {answer.status} {text}"
            return text

    async def create(self, pod: Object, **files: list[Object]) -> Object:
        """Have a pod run; itself."""
        await self.ask("POST", "create", {"pod": pod, **files})
        return pod

    async def status(self, pod: Object) -> Object | None:
        """What is known of a pod. The plugin names one that it does not know, without a state."""
        (found,) = json.loads(await self.ask("GET", "status", [pod]))
        return found if is_known(found) else None

    async def container(self, pod: Object) -> Object:
        """The status of its container `main`."""
        found = await self.status(pod)
        assert found is not None
        main: Object = found["containers"][0]
        return main

    async def until(self, pod: Object, *path: str) -> Object:
        """The status of its container `main`, once there is something under a path such as `state`, `terminated`."""

        async def look() -> Object | None:
            container = await self.container(pod)
            found: Any = container
            for name in path:
                found = (found or {}).get(name)
            return container if found else None

        return await eventually(look)

    async def is_gone(self, pod: Object) -> bool:
        """Whether the pod is unknown."""
        return await self.status(pod) is None

    async def log(self, pod: Object, **options: Any) -> str:
        """The log of its container `main`."""
        meta = pod["metadata"]
        about = {"Namespace": meta["namespace"], "PodUID": meta["uid"], "PodName": meta["name"], "ContainerName": "main"}
        return await self.ask("GET", "getLogs", {**about, "Opts": options})

    async def delete(self, pod: Object, grace: int) -> None:
        """Have it ended."""
        await self.ask("DELETE", "delete", pod | {"metadata": pod["metadata"] | {"deletionGracePeriodSeconds": grace}})


@pytest.fixture(scope="module")
def plugin(embedded: ClusterInfo) -> Iterator[PluginInfo]:
    """The running plugin, ended after the tests."""
    yield cluster.plugin("up", Console())
    cluster.plugin("down", Console())


@pytest.fixture
async def backend(plugin: PluginInfo) -> AsyncIterator[Backend]:
    """The plugin with its switches as they are at first; a test's pods are ended with it."""
    cluster.plugin("up")
    plugin.client.reset()
    async with aiohttp.ClientSession() as session:
        found = Backend(plugin, session)
        yield found
        plugin.client.reset()
        pods = [record["pod"] for record in plugin.client.state()["pods"]]
        for pod in pods:
            await found.delete(pod, 0)
        await asyncio.gather(*(eventually(lambda pod=pod: found.is_gone(pod)) for pod in pods))  # type: ignore[misc]


def build(script: str, *, policy: str = "Never", container: Object | None = None, **spec: Any) -> Object:
    """A pod whose container `main` runs a script."""
    name = uuid.uuid4()
    main = {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", script], **(container or {})}
    meta = {"name": f"pod-{name.hex[:6]}", "namespace": "team", "uid": str(name)}
    return {"metadata": meta, "spec": {"restartPolicy": policy, "containers": [main], **spec}}


def limit_of(pod: Object) -> int:
    """The memory limit of a pod's only running container, as the kernel has it."""
    place = f"{components.CGROUP}/{pod['metadata']['uid']}"
    files = [*(cgroups.ROOT / "memory" / place).glob("*/memory.limit_in_bytes"), *(cgroups.ROOT / place).glob("*/memory.max")]
    return int(files[0].read_text())


def processes_of(pod: Object) -> list[str]:
    """The processes of a pod, as the kernel has them."""
    place = f"{components.CGROUP}/{pod['metadata']['uid']}"
    files = [file for root in cgroups.hierarchies() for file in (root / place).rglob("cgroup.procs")]
    return [pid for file in files for pid in file.read_text().split()]


async def test_a_container_that_is_always_restarted_has_a_previous_log(backend: Backend) -> None:
    backend.info.client.switch(backoff=0.1)
    count = "echo x >> /left/x; echo run $(wc -l < /left/x); test $(wc -l < /left/x) -gt 1 && sleep 1000"
    left = {"volumeMounts": [{"name": "left", "mountPath": "/left"}]}
    pod = await backend.create(build(count, policy="Always", container=left, volumes=[{"name": "left", "emptyDir": {}}]))
    found = await backend.until(pod, "lastState", "terminated")
    await eventually(lambda: is_restarted(backend, pod))
    assert await backend.log(pod, Previous=True) == "run 1\n"
    assert await backend.log(pod) == "run 2\n"
    assert found["lastState"]["terminated"]["exitCode"] == 1


async def is_restarted(backend: Backend, pod: Object) -> bool:
    """Whether the second run of a pod's container has written its line."""
    found = await backend.container(pod)
    return found["restartCount"] == 1 and "running" in found["state"] and "run 2" in await backend.log(pod)


async def test_a_pod_that_does_not_listen_is_ended_when_its_grace_is_over_or_shortened(backend: Backend) -> None:
    pod = await backend.create(build("trap '' TERM; while true; do sleep 1; done", policy="Always"))
    await backend.until(pod, "state", "running")
    await backend.delete(pod, 1000)
    assert "running" in (await backend.container(pod))["state"]
    await backend.delete(pod, 1)
    await eventually(lambda: backend.is_gone(pod))
    assert processes_of(pod) == []


async def test_memory_limits_are_the_kernels(backend: Backend) -> None:
    limits = {"resources": {"limits": {"memory": "32Mi", "cpu": "500m"}}}
    pod = await backend.create(build("sleep 1000", container=limits))
    await backend.until(pod, "state", "running")
    assert limit_of(pod) == 32 * 1024**2
    eater = await backend.create(build("a=x; while true; do a=$a$a; done", container=limits))
    found = await backend.until(eater, "state", "terminated")
    assert (found["state"]["terminated"]["reason"], found["state"]["terminated"]["exitCode"]) == ("OOMKilled", 137)


async def test_a_program_that_is_not_there(backend: Backend) -> None:
    pod = await backend.create(build("", container={"command": ["/no/such/program"]}))
    ended = (await backend.until(pod, "state", "terminated"))["state"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("StartError", 128)
    assert "/no/such/program" in ended["message"]


async def test_an_image_that_is_not_there(backend: Backend) -> None:
    pod = await backend.create(build("", container={"image": "registry.example.com/nothing:1"}))
    found = await backend.until(pod, "state", "waiting", "message")
    assert found["state"]["waiting"]["reason"] == "ErrImagePull"
    assert "not found" in found["state"]["waiting"]["message"]


async def test_what_a_pod_says_at_its_end_is_its_message(backend: Backend) -> None:
    pod = await backend.create(build("printf 'because of you' > /dev/termination-log; exit 4"))
    assert (await backend.until(pod, "state", "terminated"))["state"]["terminated"]["message"] == "because of you"


async def test_a_pod_has_its_user_and_folder_and_a_network_of_its_own_without_a_way_out(backend: Backend) -> None:
    script = "echo $(pwd) $(id -u); hostname; ip -o addr | grep -c inet; nc -w 3 10.40.0.2 5000 2>&1"
    pod = build(script, container={"workingDir": "/tmp"}, securityContext={"runAsUser": 1000})
    await backend.create(pod)
    await backend.until(pod, "state", "terminated")
    where, name, interfaces, refusal = (await backend.log(pod)).splitlines()
    assert (where, name) == ("/tmp 1000", pod["metadata"]["name"])
    assert int(interfaces) <= 2  # loopback, IPv4 and perhaps IPv6
    assert "unreachable" in refusal.lower()


async def test_a_server_that_forgets_leaves_no_container_behind(backend: Backend) -> None:
    pod = await backend.create(build("sleep 1000"))
    await backend.until(pod, "state", "running")
    assert processes_of(pod)
    backend.info.client.switch(forget=True)
    backend.info.client.restart()
    assert await backend.is_gone(pod)
    assert processes_of(pod) == []
    assert backend.info.client.state()["pods"] == []


async def test_with_a_certificate_it_is_reached_by_tls(backend: Backend) -> None:
    context = Pki(backend.info.pki).client_context()
    for url in (backend.info.server_tls_url, backend.info.plugin_tls_url):
        async with backend.session.get(f"{url}/status", json=[], ssl=context) as answer:
            assert await answer.json() == []


async def test_it_ends_alone_and_comes_back(backend: Backend) -> None:
    await backend.until(await backend.create(build("sleep 1000")), "state", "running")
    os.kill(programs("devcluster.plugin")[0], signal.SIGKILL)
    reason = "failed: plugin/server ended by itself with exit code -9"
    await asyncio.to_thread(wait_until, lambda: cluster.plugin_status()[1].startswith(reason), "the plugin says why it ends")
    await_healthy()
    cluster.plugin("up")  # while the rest of it may still be ending
    assert cluster.plugin_status()[0]
    await_healthy()


async def test_down_leaves_nothing_but_images(backend: Backend) -> None:
    pod = await backend.create(build("sleep 1000"))
    await backend.until(pod, "state", "running")
    cluster.plugin("down")
    assert (programs("devcluster.plugin"), processes_of(pod)) == ([], [])
    assert [root for root in cgroups.hierarchies() if (root / components.CGROUP).exists()] == []
    assert not backend.info.pki.is_dir()
    assert cluster.plugin_status() == (False, "not running")
    await_healthy()
    cluster.plugin("down")
    cluster.plugin("up")


def programs(module: str) -> list[int]:
    """The cluster's processes that run a Python module."""
    return [pid for pid in launcher.members(supervisor()) if command_line(pid)[1:3] == ["-m", module]]
