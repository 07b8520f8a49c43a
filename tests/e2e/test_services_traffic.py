"""Services carry traffic: inside the nested cluster, from outside where the class allows it, and nowhere else."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from nestor import names
from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from nestor.objects import Object, labels_of
from tests.e2e.conftest import apply, fresh_namespace, inline_job, kubectl, nested_kubeconfig
from tests.waiting import eventually, job_with

# They share a nested cluster, which one worker is enough for.
pytestmark = pytest.mark.xdist_group("services")

PODS = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  podManagementPolicy: Parallel
  serviceName: each
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: main
        image: docker.io/library/busybox:1.35
        command: [sh, -c, 'mkdir /tmp/www; hostname > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www']
        readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: client, namespace: default}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {name: main, image: 'docker.io/library/busybox:1.35', command: [sleep, '3600']}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: names, namespace: default}
data:
  Corefile: |
    .:1053 {
      hosts {
        192.0.2.7 answer.example
      }
    }
---
apiVersion: v1
kind: Pod
metadata: {name: names, namespace: default, labels: {app: names}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: docker.io/coredns/coredns:1.15.0
    args: [-conf, /etc/coredns/Corefile]
    volumeMounts: [{name: names, mountPath: /etc/coredns}]
  volumes: [{name: names, configMap: {name: names}}]
"""
SERVICES = """
apiVersion: v1
kind: Service
metadata: {name: each, namespace: default}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: sticky, namespace: default}
spec: {sessionAffinity: ClientIP, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: outside, namespace: default}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: udp, namespace: default}
spec: {selector: {app: names}, ports: [{port: 53, targetPort: 1053, protocol: UDP}]}
---
apiVersion: v1
kind: Service
metadata: {name: manual, namespace: default}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: forged, namespace: default}
spec: {ports: [{port: 80}]}
"""


@dataclass
class Inside:
    """The nested cluster of these tests."""

    kubeconfig: Path
    home: str

    async def shell(self, command: str) -> str:
        """What a command says in the client pod."""
        return await kubectl(self.kubeconfig, "exec", "client", "--", "sh", "-c", command)

    async def reach(self, host: str) -> str:
        """The page of a web server, asked for until it answers: rules follow a new Service a moment later."""
        command = f"for i in $(seq 100); do timeout 3 wget -q -O - http://{host}/ && exit 0; sleep 0.2; done; exit 1"
        return (await self.shell(command)).strip()

    async def get(self, *what: str) -> Object:
        """One object."""
        found: Object = json.loads(await kubectl(self.kubeconfig, "get", *what, "-o", "json"))
        return found


@pytest.fixture(scope="module")
async def open_class(api: Api) -> AsyncIterator[str]:
    """A class whose jobs may have node ports."""
    spec: Object = (await api.get(kinds.NESTED_CLASS, "default"))["spec"]
    name = f"services-{uuid.uuid4().hex[:6]}"
    await api.apply(kinds.NESTED_CLASS, {"metadata": {"name": name}, "spec": spec | {"services": {"nodePorts": True}}})
    yield name
    await api.delete(kinds.NESTED_CLASS, name)


@pytest.fixture(scope="module")
async def inside(
    api: Api, used_namespaces: list[str], open_class: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Inside]:
    """Two web servers, a name server, a client, and Services of many kinds."""
    async with fresh_namespace(api, used_namespaces) as namespace:
        documents = inline_job("services", namespace, {"services.yaml": SERVICES})
        documents[-1]["spec"]["className"] = open_class
        await apply(api, documents)
        await job_with(api, "services", namespace, conditions.STEPS_APPLIED, "True")
        job = await job_with(api, "services", namespace, conditions.CLUSTER_READY, "True")
        kubeconfig = await nested_kubeconfig(api, job, tmp_path_factory.mktemp("services"))
        await kubectl(kubeconfig, "wait", "--for=create", "serviceaccount/default", "--timeout=60s", limit=90)
        await kubectl(kubeconfig, "apply", "-f", "-", stdin=PODS)
        await kubectl(kubeconfig, "rollout", "status", "statefulset/web", "--timeout=90s", limit=120)
        await kubectl(kubeconfig, "wait", "--for=condition=Ready", "pod/client", "pod/names", "--timeout=60s", limit=90)
        yield Inside(kubeconfig, job["status"]["namespace"])


async def test_the_first_services_of_a_job_have_addresses_that_are_free_on_both_sides(inside: Inside, kubeconfig: Path) -> None:
    """They are made by a step, as soon as the API server is there."""
    # From within the pod: nobody else reaches this port.
    read = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8081/metrics').read().decode())"
    pod = ("-n", inside.home, "services-k3s-0", "-c", "syncer")
    lines = (await kubectl(kubeconfig, "exec", *pod, "--", "python3", "-c", read)).splitlines()
    counters = {name: float(number) for name, _, number in (line.partition(" ") for line in lines) if "_service" in name}
    print(counters)
    assert counters["nestor_syncer_services_recreated_total"] == 0
    assert counters["nestor_syncer_service_addresses_reserved_total"] > 0


async def test_a_cluster_ip_is_the_same_on_both_sides_and_keeps_a_client_at_its_pod(inside: Inside, api: Api) -> None:
    nested = await inside.get("service", "sticky")
    host = await api.get(kinds.SERVICE, names.host_name("sticky", "default"), inside.home)
    assert host["spec"]["clusterIPs"] == nested["spec"]["clusterIPs"]
    first = await inside.reach("sticky.default")
    pages = await inside.shell("for i in $(seq 12); do timeout 3 wget -q -O - http://sticky.default/; done")
    assert pages.split() == [first] * 12
    assert first in ("web-0", "web-1")


async def test_the_name_of_a_headless_service_stands_for_its_pods(inside: Inside) -> None:
    addresses = {(await inside.get("pod", name))["status"]["podIP"]: name for name in ("web-0", "web-1")}

    async def resolved() -> bool:
        text = await inside.shell("nslookup each.default.svc.cluster.local || true")
        return all(address in text for address in addresses)

    await eventually(resolved, limit=30)
    assert await inside.reach("web-1.each.default.svc.cluster.local:8080") == "web-1"


async def test_a_node_port_answers_at_the_address_of_a_node(inside: Inside, api: Api) -> None:
    (port,) = (await inside.get("service", "outside"))["spec"]["ports"]
    host = await api.get(kinds.SERVICE, names.host_name("outside", "default"), inside.home)
    assert [item["nodePort"] for item in host["spec"]["ports"]] == [port["nodePort"]]
    nodes = [node for node in await api.list(kinds.NODE) if labels.BACKEND not in labels_of(node)]
    address = next(item["address"] for node in nodes for item in node["status"]["addresses"] if item["type"] == "InternalIP")

    async def answers() -> str:
        try:
            async with session.get(f"http://{address}:{port['nodePort']}/") as response:
                return (await response.text()).strip()
        except (aiohttp.ClientError, TimeoutError):
            return ""

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as session:
        assert await eventually(answers, limit=30) in ("web-0", "web-1")
    shown = json.loads(await kubectl(inside.kubeconfig, "get", "nodes", "-o", "json"))["items"]
    for own in [item["address"] for node in shown for item in node["status"]["addresses"] if item["type"] == "InternalIP"]:
        assert await inside.reach(f"{own}:{port['nodePort']}") in ("web-0", "web-1")


async def test_udp_is_carried(inside: Inside) -> None:
    address = (await inside.get("service", "udp"))["spec"]["clusterIP"]

    async def answers() -> bool:
        return "192.0.2.7" in await inside.shell(f"nslookup answer.example {address} 2>&1 || true")

    await eventually(answers, limit=30)


async def test_endpoints_of_users_own_reach_own_pods_and_nothing_else(inside: Inside, api: Api) -> None:
    own = (await inside.get("pod", "web-1"))["status"]["podIP"]
    (foreign, *_) = [
        address
        for found in await api.list(kinds.ENDPOINT_SLICE, "default")
        for endpoint in found["endpoints"]
        for address in endpoint["addresses"]
    ]

    def build(name: str, address: str, port: int) -> Object:
        labels = {"kubernetes.io/service-name": name}
        meta = {"name": f"{name}-1", "namespace": "default", "labels": labels}
        slices: Object = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": meta, "addressType": "IPv4"}
        return slices | {"endpoints": [{"addresses": [address]}], "ports": [{"port": port}]}

    for body in (build("manual", own, 8080), build("forged", foreign, 6443)):
        await kubectl(inside.kubeconfig, "apply", "-f", "-", stdin=json.dumps(body))
    assert await inside.reach("manual.default") == "web-1"
    there = await api.get(kinds.ENDPOINT_SLICE, names.host_name("forged-1", "default"), inside.home)
    assert not there["endpoints"]

    async def told() -> bool:
        events = await kubectl(inside.kubeconfig, "get", "events", "--field-selector=reason=EndpointsIgnored")
        return foreign in events and "services.endpointRanges" in events

    await eventually(told, limit=30)
    assert "no" in await inside.shell("timeout 3 wget -q -O - http://forged.default/ || echo no")
