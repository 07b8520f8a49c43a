"""NetworkPolicies hold on both nodes, from a pod's first packet on, and follow every change."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from devcluster import cluster
from devcluster.cluster import ClusterInfo, settings
from nestor.api.objects import Object
from tests.e2e.devcluster.conftest import BUSYBOX, Kubectl, fresh_namespace
from tests.e2e.devcluster.lifecycle import wait_until

pytestmark = pytest.mark.xdist_group("policy-enforcer")

FIRST, SECOND = "nestor-dev", "nestor-dev-2"
CLIENTS = {"near": FIRST, "far": SECOND}
SERVE = "echo yes > /tmp/index.html; httpd -p 8080 -h /tmp; exec httpd -f -p 8081 -h /tmp"


@pytest.fixture(autouse=True)
def two_nodes(embedded: ClusterInfo) -> None:
    """A cluster of both nodes."""
    if len(cluster.nodes()) == 1:
        pytest.skip("the cluster was started with NODES=1")


@dataclass
class Pods:
    """A server on the first node with a Service, a client on each node, and a namespace beside them with a client."""

    kubectl: Kubectl
    beside: Kubectl
    server: str
    """Address of the server's pod."""

    @property
    def places(self) -> tuple[str, str, str]:
        """Where the server listens: its two ports, and the Service of the first one."""
        return f"{self.server}:8080", f"{self.server}:8081", f"server.{self.kubectl.namespace}.svc"

    def ask(self, client: str, place: str, kubectl: Kubectl | None = None) -> str:
        """What a client gets there."""
        script = f"timeout 3 wget -qO- http://{place} 2>&1 || true"
        return (kubectl or self.kubectl)("exec", client, "--", "sh", "-c", script).strip()

    def reaches(self, client: str, place: str, kubectl: Kubectl | None = None) -> bool:
        """Whether a client gets the server's page there."""
        answer = self.ask(client, place, kubectl)
        # Everything else would be no wall, but a server that does not serve.
        assert answer == "yes" or "No route to host" in answer, answer
        return answer == "yes"

    def await_reached(self, client: str, place: str, expected: bool, kubectl: Kubectl | None = None) -> None:
        """Rules follow changes a moment late."""
        wait_until(lambda: self.reaches(client, place, kubectl) is expected, f"{client} reaches {place}: {expected}", 10)

    def policy(self, name: str, **spec: Any) -> None:
        """Apply a policy about the server, unless it says otherwise."""
        body = {"podSelector": {"matchLabels": {"app": "server"}}, **spec}
        meta = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name}}
        self.kubectl.apply(json.dumps(meta | {"spec": body}))


def pod(name: str, node: str, script: str, **meta: Any) -> str:
    """A pod of busybox."""
    container: Object = {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", script]}
    if name == "server":
        container["ports"] = [{"name": "web", "containerPort": 8080}]
    spec = {"nodeName": node, "terminationGracePeriodSeconds": 0, "restartPolicy": "Never", "containers": [container]}
    labels = {"app": name, **meta}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec})


@pytest.fixture(scope="module")
def shared(embedded: ClusterInfo) -> Iterator[Pods]:
    """The pods, ready."""
    with fresh_namespace(embedded) as kubectl, fresh_namespace(embedded) as beside:
        kubectl.apply(pod("server", FIRST, SERVE))
        kubectl("expose", "pod", "server", "--port=80", "--target-port=8080")
        for name, node in CLIENTS.items():
            kubectl.apply(pod(name, node, "exec sleep 3600"))
        beside.apply(pod("near", FIRST, "exec sleep 3600"))
        for run, names in ((kubectl, ("server", "near", "far")), (beside, ("near",))):
            run("wait", *(f"pod/{name}" for name in names), "--for=condition=Ready", "--timeout=120s")
        found = Pods(kubectl, beside, kubectl("get", "pod", "server", "-o=jsonpath={.status.podIP}"))
        for client in CLIENTS:  # a pod is ready before it listens, and nodes follow Services
            for place in found.places:
                wait_until(lambda at=(client, place): found.ask(*at) == "yes", f"{place} answers {client}")  # type: ignore[misc]
        yield found


@pytest.fixture
def pods(shared: Pods) -> Iterator[Pods]:
    """The pods, without any policy before and after."""
    yield shared
    shared.kubectl("delete", "networkpolicies", "--all")


def test_ingress_is_closed_and_opened_by_pod_namespace_and_port(pods: Pods) -> None:
    place, other, service = pods.places
    pods.policy("closed", policyTypes=["Ingress"])
    for client in CLIENTS:
        pods.await_reached(client, place, False)
    assert not pods.reaches("near", place, pods.beside)
    assert not pods.reaches("far", service)
    # The server's own node, which its kubelet is on; and itself, by its Service too.
    assert pods.reaches("server", place)
    assert pods.reaches("server", service)

    pods.policy("far", ingress=[{"from": [{"podSelector": {"matchLabels": {"role": "client"}}}], "ports": [{"port": "web"}]}])
    pods.kubectl("label", "pod", "far", "role=client")
    pods.await_reached("far", place, True)
    assert pods.reaches("far", service)
    assert not pods.reaches("far", other)
    assert not pods.reaches("near", place)
    pods.kubectl("label", "pod", "far", "role-")
    pods.await_reached("far", place, False)

    name = pods.beside.namespace
    pods.policy("far", ingress=[{"from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}]}])
    pods.await_reached("near", other, True, pods.beside)
    assert not pods.reaches("near", place)

    address = pods.kubectl("get", "pod", "far", "-o=jsonpath={.status.podIP}")
    block = {"cidr": settings.POD_CIDR, "except": [f"{address}/32"]}
    pods.policy("far", ingress=[{"from": [{"ipBlock": block}], "ports": [{"port": 8000, "endPort": 8080}]}])
    pods.await_reached("near", place, True)
    assert not pods.reaches("near", other)
    assert not pods.reaches("far", place)

    pods.kubectl("delete", "networkpolicies", "--all")
    pods.await_reached("far", other, True)


def test_egress_is_closed_and_opened_also_towards_the_pods_own_node(pods: Pods) -> None:
    clients = {"podSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": list(CLIENTS)}]}}
    place = f"{pods.server}:8080"
    pods.policy("out", policyTypes=["Egress"], **clients)
    for client in CLIENTS:
        pods.await_reached(client, place, False)
        # The API server and the registry are addresses of the first node.
        for closed in (f"{settings.CONTROL_PLANE_IP}:5000", f"{settings.CONTROL_PLANE_IP}:6443"):
            assert not pods.reaches(client, closed)
    assert pods.reaches("near", place, pods.beside)

    to_server = {"to": [{"podSelector": {"matchLabels": {"app": "server"}}}], "ports": [{"port": "web"}]}
    pods.policy("out", policyTypes=["Egress"], egress=[to_server], **clients)
    for client in CLIENTS:
        pods.await_reached(client, place, True)
        assert not pods.reaches(client, f"{pods.server}:8081")


def test_a_pod_is_covered_from_its_first_packet_on_and_known_to_the_other_node(pods: Pods) -> None:
    """Each pod asks at once when it starts: those that may not get nothing, those that may get their page."""
    pods.policy("in", ingress=[{"from": [{"podSelector": {"matchLabels": {"may": "true"}}}]}], policyTypes=["Ingress"])
    pods.await_reached("far", f"{pods.server}:8080", False)
    script = f"timeout 3 wget -qO- http://{pods.server}:8080 2>&1 | tail -n 1"
    names = [(f"{may}-{number}", may) for number in range(4) for may in ("true", "false")]
    for number, (name, may) in enumerate(names):
        pods.kubectl.apply(pod(name, (FIRST, SECOND)[number // 2 % 2], script, may=may))
    for name, may in names:
        pods.kubectl("wait", f"pod/{name}", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
        answer = pods.kubectl("logs", name).strip()
        assert (answer == "yes") is (may == "true"), f"{name}: {answer}"


def test_udp_is_judged_as_such(pods: Pods) -> None:
    def is_resolved() -> bool:
        script = f"nslookup kubernetes.default.svc.{settings.CLUSTER_DOMAIN} {settings.DNS_IP} || true"
        return settings.KUBERNETES_SERVICE_IP in pods.kubectl("exec", "far", "--", "sh", "-c", script)

    def allow(protocol: str) -> None:
        ports = [{"protocol": protocol, "port": 53}]
        pods.policy("out", podSelector={}, policyTypes=["Egress"], egress=[{"ports": ports}])

    assert is_resolved()
    allow("TCP")
    pods.await_reached("far", f"{pods.server}:8080", False)
    assert not is_resolved()
    allow("UDP")
    wait_until(is_resolved, "names are resolved", 10)
