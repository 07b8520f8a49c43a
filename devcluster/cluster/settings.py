"""The embedded cluster's fixed facts: names, addresses, ports. One cluster per machine, so nothing here is chosen at run time
but the ports that a browser uses, which somebody else may already hold."""

import os
from dataclasses import dataclass

KUBERNETES_VERSION = "v1.36"
NAME = "nestor-dev"
"""The cluster's, and its first node's."""

MACHINE_IP = "10.40.0.1"
"""The machine's end of the link into the cluster's network namespace."""
CONTROL_PLANE_IP = "10.40.0.2"
"""Where the control plane and the registry listen; the first node's address, too."""
LINK_PREFIX = 30
MACHINE_LINK = "nestor0"
"""Name of the only network interface that the machine gets; at most 15 characters."""
NODE_LINK = "eth0"
POD_BRIDGE = "cni0"

NODES_CIDR = "10.40.0.4/30"
"""Addresses of the link between the control plane's network namespace and the second node's."""
NODES_GATEWAY = "10.40.0.5"
"""The control plane's end of that link."""
NODES_BRIDGE = "nodes0"
"""The interface that carries it, there with or without the other end, as a network card is."""
NODE_PORT_LINK = "node2"
"""The bridge's port that the second node's cable is in."""

POD_CIDR = "10.42.0.0/16"
SERVICE_CIDR = "10.43.0.0/16"
KUBERNETES_SERVICE_IP = "10.43.0.1"
DNS_IP = "10.43.0.10"
CLUSTER_DOMAIN = "cluster.local"

API_URL = f"https://{CONTROL_PLANE_IP}:6443"
REGISTRY = f"{CONTROL_PLANE_IP}:5000"
PAUSE_IMAGE = "registry.k8s.io/pause:3.10.1"

CGROUP = "nestor-dev"
"""Cgroup of all pods, directly below the root of each hierarchy; each node has one below it."""

VOLUMES_IMAGE = "docker.io/library/busybox:1.35"
VOLUMES_NAMESPACE = "volumes"
VOLUMES_PROVISIONER = "rancher.io/local-path"
LOCAL_CLASS, SHARED_CLASS = "local", "shared"
"""StorageClasses: volumes of one node, and of both."""
VOLUMES_FOLDER = "/var/lib/volumes"
"""Where a node has those of its own."""

INGRESS_CLASS = "nestor-dev"
INGRESS_CONTROLLER = "nestor.dev/devcluster-ingress"
INGRESS_IP = "127.0.0.1"
DOMAIN = "nestor.localhost"
"""Hosts below it lead to 127.0.0.1 by themselves in browsers, curl and systemd-resolved (RFC 6761)."""


@dataclass(frozen=True)
class Ports:
    """Where the Ingress controller listens on the machine's loopback interface."""

    http: int = 8080
    https: int = 8443


def ports() -> Ports:
    """The ports, as `NESTOR_HTTP_PORT` and `NESTOR_HTTPS_PORT` may override them."""
    default = Ports()
    return Ports(
        http=int(os.environ.get("NESTOR_HTTP_PORT", default.http)), https=int(os.environ.get("NESTOR_HTTPS_PORT", default.https))
    )
