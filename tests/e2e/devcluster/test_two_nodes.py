"""The second node is a node like the first: pods, Services, DNS, images, logs and commands work from and to both."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from devcluster import cluster
from devcluster.cluster import ClusterInfo
from tests.e2e.devcluster.conftest import BUSYBOX, Kubectl, fresh_namespace, page
from tests.e2e.devcluster.lifecycle import wait_until

pytestmark = pytest.mark.xdist_group("two-nodes")

FIRST, SECOND = NODES = "nestor-dev", "nestor-dev-2"
EACH = pytest.mark.parametrize("node", NODES)
BOTH_WAYS = pytest.mark.parametrize(("client", "server"), [(FIRST, SECOND), (SECOND, FIRST)])


@pytest.fixture(autouse=True)
def two_nodes(embedded: ClusterInfo) -> None:
    """A cluster of both nodes."""
    if len(cluster.nodes()) == 1:
        pytest.skip("the cluster was started with NODES=1")


@dataclass
class Web:
    """A web server on each node, each with a Service named after it."""

    kubectl: Kubectl
    addresses: dict[str, str]
    """The pods' addresses by node."""

    def run(self, node: str, script: str) -> str:
        """Run a shell script in the pod of `node`; what it printed."""
        return self.kubectl("exec", f"web-{node}", "--", "sh", "-c", script)

    def ask(self, node: str, place: str) -> list[str]:
        """Who answers the pod of `node` at that place, and whom it takes the pod for."""
        url = f"http://{place}/cgi-bin/who"
        answer = self.run(node, f"for i in 1 2 3 4 5; do wget -qO- {url} && exit; sleep 1; done")
        return answer.replace("[::ffff:", "").replace("]", "").split()

    def service(self, node: str) -> str:
        """The name of the Service with the pod of `node` behind it."""
        return f"web-{node}.{self.kubectl.namespace}.svc"


@pytest.fixture(scope="module")
def web(embedded: ClusterInfo) -> Iterator[Web]:
    """The servers, ready."""
    with fresh_namespace(embedded) as kubectl:
        for node in NODES:
            kubectl.apply(web_server(node))
        for node in NODES:
            kubectl("wait", f"pod/web-{node}", "--for=condition=Ready", "--timeout=120s")
        address = "-o=jsonpath={.status.podIP}"
        yield Web(kubectl, {node: kubectl("get", "pod", f"web-{node}", address) for node in NODES})


def web_server(node: str) -> str:
    """A pod on that node that answers with the name of the node and the address of who asks, and its Service."""
    answer = 'echo "Content-Type: text/plain"; echo; echo "' + node + ' $REMOTE_ADDR"'
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: web-{node}, labels: {{app: web-{node}}}}}
spec:
  nodeName: {node}
  terminationGracePeriodSeconds: 0
  containers:
    - name: web
      image: {BUSYBOX}
      command: [sh, -ec]
      args:
        - |
          mkdir -p /www/cgi-bin
          printf '%s\\n' '#!/bin/sh' '{answer}' > /www/cgi-bin/who
          chmod +x /www/cgi-bin/who
          exec httpd -f -p 8080 -h /www
      readinessProbe: {{httpGet: {{path: /cgi-bin/who, port: 8080}}, periodSeconds: 1, timeoutSeconds: 5}}
---
apiVersion: v1
kind: Service
metadata: {{name: web-{node}}}
spec: {{type: NodePort, selector: {{app: web-{node}}}, ports: [{{port: 80, targetPort: 8080}}]}}
"""


@BOTH_WAYS
def test_pods_reach_each_other_across_nodes_by_their_own_addresses(web: Web, client: str, server: str) -> None:
    assert web.ask(client, f"{web.addresses[server]}:8080") == [server, web.addresses[client]]


@BOTH_WAYS
def test_a_service_by_its_name_reaches_a_pod_of_the_other_node(web: Web, client: str, server: str) -> None:
    assert web.ask(client, web.service(server)) == [server, web.addresses[client]]


@EACH
def test_a_pod_reaches_itself_through_its_own_service(web: Web, node: str) -> None:
    assert web.ask(node, web.service(node))[0] == node


@EACH
def test_unknown_names_are_refused_at_once(web: Web, node: str) -> None:
    assert "NXDOMAIN" in web.run(node, "nslookup example.com 2>&1; true")


@EACH
def test_the_api_server_is_reached_by_its_service(web: Web, node: str) -> None:
    # Go's answer to HTTP where it expects TLS, which this wget does not speak well enough.
    assert "400 Bad Request" in web.run(node, "wget -qO- http://kubernetes.default.svc:443/ 2>&1; true")


@EACH
def test_pods_have_no_way_out(web: Web, node: str) -> None:
    # 192.0.2.0/24 is reserved for documentation: nobody is there even if a packet left the machine.
    assert "unreachable" in web.run(node, "nc -w 3 192.0.2.77 80 2>&1; true").lower()


@EACH
def test_output_and_commands_work_on_each_node(kubectl: Kubectl, node: str) -> None:
    overrides = json.dumps({"spec": {"nodeName": node, "terminationGracePeriodSeconds": 0}})
    script = "echo hello from $(hostname); sleep 1000"
    arguments = (f"--image={BUSYBOX}", f"--overrides={overrides}", "--command", "--", "sh", "-c", script)
    kubectl("run", "talker", *arguments)
    kubectl("wait", "pod/talker", "--for=condition=Ready", "--timeout=120s")
    wait_until(lambda: kubectl("logs", "talker") == "hello from talker\n", "its output can be read")
    assert kubectl("exec", "-i", "talker", "--", "cat", stdin="through the API server\n") == "through the API server\n"


@EACH
def test_the_machine_reaches_pods_services_and_node_ports_of_each_node(web: Web, node: str) -> None:
    service = json.loads(web.kubectl("get", "service", f"web-{node}", "-o", "json"))["spec"]
    nodes = json.loads(web.kubectl("get", "nodes", *NODES, "-o", "json"))["items"]
    addresses = [item["status"]["addresses"][0]["address"] for item in nodes]
    node_ports = [f"{address}:{service['ports'][0]['nodePort']}" for address in addresses]
    for place in (f"{web.addresses[node]}:8080", f"{service['clusterIP']}:80", *node_ports):
        wait_until(lambda place=place: page(place, "/cgi-bin/who").startswith(f"{node} "), f"http://{place} answers")  # type: ignore[misc]


def test_each_node_gives_its_pods_addresses_of_the_range_in_its_object(web: Web) -> None:
    ranges = {node: web.kubectl("get", "node", node, "-o", "jsonpath={.spec.podCIDR}") for node in NODES}
    assert ranges == {FIRST: "10.42.0.0/24", SECOND: "10.42.1.0/24"}
    assert [web.addresses[node].rpartition(".")[0] for node in NODES] == ["10.42.0", "10.42.1"]


def test_pod_security_is_enforced(kubectl: Kubectl) -> None:
    kubectl("label", "namespace", kubectl.namespace, "pod-security.kubernetes.io/enforce=restricted")
    with pytest.raises(AssertionError, match='violates PodSecurity "restricted'):
        kubectl("run", "loose", f"--image={BUSYBOX}")
