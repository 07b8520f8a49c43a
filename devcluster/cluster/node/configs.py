"""A node's configuration files as data: pure functions from the layout to file contents."""

import json
import os
from typing import Any

import yaml

from devcluster.cluster import settings
from devcluster.cluster.paths import NodePaths

LEASE_SECONDS = 20
"""How long the kubelet's lease is good for. It renews it four times as often, so a node must miss four before it counts as lost
(`components.NODE_MONITOR`)."""


def files(paths: NodePaths) -> dict[str, str]:
    """Every configuration file by its name below the node's `etc/`."""
    node = paths.node
    return {
        "containerd.toml": containerd(paths),
        "certs.d/_default/hosts.toml": registry_mirror(),
        "cni/10-bridge.conflist": json.dumps(cni(paths), indent=1),
        "kubelet.yaml": yaml.safe_dump(kubelet(paths), sort_keys=False),
        "resolv.conf": f"nameserver {settings.DNS_IP}\n",
        "hosts": f"127.0.0.1 localhost\n{node.ip} {node.name}\n",
    }


def containerd(paths: NodePaths) -> str:
    """containerd: content in the cache, state in the private `/run`, every image from the cluster's registry."""
    return f"""version = 3
root = "{paths.containerd}"
state = "/run/containerd"

[grpc]
address = "{paths.socket}"

[plugins."io.containerd.internal.v1.opt"]
path = "{paths.home / "opt"}"

[plugins."io.containerd.nri.v1.nri"]
disable = true

[plugins."io.containerd.metadata.v1.bolt"]
# Nothing is kept after a crash (see `runtime`), so nothing needs to survive one.
no_sync = true

[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"
# Pulls of several layers at once help only over a network.
max_concurrent_downloads = 2

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{settings.PAUSE_IMAGE}"

[plugins."io.containerd.cri.v1.images".registry]
config_path = "{paths.etc / "certs.d"}"

[plugins."io.containerd.cri.v1.runtime"]
# Lowering oom_score_adj needs CAP_SYS_RESOURCE, which CI machines do not give.
restrict_oom_score_adj = true
# Each second by default: with 80 containers, that took a fifth of two cores. The kubelet counts by cgroups instead.
stats_collect_period = "10s"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "{paths.base.bin / "runc"}"
SystemdCgroup = false

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{paths.base.bin / "cni"}", "{paths.base.bin}"]
conf_dir = "{paths.etc / "cni"}"
"""


def registry_mirror() -> str:
    """containerd's rule for every registry host: ask ours, under the image's official name, and nobody else."""
    url = f"http://{settings.REGISTRY}"
    return f"""server = "{url}"

[host."{url}"]
capabilities = ["pull", "resolve"]
"""


def cni(paths: NodePaths) -> dict[str, Any]:
    """One bridge for all pods of the node. Hairpin lets a pod reach itself through its own Service."""
    node = paths.node
    bridge = {
        "type": "bridge",
        "bridge": settings.POD_BRIDGE,
        "isGateway": True,
        # Pods see each other's own addresses on every node. Nothing leaves the cluster that would need another.
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            # In the private /run, so that addresses are never remembered across clusters.
            "dataDir": "/run/cni/networks",
            "ranges": [[{"subnet": node.pod_cidr}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    # Last, since it waits for the rules that the pod's addresses need.
    others = [str(other.policies_socket) for other in paths.base.all_nodes() if other.node != node]
    policies = {"type": "policies", "socket": str(paths.policies_socket), "others": others}
    return {"cniVersion": "1.0.0", "name": "nestor-dev", "plugins": [bridge, portmap, policies]}


def kubelet(paths: NodePaths) -> dict[str, Any]:
    """The kubelet, told to live with what a container-like machine does not give."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "x509": {"clientCAFile": str(paths.base.pki / "client-ca.crt")},
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(paths.base.pki / f"kubelet-server-{paths.node.name}.crt"),
        "tlsPrivateKeyFile": str(paths.base.pki / f"kubelet-server-{paths.node.name}.key"),
        "clusterDNS": [settings.DNS_IP],
        "clusterDomain": settings.CLUSTER_DOMAIN,
        "resolvConf": str(paths.etc / "resolv.conf"),
        "containerRuntimeEndpoint": f"unix://{paths.socket}",
        "cgroupRoot": f"/{paths.node.cgroup}",
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        # Tolerates that sysctls and oom scores cannot be set without CAP_SYS_RESOURCE.
        "featureGates": {"KubeletInUserNamespace": True},
        "oomScoreAdj": 0,
        # A development machine's disk is fuller than a node's should be.
        "evictionHard": {"nodefs.available": "1%", "imagefs.available": "1%", "memory.available": "100Mi"},
        "imageGCHighThresholdPercent": 100,
        "serializeImagePulls": False,
        "registryPullQPS": 0,
        "kubeAPIQPS": 100,
        "kubeAPIBurst": 200,
        "maxPods": 200,
        # Two nodes share the processors, and with them the control plane.
        "systemReserved": {"cpu": f"{250 * (os.cpu_count() or 1)}m"},
        "nodeLeaseDurationSeconds": LEASE_SECONDS,
    }
