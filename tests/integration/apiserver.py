"""A real control plane for tests: etcd and kube-apiserver, and kube-controller-manager where its controllers are needed.

No node: pods stay Pending unless a test writes their status, which is how kubelet's part is played here. Everything listens on
loopback, on free ports, keeps its files in one temporary folder, and is ended with the test run.
"""

import asyncio
import contextlib
import datetime
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from devcluster import build
from devcluster.build import cache
from devcluster.progress import Console
from nestor.api.objects import Object
from nestor.cluster import certificates, pki
from nestor.kube import Api, ApiError, Unreachable, kinds
from tests.children import WITH_US
from tests.waiting import has, wait_for

SERVICE_CIDR = "10.43.0.0/16"
HARDENED = ("OwnerReferencesPermissionEnforcement",)
"""As OpenShift and hardened clusters have it."""
GATES = "--feature-gates=GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true"
"""PodGroups, and all that these may say."""
START_TIMEOUT_SECONDS = 240
ROOT = Path(__file__).parents[2]


def binary(name: str = "kube") -> Path:
    """One of the binaries that `python -m devcluster.build binaries` leaves, or an extra; `kube` is the whole control plane."""
    if name in build.EXTRAS:
        build.ensure(Console(), name)
    path = cache.default().bin / name
    if not path.exists():
        raise RuntimeError(f"{path} is missing; build it with `python -m devcluster.build binaries`")
    return path


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on, and that nobody else is given while this process lives.

    They stay bound, in the way that lets a server listen there: otherwise one that starts slowly might find its port taken.
    """
    return [_reserve_port() for _ in range(count)]


def _reserve_port() -> int:
    item = socket.socket()
    item.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as all servers have it
    item.bind(("127.0.0.1", 0))
    port: int = item.getsockname()[1]
    item.detach()  # open until the process ends
    return port


@dataclass
class ControlPlane:
    """The processes of one control plane, and where they are reached."""

    folder: Path
    with_controllers: bool = True
    service_cidr: str = SERVICE_CIDR
    plugins: tuple[str, ...] = HARDENED
    """Admission plugins besides those that every API server has."""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def kubeconfig(self) -> Path:
        """The admin's kubeconfig."""
        return self.folder / "admin.kubeconfig"

    async def start(self) -> None:
        """Start everything and await the API server's readiness."""
        client, peer, secure = free_ports(3)
        self._write_pki(secure)
        self._spawn(
            "etcd",
            [
                f"--data-dir={self.folder}/etcd",
                "--unsafe-no-fsync",
                "--log-level=warn",
                f"--listen-client-urls=http://127.0.0.1:{client}",
                f"--advertise-client-urls=http://127.0.0.1:{client}",
                f"--listen-peer-urls=http://127.0.0.1:{peer}",
                f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                f"--initial-cluster=default=http://127.0.0.1:{peer}",
            ],
        )
        self._spawn(
            "kube-apiserver",
            [
                f"--etcd-servers=http://127.0.0.1:{client}",
                f"--secure-port={secure}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                "--endpoint-reconciler-type=none",
                f"--service-cluster-ip-range={self.service_cidr}",
                f"--tls-cert-file={self.folder}/server.crt",
                f"--tls-private-key-file={self.folder}/server.key",
                f"--client-ca-file={self.folder}/ca.crt",
                f"--service-account-key-file={self.folder}/service.key",
                f"--service-account-signing-key-file={self.folder}/service.key",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--authorization-mode=RBAC",
                "--allow-privileged",
                GATES,
                "--runtime-config=scheduling.k8s.io/v1alpha2=true",
                *([f"--enable-admission-plugins={','.join(self.plugins)}"] if self.plugins else []),
            ],
        )
        await self._await_ready()
        await self._install_crds()
        if self.with_controllers:
            self._spawn(
                "kube-controller-manager",
                [
                    f"--kubeconfig={self.kubeconfig}",
                    f"--root-ca-file={self.folder}/ca.crt",
                    "--leader-elect=false",
                    "--secure-port=0",
                    f"--service-account-private-key-file={self.folder}/service.key",
                    f"--cluster-signing-cert-file={self.folder}/ca.crt",
                    f"--cluster-signing-key-file={self.folder}/ca.key",
                    # Tests play the part of the nodes; these two would undo it. Short delays keep deletion tests short.
                    "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller",
                    "--concurrent-namespace-syncs=20",
                    GATES,
                    "--kube-api-qps=500",
                    "--kube-api-burst=1000",
                ],
            )
            await self._await_basics()

    async def _await_basics(self) -> None:
        """What the controllers make in every namespace is there, so that tests may compare before and after."""
        async with await Api.connect(str(self.kubeconfig)) as api:
            for namespace in ("default", "kube-system", "kube-public", "kube-node-lease"):
                await wait_for(api, kinds.SERVICE_ACCOUNT, "default", namespace, bool)
                await wait_for(api, kinds.CONFIG_MAP, "kube-root-ca.crt", namespace, bool)

    async def _install_crds(self) -> None:
        """Before the controllers start: the garbage collector looks for new kinds only every 30 s."""
        async with await Api.connect(str(self.kubeconfig), manager="tests") as api:
            for path in sorted((ROOT / "crds").glob("*.yaml")):
                crd = yaml.load(path.read_text(), yaml.CSafeLoader)
                await api.apply(kinds.CRD, crd)
                await wait_for(api, kinds.CRD, crd["metadata"]["name"], "", has("Established", "True"))

    @contextlib.contextmanager
    def scheduling(self, name: str, profile: Object | None = None, program: str = "kube") -> Iterator[None]:
        """A scheduler, for the pods that name it, for the length of a `with` block: tests play the default one."""
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self.kubeconfig)},
            "leaderElection": {"leaderElect": False},
            "profiles": [{"schedulerName": name, **(profile or {})}],
        }
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(config))
        component = ["kube-scheduler", GATES] if program == "kube" else []
        self._start(name, [str(binary(program)), *component, f"--config={path}", "--secure-port=0"])
        process = self.processes.pop()
        try:
            yield
            assert process.poll() is None, (self.folder / f"{name}.log").read_text()[-5000:]
        finally:
            process.kill()
            process.wait()

    def stop(self) -> None:
        """End exactly what was started, at once: nothing of it is kept, and an API server that drains its watches takes long."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()

    def _spawn(self, component: str, arguments: list[str]) -> None:
        self._start(component, [str(binary()), component, *arguments])

    def _start(self, name: str, command: list[str]) -> None:
        log, command = (self.folder / f"{name}.log").open("wb"), [*WITH_US, *command]
        # They live for minutes at most: a fifth less processor time for some memory.
        environment = {**os.environ, "GOGC": "400"}
        with log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment))

    async def _await_ready(self) -> None:
        async with asyncio.timeout(START_TIMEOUT_SECONDS), await Api.connect(str(self.kubeconfig), timeout=5) as api:
            while True:
                for process in self.processes:
                    if process.poll() is not None:
                        raise RuntimeError(f"{process.args!r} ended with {process.returncode}, see {self.folder}")
                try:
                    await api.request("GET", "/readyz")
                    return
                except (ApiError, Unreachable):
                    await asyncio.sleep(0.1)

    def _write_pki(self, port: int) -> None:
        now = datetime.datetime.now(datetime.UTC)
        authority = certificates.new_authority("test-ca", now)
        hosts = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost", "127.0.0.1"]
        server = certificates.new_leaf(authority, "kube-apiserver", now, hosts=hosts)
        admin = certificates.new_leaf(authority, "admin", now, organization="system:masters")
        self._authority, self._server = authority, f"https://127.0.0.1:{port}"
        files = {
            "ca.crt": authority.certificate,
            "ca.key": authority.key,
            "server.crt": server.certificate,
            "server.key": server.key,
            "service.key": certificates.new_key(),
            "admin.kubeconfig": pki.build_kubeconfig(self._server, authority.certificate, admin, "admin").encode(),
        }
        for name, content in files.items():
            self._write(name, content)

    def kubeconfig_of(self, user: str) -> Path:
        """A kubeconfig for a user with no rights but those that RBAC gives to that name."""
        client = certificates.new_leaf(self._authority, user, datetime.datetime.now(datetime.UTC))
        content = pki.build_kubeconfig(self._server, self._authority.certificate, client, user)
        return self._write(f"{user.replace(':', '-')}.kubeconfig", content.encode())

    def _write(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)
        return path


@contextlib.asynccontextmanager
async def running(
    *, with_controllers: bool = True, service_cidr: str = SERVICE_CIDR, plugins: tuple[str, ...] = HARDENED
) -> AsyncIterator[ControlPlane]:
    """A control plane for the length of a `with` block."""
    with _temporary_folder() as folder:
        plane = ControlPlane(folder, with_controllers, service_cidr, plugins)
        try:
            await plane.start()
            yield plane
        finally:
            plane.stop()


@contextlib.contextmanager
def _temporary_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="nestor-apiserver-"))
    try:
        yield folder
    finally:
        if os.environ.get("NESTOR_KEEP"):
            print(json.dumps({"kept": str(folder)}))
        else:
            shutil.rmtree(folder, ignore_errors=True)
