"""A control plane as real nodes know it, and the process of virtual nodes; the tests play operator, scheduler and backend."""

import asyncio
import contextlib
import datetime
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from nestor.api import labels
from nestor.api.objects import Object, conditions_of, status_of
from nestor.api.times import timestamp
from nestor.cluster import certificates
from nestor.kube import Api, kinds
from nestor.overflow.vnode import main
from nestor.overflow.vnode.settings import Settings
from tests.fakes.backend import MemoryBackend
from tests.heard import Process, heard
from tests.integration import apiserver
from tests.waiting import eventually

USER = "vnode-test"
SYSTEM = "kube-system"
"""Stands for the operator's namespace."""


@dataclass
class NodePlane(apiserver.ControlPlane):
    """With the authorizer and the admission that keep nodes apart, and the API server's own certificate for kubelets."""

    def _spawn(self, component: str, arguments: list[str]) -> None:
        if component == "kube-apiserver":
            now = datetime.datetime.now(datetime.UTC)
            client = certificates.new_leaf(self._authority, "kube-apiserver-kubelet", now, organization="system:masters")
            certificate, key = self._write("kubelet.crt", client.certificate), self._write("kubelet.key", client.key)
            arguments = [item for item in arguments if not item.startswith(("--authorization-mode", "--enable-admission"))]
            arguments += [
                "--authorization-mode=Node,RBAC",
                "--enable-admission-plugins=OwnerReferencesPermissionEnforcement,NodeRestriction",
                f"--kubelet-certificate-authority={self.folder}/ca.crt",
                f"--kubelet-client-certificate={certificate}",
                f"--kubelet-client-key={key}",
                "--kubelet-preferred-address-types=InternalIP",
            ]
        super()._spawn(component, arguments)


@dataclass
class World:
    """One OverflowBackend with its process. `start` and `stop` it; backend and API server live on."""

    api: Api
    settings: Settings
    space: str
    url: str = "https://backend.example"
    backend: MemoryBackend = field(default_factory=MemoryBackend)
    unanswered: str = ""
    """A signer whose requests nobody answers."""
    _task: asyncio.Task[None] | None = None
    _approver: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """Name of the backend, and of its node."""
        return self.settings.backend

    async def begin(self) -> None:
        """What the admin and the operator do, and the process."""
        kind = kinds.OVERFLOW_BACKEND
        spec: Object = {"type": "Interlink", "interlink": {"url": self.url, "statusPeriodSeconds": 1}}
        spec["shapes"] = [{"name": "default", "capacity": {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "2"}}]
        body: Object = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": self.name}, "spec": spec}
        await self.api.create(kind, body)
        await self.make_node(self.name)
        await self.tell_nodes({"name": self.name, "shape": "default", "state": "NotReady"})
        self._approver = asyncio.create_task(self._approve())
        await self.start()

    async def make_node(self, name: str) -> None:
        """What the operator does."""
        meta = {"name": name, "labels": {labels.BACKEND: self.name, "kubernetes.io/arch": "arm64"}}
        taints = [{"key": "virtual-kubelet.io/provider", "value": self.name, "effect": "NoSchedule"}]
        await self.api.create(kinds.NODE, {"metadata": meta, "spec": {"taints": taints}})

    async def tell_nodes(self, *nodes: Object) -> None:
        """What the operator writes into the status."""
        patch = {"status": {"nodes": list(nodes)}}
        await self.api.patch(kinds.OVERFLOW_BACKEND, self.name, None, patch, subresource="status")

    async def start(self) -> None:
        """Start the process, and await that it is ready."""
        self.begin_to_start()
        await eventually(self._is_ready)

    def begin_to_start(self) -> None:
        """Start the process. Nobody probes it: asyncio never closes a connection that comes while its server ends."""
        self._task = asyncio.create_task(main.run(self.settings, self._build))

    async def _build(self, *_: Any) -> Any:
        return self.backend

    async def stop(self) -> None:
        """End the process at once, and see that nothing else has ended it."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (self._task or asyncio.sleep(0))

    async def end(self) -> None:
        """All of it."""
        await self.stop()
        if self._approver is not None:
            self._approver.cancel()
            await asyncio.gather(self._approver, return_exceptions=True)
        for kind in (kinds.NODE, kinds.OVERFLOW_BACKEND):
            await self.api.delete(kind, self.name)

    async def _is_ready(self) -> bool:
        if self._task is not None and self._task.done():
            self._task.result()
        return await self.probe("readyz") == 200

    async def probe(self, path: str) -> int:
        """The status that the health port answers."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.settings.health_port)
        except OSError:
            return 0
        try:
            writer.write(f"GET /{path} HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n".encode())
            answer = await reader.read()
        finally:
            writer.close()
        return int(answer.split(b" ")[1])

    async def heard(self) -> None:
        """Await that the process knows everything and has nothing to do; see `tests.heard`."""
        await heard(Process(self.settings.health_port, {"host": self.api}))

    async def bind(self, name: str, *, seconds: str = "", **spec: Any) -> str:
        """A pod that is bound to the node. Returns its UID."""
        meta: Object = {"name": name, "namespace": self.space}
        meta |= {"annotations": {labels.PENDING_SECONDS: seconds}} if seconds else {}
        full = {
            "nodeName": self.name,
            "restartPolicy": "Never",
            "containers": [{"name": "app", "image": "example/web:1"}],
            **spec,
        }
        made = await self.api.create(kinds.POD, {"metadata": meta, "spec": full})
        return str(made["metadata"]["uid"])

    async def pod(self, name: str, is_met: Callable[[Object | None], bool]) -> Object:
        """The host pod, once it is so."""

        async def look() -> list[Object]:
            found = await self.api.find(kinds.POD, name, self.space)
            return [found or {}] if is_met(found) else []

        return (await eventually(look))[0]

    async def phase(self, name: str, phase: str | None) -> Object:
        """The host pod, once it has this phase (None: it is gone)."""
        return await self.pod(name, lambda pod: (status_of(pod).get("phase") if pod else None) == phase)

    async def accepted(self, name: str) -> Object:
        """The host pod, once the backend has it."""
        return await self.pod(name, lambda pod: mark_of(pod) == "Accepted")

    async def run(self) -> str:
        """A pod `web` that runs. Returns its UID."""
        uid = await self.bind("web")
        await self.accepted("web")
        self.backend.run(uid)
        await self.phase("web", "Running")
        return uid

    async def until(self, check: Callable[[], object]) -> None:
        """Await a condition."""

        async def look() -> bool:
            return bool(check())

        await eventually(look)

    async def node(self, is_met: Callable[[Object], bool]) -> Object:
        """The Node, once it is so."""

        async def look() -> Object | None:
            found = await self.api.get(kinds.NODE, self.name)
            return found if is_met(found) else None

        return await eventually(look)

    async def _approve(self) -> None:
        """What the operator does."""
        while True:
            for request in await self.api.list(kinds.CERTIFICATE_REQUEST, labels=f"{labels.BACKEND}={self.name}"):
                if not conditions_of(request) and request["spec"]["signerName"] != self.unanswered:
                    assert request["spec"]["username"] == USER
                    condition = {"type": "Approved", "status": "True", "reason": "Test", "lastUpdateTime": timestamp()}
                    await self.api.patch(
                        kinds.CERTIFICATE_REQUEST,
                        request["metadata"]["name"],
                        None,
                        {"status": {"conditions": [condition]}},
                        subresource="approval",
                    )
            await asyncio.sleep(0.1)


class Killer:
    """Ends the process at its n-th request of a kind, before or after that is sent."""

    def __init__(
        self, world: World, is_meant: Callable[[str, str], bool], number: int, moment: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.killed = asyncio.Event()
        self.count = 0
        sent = Api.request

        async def request(api: Api, method: str, path: str, *args: Any, **options: Any) -> Any:
            if api._manager != main.MANAGER or not is_meant(method, path):
                return await sent(api, method, path, *args, **options)
            self.count += 1
            turn = self.count
            if turn == number and moment == "before":
                await self._kill(world)
            answer = await sent(api, method, path, *args, **options)
            if turn == number:
                await self._kill(world)
            return answer

        monkeypatch.setattr(Api, "request", request)

    async def _kill(self, world: World) -> None:
        assert world._task is not None
        world._task.cancel()
        self.killed.set()
        await asyncio.Event().wait()


def mark_of(pod: Object | None) -> str:
    """Why the pod counts as sent."""
    found: Object = next((item for item in conditions_of(pod) if item["type"] == "nestor.dev/Sent"), {})
    return str(found.get("reason", "")) if found.get("status") == "True" else ""


def ready_of(node: Object) -> tuple[str, str]:
    """Status and reason of a Node's Ready."""
    found: Object = next((item for item in conditions_of(node) if item["type"] == "Ready"), {})
    return str(found.get("status", "")), str(found.get("reason", ""))


@contextlib.asynccontextmanager
async def plane() -> AsyncIterator[NodePlane]:
    """The control plane."""
    with apiserver._temporary_folder() as folder:
        made = NodePlane(folder)
        try:
            await made.start()
            yield made
        finally:
            made.stop()


async def make(made: NodePlane, api: Api, name: str, space: str, folder: Path) -> World:
    """A world that has not begun."""
    health, kubelet = apiserver.free_ports(2)
    kubeconfig = str(made.kubeconfig_of(USER))
    return World(api, Settings(name, SYSTEM, "127.0.0.1", folder, kubeconfig, health, kubelet), space)
