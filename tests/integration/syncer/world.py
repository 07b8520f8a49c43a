"""Two control planes, a syncer between them, and the parts of scheduler and kubelet, which the tests play on the host.

The syncer runs in the test's process, with exactly the permissions that the chart gives it.
"""

import asyncio
import contextlib
import datetime
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from nestor.api import names
from nestor.api.contracts.cluster import COREDNS_KUBECONFIG, COREDNS_USER, DNS_CERTIFICATE, DNS_KEY, KUBELET_HOSTS
from nestor.api.labels import JOB_UID
from nestor.api.objects import Object
from nestor.cluster import certificates, pki
from nestor.cluster.certificates import Pair
from nestor.cluster.k3s import CONTROLLERS
from nestor.kube import Api, Forbidden, Kind, NotFound, kinds
from nestor.syncer import main
from nestor.syncer.settings import Settings
from tests.heard import Process, heard
from tests.integration import apiserver, chart
from tests.waiting import eventually, until

CLUSTER = "hello"
NODE = "node-1"
ACCOUNT = f"{CLUSTER}-syncer"
"""By such a name, the chart's policies know a syncer."""
START = "2026-01-01T00:00:00Z"


@dataclass
class NestedPlane(apiserver.ControlPlane):
    """The nested control plane: it knows a kubelet at localhost, as the operator sets it up."""

    kubelet_port: int = field(default_factory=lambda: apiserver.free_ports(1)[0])
    port: int = 0
    """The API server's, once it is started."""

    @property
    def access(self) -> Path:
        """What the operator puts into the access Secret."""
        return self.folder

    def find_process(self, component: str) -> subprocess.Popen[bytes]:
        """One of the processes."""
        return next(item for item in self.processes if isinstance(item.args, list) and component in item.args)

    def renew_kubelet(self) -> None:
        """Write a fresh certificate for the kubelet API, as the operator does before one ends."""
        now = datetime.datetime.now(datetime.UTC)
        kubelet = certificates.new_leaf(self._read_authority(), "nestor:kubelet", now, hosts=KUBELET_HOSTS)
        (self.folder / "kubelet.crt").write_bytes(kubelet.certificate)
        (self.folder / "kubelet.key").write_bytes(kubelet.key)

    def renew_dns(self, lifetime: datetime.timedelta) -> None:
        """Write fresh keys for CoreDNS, as the operator does before they end."""
        now = datetime.datetime.now(datetime.UTC)
        keys = certificates.new_leaf(self._read_authority(), COREDNS_USER, now, lifetime)
        (self.folder / DNS_CERTIFICATE).write_bytes(keys.certificate)
        (self.folder / DNS_KEY).write_bytes(keys.key)

    @property
    def dns_kubeconfig(self) -> str:
        """CoreDNS's, as the operator writes it. Keys that it held itself would end in some seconds."""
        authority, now = self._read_authority(), datetime.datetime.now(datetime.UTC)
        content = pki.mint_access(
            pki.Authorities(authority, authority, authority), "10.43.0.5", now, datetime.timedelta(seconds=6)
        )
        return content[COREDNS_KUBECONFIG].decode()

    def _read_authority(self) -> Pair:
        return Pair((self.folder / "ca.crt").read_bytes(), (self.folder / "ca.key").read_bytes())

    def _write_pki(self, port: int) -> None:
        super()._write_pki(port)
        self.port = port
        self.renew_kubelet()
        now = datetime.datetime.now(datetime.UTC)
        authority = self._read_authority()
        client = certificates.new_leaf(authority, "system:apiserver", now, organization="system:masters")
        other = certificates.new_leaf(authority, "nestor:coredns", now)
        proxy = certificates.new_leaf(authority, "system:auth-proxy", now)
        files = {
            "client-ca.crt": authority.certificate,
            "kubelet-client.crt": client.certificate,
            "kubelet-client.key": client.key,
            "proxy.crt": proxy.certificate,
            "proxy.key": proxy.key,
            "other.crt": other.certificate,
            "other.key": other.key,
            "syncer.kubeconfig": (self.folder / "admin.kubeconfig").read_bytes(),
        }
        for name, content in files.items():
            (self.folder / name).write_bytes(content)

    def _spawn(self, component: str, arguments: list[str]) -> None:
        if component == "kube-apiserver":
            arguments = [
                *arguments,
                "--kubelet-preferred-address-types=InternalDNS,InternalIP",
                f"--kubelet-certificate-authority={self.folder}/ca.crt",
                f"--kubelet-client-certificate={self.folder}/kubelet-client.crt",
                f"--kubelet-client-key={self.folder}/kubelet-client.key",
                # As K3s sets them, and the operator.
                f"--requestheader-client-ca-file={self.folder}/ca.crt",
                "--requestheader-allowed-names=system:auth-proxy",
                "--requestheader-username-headers=X-Remote-User",
                "--requestheader-group-headers=X-Remote-Group",
                "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                f"--proxy-client-cert-file={self.folder}/proxy.crt",
                f"--proxy-client-key-file={self.folder}/proxy.key",
                "--enable-aggregator-routing=true",
            ]
        if component == "kube-controller-manager":
            # As the operator starts it: those that are left out judge nodes by heartbeats that nested nodes do not have.
            arguments = [item for item in arguments if not item.startswith("--controllers=")]
            arguments += [f"--controllers={CONTROLLERS}"]
        super()._spawn(component, arguments)


@dataclass
class World:
    """Both clusters and the syncer between them."""

    host: Api
    nested: Api
    plane: NestedPlane
    settings: Settings
    _task: asyncio.Task[None] | None = None

    @property
    def namespace(self) -> str:
        """The host namespace that nested pods go to."""
        return self.settings.namespace

    async def start(self) -> None:
        """Start the syncer, and await that it is ready."""
        self._task = asyncio.create_task(main.run(self.settings))
        await self.eventually(self._ready)

    async def tell(self, change: Object) -> None:
        """Play the operator: change the NestedCluster, and have the syncer know it, if there is one."""
        part = "status" if "status" in change else None
        await self.host.patch(kinds.NESTED_CLUSTER, CLUSTER, self.namespace, change, subresource=part)
        await self.heard()

    async def allow(self, **policy: Any) -> None:
        """Play the operator: change what the class allows; None is nothing."""
        await self.tell({"status": {"policy": policy}})

    async def heard(self) -> None:
        """Await that the syncer, if there is one, knows everything and has nothing to do; see `tests.heard`."""
        if self.is_running:
            await heard(Process(self.settings.health_port, {"host": self.host, "nested": self.nested}))

    async def refuses(self, kind: Kind, body: Object) -> None:
        """Await that a quota of the host is in force: its numbers are there a moment before the API server goes by them."""
        meta = {"generateName": "probe-", "namespace": self.namespace}

        async def look() -> bool:
            try:
                await self.host.try_create(kind, {"apiVersion": kind.api_version, "kind": kind.name, "metadata": meta, **body})
            except Forbidden as error:
                return "exceeded quota" in error.message
            return False

        await self.eventually(look)

    @property
    def is_running(self) -> bool:
        """Whether there is a syncer."""
        return self._task is not None and not self._task.done()

    async def stop(self) -> None:
        """Stop the syncer, as SIGTERM does."""
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _ready(self) -> bool:
        assert self._task is not None
        if self._task.done():
            self._task.result()
        cluster = await self.host.get(kinds.NESTED_CLUSTER, CLUSTER, self.namespace)
        return bool(cluster.get("status", {}).get("conditions")) and await self.probe("readyz") == 200

    async def probe(self, path: str) -> int:
        """The status that the syncer's health port answers."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.settings.health_port)
        except OSError:
            return 0
        writer.write(f"GET /{path} HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return int(answer.split(b" ")[1])

    eventually = staticmethod(eventually)

    async def host_object(self, kind: Kind, name: str, namespace: str) -> Object:
        """The host object of a nested one, once it is there."""
        return await self.eventually(lambda: self.host.find(kind, names.host_name(name, namespace), self.namespace))

    async def host_pod(self, pod: Object) -> Object:
        """The host pod of this very nested pod, once it is there."""
        meta = pod["metadata"]

        async def look() -> Object | None:
            found = await self.host.find(kinds.POD, names.host_name(meta["name"], meta["namespace"]), self.namespace)
            return found if found and found["metadata"]["labels"]["nestor.dev/nested-uid"] == meta["uid"] else None

        return await self.eventually(look)

    async def nested_pod(self, pod: Object, check: Callable[[Object], bool]) -> Object:
        """The nested pod, once `check` is true for it."""
        meta = pod["metadata"]
        return await until(
            lambda: self.nested.find(kinds.POD, meta["name"], meta["namespace"]), lambda found: found and check(found)
        )

    async def gone(self, api: Api, kind: Kind, obj: Object) -> None:
        """Await that this very object is gone."""
        meta = obj["metadata"]
        await until(
            lambda: api.find(kind, meta["name"], meta.get("namespace")),
            lambda found: found is None or found["metadata"]["uid"] != meta["uid"],
        )

    async def schedule(self, host_pod: Object, node: str = NODE) -> None:
        """Play the host's scheduler."""
        meta = host_pod["metadata"]
        body = {
            "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self.host.create(kinds.POD, body, subresource="binding", name=meta["name"])

    async def report(self, host_pod: Object, **status: Any) -> None:
        """Play the host's kubelet: it reports a status."""
        meta = host_pod["metadata"]
        await self.host.patch(
            kinds.POD, meta["name"], meta["namespace"], {"status": status}, subresource="status", how="strategic"
        )

    async def run(self, host_pod: Object) -> None:
        """Play scheduler and kubelet until the pod runs and is ready."""
        await self.schedule(host_pod)
        await self.report(host_pod, **running_status(host_pod))

    async def finish(self, host_pod: Object) -> None:
        """Play the kubelet's last act for this very pod, whose deletion was asked for."""
        meta = host_pod["metadata"]
        await self.host.delete(kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=0)


def running_status(host_pod: Object) -> Object:
    """What a kubelet of v1.36 reports about a running pod."""
    conditions = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
    containers = [
        {
            "name": item["name"],
            "image": item["image"],
            "imageID": "sha256:0",
            "containerID": f"containerd://{item['name']}",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": START}},
            "lastState": {},
            "resources": item.get("resources") or {},
        }
        for item in host_pod["spec"]["containers"]
    ]
    return {
        "phase": "Running",
        "hostIP": "10.40.0.2",
        "hostIPs": [{"ip": "10.40.0.2"}],
        "podIP": "10.42.0.7",
        "podIPs": [{"ip": "10.42.0.7"}],
        "startTime": START,
        "containerStatuses": containers,
        "observedGeneration": 1,
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": START, "lastProbeTime": None, "observedGeneration": 1}
            for kind in conditions
        ],
    }


async def build_world(host: Api, plane: apiserver.ControlPlane, nested_plane: NestedPlane, nested: Api) -> World:
    """What the operator makes before the syncer starts."""
    namespace = f"nestor-team-a-{CLUSTER}-{names.digest(str(nested_plane.folder))}"
    labels = {"pod-security.kubernetes.io/enforce": "baseline", JOB_UID: "job-uid"}
    metadata = {"name": namespace, "labels": labels}
    await host.create(kinds.NAMESPACE, {"metadata": metadata})
    await _create_cluster(host, namespace)
    await _create_node(host)
    kubeconfig = await _grant(host, plane, namespace)
    health, gate, services = apiserver.free_ports(3)
    settings = Settings(
        namespace,
        CLUSTER,
        nested_plane.access,
        str(kubeconfig),
        health_port=health,
        kubelet_port=nested_plane.kubelet_port,
        gate_port=gate,
        services_port=services,
        server_port=nested_plane.port,
        metrics_port=0,
        server_uid="server-pod-uid",
    )
    return World(host, nested, nested_plane, settings)


async def _create_cluster(host: Api, namespace: str) -> None:
    labels = {"nestor.dev/job": CLUSTER, "nestor.dev/job-namespace": "team-a", "nestor.dev/job-uid": "job-uid"}
    body = {
        "apiVersion": "nestor.dev/v1alpha1",
        "kind": "NestedCluster",
        "metadata": {"name": CLUSTER, "namespace": namespace, "labels": labels},
        "spec": {},
    }
    await World.eventually(lambda: _create(host, body))
    allowed = {"status": {"policy": {"alwaysPullImages": False}}}
    await host.patch(kinds.NESTED_CLUSTER, CLUSTER, namespace, allowed, subresource="status")
    for part, port in (("k3s", 443), ("dns", 53)):
        await host.create(
            kinds.SERVICE,
            {
                "metadata": {"name": f"{CLUSTER}-{part}", "namespace": namespace},
                "spec": {"ports": [{"port": port}], "selector": {"part": part}},
            },
        )


async def _create(host: Api, body: Object) -> bool:
    """The CRD is served a moment after it was applied."""
    try:
        await host.create(kinds.NESTED_CLUSTER, body)
    except NotFound:
        return False
    return True


async def _create_node(host: Api) -> None:
    labels = {"kubernetes.io/hostname": NODE, "zone": "a", "nestor.dev/private": "x"}
    body = {"metadata": {"name": NODE, "labels": labels}, "spec": {}}
    await host.apply(kinds.NODE, body)
    # Admission taints a new node; the controller that would untaint it judges by heartbeats, and does not run here.
    await host.patch(kinds.NODE, NODE, None, {"spec": {"taints": None}})
    resources = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    status = {
        "capacity": resources,
        "allocatable": resources,
        "images": [{"names": ["secret/image:1"], "sizeBytes": 1}],
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "",
                "lastHeartbeatTime": START,
                "lastTransitionTime": START,
            }
        ],
    }
    await host.patch(kinds.NODE, NODE, None, {"status": status}, subresource="status")


async def _grant(host: Api, plane: apiserver.ControlPlane, namespace: str) -> Path:
    """A kubeconfig of a service account that has the syncer's roles and no other rights."""
    await chart.install_syncer_roles(host)
    await host.create(kinds.SERVICE_ACCOUNT, {"metadata": {"name": ACCOUNT, "namespace": namespace}})
    group = "rbac.authorization.k8s.io"
    subjects = [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}]
    await host.apply(
        kinds.ROLE_BINDING,
        {
            "metadata": {"name": ACCOUNT, "namespace": namespace},
            "subjects": subjects,
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "nestor-syncer"},
        },
    )
    await host.apply(
        kinds.CLUSTER_ROLE_BINDING,
        {
            "metadata": {"name": namespace},
            "subjects": subjects,
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "nestor-syncer-nodes"},
        },
    )
    token = await host.create(
        kinds.SERVICE_ACCOUNT,
        {"metadata": {"namespace": namespace}, "spec": {"expirationSeconds": 7200}},
        subresource="token",
        name=ACCOUNT,
    )
    config = yaml.safe_load(plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token["status"]["token"]}
    path = plane.folder / f"{namespace}.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


@contextlib.asynccontextmanager
async def running_nested(service_cidr: str = apiserver.SERVICE_CIDR) -> AsyncIterator[NestedPlane]:
    """The nested control plane for the length of a `with` block."""
    with apiserver._temporary_folder() as folder:
        plane = NestedPlane(folder, service_cidr=service_cidr)
        try:
            await plane.start()
            yield plane
        finally:
            plane.stop()


@contextlib.asynccontextmanager
async def running(host: Api, plane: apiserver.ControlPlane) -> AsyncIterator[World]:
    """A running syncer between `host` and a nested control plane of its own."""
    async with (
        running_nested(plane.service_cidr) as nested_plane,
        await Api.connect(str(nested_plane.kubeconfig), manager="tests") as nested,
    ):
        made = await build_world(host, plane, nested_plane, nested)
        await made.start()
        yield made
        await made.stop()
