"""The command line as users run it, a process with a kubeconfig, against a real API server; the test plays the operator."""

from __future__ import annotations

import asyncio
import base64
import datetime
import functools
import json
import os
import signal
import ssl
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from nestor.cluster import certificates
from nestor.kube import Api, Kind, kinds
from tests.integration import apiserver
from tests.waiting import eventually, wait_for

ROOT = Path(__file__).parents[3]
Object = dict[str, Any]


@dataclass
class Call:
    """One run of the command line."""

    process: asyncio.subprocess.Process
    stdout: str = ""
    stderr: str = ""

    async def wait(self) -> Call:
        """Until it ends."""
        output = await self.process.communicate()
        self.stdout, self.stderr = (part.decode() for part in output)
        return self

    @property
    def code(self) -> int | None:
        """Its exit code."""
        return self.process.returncode

    async def read_line(self, part: str) -> str:
        """The next line of standard error that holds `part`."""
        assert self.process.stderr is not None
        last_seen = []
        while line := (await self.process.stderr.readline()).decode():
            last_seen.append(line)
            if part in line:
                return line
        raise AssertionError(f"no line with {part!r} in {last_seen}")

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)


@dataclass
class CommandLine:
    """Runs `nestor`, as one user in one namespace."""

    command: list[str]
    kubeconfig: Path
    namespace: str
    home: Path
    environment: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    async def start(self, *arguments: str, **environment: str) -> Call:
        """Start it."""
        folder = apiserver.binary().parent
        base = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src"), "HOME": str(self.home)}
        process = await asyncio.create_subprocess_exec(
            *self.command,
            "-n",
            self.namespace,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=base | {"KUBECONFIG": str(self.kubeconfig)} | self.environment | environment,
            # Tests in a shell's background have Ctrl-C ignored, and so would have what they start.
            preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        self.calls.append(Call(process))
        return self.calls[-1]

    async def __call__(self, *arguments: str, **environment: str) -> Call:
        """Run it to its end."""
        return await (await self.start(*arguments, **environment)).wait()


@pytest.fixture
async def cli(
    nestor: list[str], control_plane: apiserver.ControlPlane, namespace: str, tmp_path: Path
) -> AsyncIterator[CommandLine]:
    """The admin's command line; nothing that it started outlives its test."""
    result = CommandLine(nestor, control_plane.kubeconfig, namespace, tmp_path)
    yield result
    for call in result.calls:
        if call.process.returncode is None:
            call.process.kill()
            await call.process.wait()


async def report(host: Api, job: Object, *conditions: Object, **status: Any) -> Object:
    """Write a job's status as the operator would."""
    meta = job["metadata"]
    found = await wait_for(host, kinds.NESTED_APP_JOB, meta["name"], meta["namespace"], bool)
    assert found is not None
    body = {"status": {"conditions": list(conditions), "observedGeneration": found["metadata"]["generation"]} | status}
    return await host.patch(kinds.NESTED_APP_JOB, meta["name"], meta["namespace"], body, subresource="status")


async def create(host: Api, namespace: str, name: str = "shop", **spec: Any) -> Object:
    """A job that nobody has reported on."""
    body = {"apiVersion": "nestor.dev/v1alpha1", "kind": "NestedAppJob", "metadata": {"name": name, "namespace": namespace}}
    return await host.create(kinds.NESTED_APP_JOB, body | {"spec": {"app": {"image": "registry.test/shop:1"}} | spec})


@dataclass
class Kubelet:
    """A node's kubelet, as far as logs go."""

    host: Api
    node: str
    logs: dict[str, str] = field(default_factory=dict)
    """By pod."""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request for a log: /containerLogs/NAMESPACE/POD/CONTAINER?…"""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        pod = head.split(" ")[1].split("/")[3]
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n{self.logs[pod]}".encode())
        await writer.drain()
        writer.close()

    async def run(self, name: str, namespace: str, log: str, *, labels: Object | None = None, **annotations: str) -> None:
        """A pod that runs and has said this."""
        self.logs[name] = log
        await wait_for(self.host, kinds.SERVICE_ACCOUNT, "default", namespace, bool)
        await self.host.create(
            kinds.POD,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    "labels": labels or {},
                    "annotations": {f"nestor.dev/{key.replace('_', '-')}": value for key, value in annotations.items()},
                },
                "spec": {"nodeName": self.node, "containers": [{"name": "main", "image": "x"}]},
            },
        )
        status = {
            "phase": "Running",
            "containerStatuses": [
                {"name": "main", "image": "x", "imageID": "", "ready": True, "restartCount": 0, "state": {"running": {}}}
            ],
        }
        await self.host.patch(kinds.POD, name, namespace, {"status": status}, subresource="status")


@pytest.fixture
async def kubelet(host: Api, tmp_path: Path) -> AsyncIterator[Kubelet]:
    """A node with a kubelet on loopback."""
    now = datetime.datetime.now(datetime.UTC)
    leaf = certificates.new_leaf(certificates.new_authority("kubelet-ca", now), "kubelet", now, hosts=["127.0.0.1"])
    (tmp_path / "kubelet.pem").write_bytes(leaf.certificate + leaf.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "kubelet.pem")
    name = f"node-{uuid.uuid4().hex[:6]}"
    kubelet = Kubelet(host, name)
    server = await asyncio.start_server(kubelet.answer, "127.0.0.1", 0, ssl=context)
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": server.sockets[0].getsockname()[1]}},
    }
    await host.create(kinds.NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    await host.patch(kinds.NODE, name, None, {"status": status}, subresource="status")
    yield kubelet
    await host.delete(kinds.NODE, name)
    server.close()


async def give_cluster(host: Api, plane: apiserver.ControlPlane, job: Object, server: str | None = None) -> None:
    """A Secret with the kubeconfig of the job's cluster: the test's own API server plays it, at its address or at `server`."""
    content = json.loads(plane.kubeconfig.read_text())
    content["clusters"][0]["cluster"] |= {"server": server} if server else {}
    meta = {"name": "shop-kubeconfig", "namespace": job["metadata"]["namespace"]}
    data = {"kubeconfig": base64.b64encode(json.dumps(content).encode()).decode()}
    await host.apply(kinds.SECRET, {"metadata": meta, "type": "Opaque", "data": data})
    where = f"own-{job['metadata']['namespace']}"
    await host.apply(kinds.NAMESPACE, {"metadata": {"name": where}})
    await report(
        host,
        job,
        kubeconfigSecretName="shop-kubeconfig",
        namespace=where,
        steps=[
            {"name": "database", "type": "kubectl", "state": "Succeeded"},
            {"name": "web", "type": "kubectl", "state": "Running"},
        ],
    )


async def grant(host: Api, user: str, namespace: str, *rules: Object) -> None:
    """Rights of a user in a namespace, once they are in force."""
    name = f"{user}-{uuid.uuid4().hex[:6]}"
    await host.apply(ROLE, {"metadata": {"name": name, "namespace": namespace}, "rules": list(rules)})
    await host.apply(
        kinds.ROLE_BINDING,
        {
            "metadata": {"name": name, "namespace": namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        },
    )
    for rule in rules:
        await await_right(host, rule, namespace, user=user)


async def await_right(host: Api, rule: Object, namespace: str = "", *, user: str = "", groups: Sequence[str] = ()) -> None:
    """A right is in force: API servers learn of bindings by watches, and refuse until then."""
    asked = {"group": rule["apiGroups"][0], "resource": rule["resources"][0], "verb": rule["verbs"][0], "namespace": namespace}
    asked |= {"name": (rule.get("resourceNames") or [""])[0]}
    spec = {"user": user, "groups": list(groups), "resourceAttributes": asked}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}

    async def is_allowed() -> bool:
        answer = await host.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", None, review)
        return bool(answer["status"]["allowed"])

    await eventually(is_allowed)


ROLE = Kind("rbac.authorization.k8s.io", "v1", "roles", "Role")
JOBS: Object = {"apiGroups": ["nestor.dev"], "resources": ["nestedappjobs"], "verbs": ["*"]}
SECRETS: Object = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
