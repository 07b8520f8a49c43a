"""What "the cluster is ready" means, each part asked for what it is there for, as a user would ask it."""

import http.client
import secrets
import socket
import struct
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from devcluster.cluster import api, logs, settings, state
from devcluster.cluster.node import facts, runtime
from devcluster.cluster.paths import NodePaths, Paths
from devcluster.progress import Progress

POLL_SECONDS = 0.05
NOBODY = "nobody.invalid"
"""A host that no Ingress has. Not below the cluster's domain, where an Ingress may have all of them."""
DNS_SECONDS = 0.3
DNS_TRIES = 5
"""Resolvers ask again, too: on a busy machine a datagram is lost, or answered late, in a cluster that is healthy."""
KUBELET_PORT = 10250
KUBELET_SECONDS = 1.0


class NotReady(RuntimeError):
    """The cluster did not become ready; the message ends with the log that should say why."""


@dataclass(frozen=True)
class Check:
    """One thing to wait for; `logs` are the components to look at when it does not come."""

    title: str
    is_ok: Callable[[], bool]
    seconds: float
    logs: tuple[str, ...]


def checks(paths: Paths) -> list[Check]:
    """All of them, in the order in which they become true."""
    return [registry_check(), *runtime_checks(paths), api_check(paths), *node_checks(paths), *service_checks()]


def registry_check() -> Check:
    """The first thing to become ready."""
    return Check("Image registry answers", registry_answers, 30, ("supervisor", "registry"))


def runtime_checks(paths: Paths) -> list[Check]:
    """What must be there before anything is said to the nodes' image stores."""
    return [_runtime_check(node) for node in paths.nodes()]


def _runtime_check(node: NodePaths) -> Check:
    title = f"containerd of {node.node.name} answers"
    return Check(title, lambda: runtime.answers(node), 30, _logs(node, "node", "containerd"))


def api_check(paths: Paths) -> Check:
    """The condition of those that follow."""
    return Check("API server is ready", api.Client(paths).is_ready, 60, ("kube-apiserver", "etcd"))


def node_checks(paths: Paths) -> list[Check]:
    """What needs the API server."""
    return [node_check(node) for node in paths.nodes()]


def node_check(node: NodePaths) -> Check:
    """That one node accepts pods. One that has just been stopped still says so, hence the question to its kubelet."""
    client = api.Client(node.base)

    def is_ok() -> bool:
        return kubelet_listens(node.node) and node_is_ready(client, node.node)

    return Check(f"Node {node.node.name} is ready", is_ok, 60, _logs(node, "kubelet", "containerd"))


def service_checks() -> list[Check]:
    """What needs the nodes and the addons."""
    node = facts.FIRST.name
    return [
        # The limit covers the first pull of the image.
        Check("Cluster DNS answers", dns_answers, 120, (f"{node}/kubelet", f"{node}/kube-proxy")),
        Check("Ingress controller serves", ingress_serves, 60, ("ingress", "ingress-proxy")),
    ]


def ask(all_checks: Sequence[Check]) -> dict[str, bool]:
    """Ask each check once, side by side: one that hangs holds up no other."""
    with ThreadPoolExecutor(len(all_checks)) as pool:
        return dict(zip((check.title for check in all_checks), pool.map(lambda check: check.is_ok(), all_checks), strict=True))


def wait(paths: Paths, check: Check, progress: Progress) -> None:
    """Wait for one check. Raises `NotReady` when its time is over, or at once when the supervisor gave up."""
    with progress.stage(check.title):
        deadline = time.monotonic() + check.seconds
        while not check.is_ok():
            known = state.load(paths.state)
            if known is not None and known.phase not in ("Starting", "Running"):
                raise NotReady(known.message or f"the cluster is {known.phase.lower()}")
            if time.monotonic() > deadline:
                words = "\n".join(logs.tail(paths.log / f"{name}.log") for name in check.logs)
                raise NotReady(f"'{check.title}' did not come true within {check.seconds:.0f} s\n{words}")
            time.sleep(POLL_SECONDS)


def node_is_ready(client: api.Client, node: facts.Node) -> bool:
    """Whether the node accepts pods."""
    found = client.get_object(f"/api/v1/nodes/{node.name}") or {}
    conditions = found.get("status", {}).get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def kubelet_listens(node: facts.Node) -> bool:
    """Whether the node's kubelet runs."""
    try:
        socket.create_connection((node.ip, KUBELET_PORT), KUBELET_SECONDS).close()
    except OSError:
        return False
    return True


def dns_answers() -> bool:
    """Whether the DNS Service knows the API server's own name: DNS, kube-proxy and pod network in one question."""
    return any(_dns_answers() for _ in range(DNS_TRIES))


def _dns_answers() -> bool:
    name = f"kubernetes.default.svc.{settings.CLUSTER_DOMAIN}"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.settimeout(DNS_SECONDS)
        try:
            udp.sendto(dns_question(name, secrets.randbits(16)), (settings.DNS_IP, 53))
            answer = udp.recv(512)
        except OSError:
            return False
    return socket.inet_aton(settings.KUBERNETES_SERVICE_IP) in answer


def dns_question(name: str, number: int) -> bytes:
    """A DNS query for the A record of `name`."""
    header = struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 0)
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return header + labels + b"\0" + struct.pack(">HH", 1, 1)


def ingress_serves() -> bool:
    """Whether a host that nobody asked for is answered by the Ingress controller's own 404."""
    return _http_status(f"127.0.0.1:{settings.ports().http}", "/", {"Host": NOBODY}) == 404


def registry_answers() -> bool:
    """Whether the image registry takes requests."""
    return _http_status(settings.REGISTRY, "/v2/", {}) == 200


def _logs(node: NodePaths, *names: str) -> tuple[str, ...]:
    return tuple(f"{node.node.name}/{name}" for name in names)


def _http_status(address: str, path: str, headers: dict[str, str]) -> int:
    """Status of a plain HTTP request; 0 when nobody answers."""
    connection = http.client.HTTPConnection(address, timeout=api.TIMEOUT_SECONDS)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
