"""The components' configuration files as data: pure functions from the layout to file contents."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import yaml

from devcluster.cluster import settings
from devcluster.cluster.paths import Paths

CHECKOUT = Path(__file__).resolve().parents[2]
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
"""Inside the supervisor's mount namespace, where `/run` is the cluster's own."""


def files(paths: Paths) -> dict[str, str]:
    """Every configuration file by its name below `etc/`."""
    return {
        "containerd.toml": containerd(paths),
        "certs.d/_default/hosts.toml": registry_mirror(),
        "cni/10-bridge.conflist": json.dumps(cni(), indent=1),
        "kubelet.yaml": yaml.safe_dump(kubelet(paths), sort_keys=False),
        "registry.yaml": yaml.safe_dump(registry(paths), sort_keys=False),
        "caddy.json": json.dumps(caddy(paths), indent=1),
        "resolv.conf": f"nameserver {settings.DNS_IP}\n",
        "hosts": f"127.0.0.1 localhost\n{settings.NODE_IP} {settings.NODE_NAME}\n",
    }


def write(paths: Paths) -> None:
    """Write every configuration file."""
    for name, content in files(paths).items():
        path = paths.etc / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def containerd(paths: Paths) -> str:
    """containerd: content in the cache, state in the private `/run`, every image from the cluster's registry."""
    return f"""version = 3
root = "{paths.containerd}"
state = "/run/containerd"

[grpc]
address = "{CONTAINERD_SOCKET}"

[plugins."io.containerd.internal.v1.opt"]
path = "{paths.cluster / "opt"}"

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

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "{paths.bin / "runc"}"
SystemdCgroup = false

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{paths.bin / "cni"}"]
conf_dir = "{paths.etc / "cni"}"
"""


def registry_mirror() -> str:
    """containerd's rule for every registry host: ask ours, under the image's official name, and nobody else."""
    url = f"http://{settings.REGISTRY}"
    return f"""server = "{url}"

[host."{url}"]
capabilities = ["pull", "resolve"]
"""


def cni() -> dict[str, Any]:
    """One bridge for all pods. Hairpin lets a pod reach itself through its own Service."""
    bridge = {
        "type": "bridge",
        "bridge": settings.POD_BRIDGE,
        "isGateway": True,
        "ipMasq": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            # In the private /run, so that addresses are never remembered across clusters.
            "dataDir": "/run/cni/networks",
            "ranges": [[{"subnet": settings.NODE_POD_CIDR}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "1.0.0", "name": "nestor-dev", "plugins": [bridge, portmap]}


def kubelet(paths: Paths) -> dict[str, Any]:
    """The kubelet, told to live with what a container-like machine does not give."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "x509": {"clientCAFile": str(paths.pki / "client-ca.crt")},
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(paths.pki / "kubelet-server.crt"),
        "tlsPrivateKeyFile": str(paths.pki / "kubelet-server.key"),
        "clusterDNS": [settings.DNS_IP],
        "clusterDomain": settings.CLUSTER_DOMAIN,
        "resolvConf": str(paths.etc / "resolv.conf"),
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "cgroupRoot": f"/{settings.CGROUP}",
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
    }


def registry(paths: Paths) -> dict[str, Any]:
    """The image registry (CNCF distribution) on the cluster's side of the link."""
    return {
        "version": 0.1,
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {
            "filesystem": {"rootdirectory": str(paths.registry)},
            "delete": {"enabled": True},
            "maintenance": {"uploadpurging": {"enabled": False}},
        },
        "http": {"addr": settings.REGISTRY, "secret": "one process, no secret to share"},
    }


def caddy(paths: Paths) -> dict[str, Any]:
    """caddy before the Ingress controller has told it anything: only its admin API, on a socket."""
    return {
        "admin": {"listen": f"unix/{paths.caddy_socket}", "origins": ["localhost"], "config": {"persist": False}},
        "logging": {"logs": {"default": {"level": "WARN"}}},
    }


def environment(paths: Paths) -> dict[str, str]:
    """What every component gets: our binaries first, a home in the cache, no exporter calling out."""
    ports = settings.ports()
    return {
        "PATH": f"{paths.bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(paths.cluster),
        "XDG_DATA_HOME": str(paths.cluster / "data"),
        "XDG_CONFIG_HOME": str(paths.cluster / "config"),
        "OTEL_TRACES_EXPORTER": "none",
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        # Memory for processor time, of which there is less: a fifth of the API server's went to collecting garbage.
        "GOGC": "300",
        "NESTOR_CACHE": str(paths.cache),
        "NESTOR_HTTP_PORT": str(ports.http),
        "NESTOR_HTTPS_PORT": str(ports.https),
        "PYTHONPATH": f"{CHECKOUT}:{CHECKOUT / 'src'}",
    }
