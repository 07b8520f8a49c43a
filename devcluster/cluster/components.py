"""The programs that a cluster has once: what each is started with, and on which side of the link it lives. Pure."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from devcluster.cluster import settings
from devcluster.cluster.paths import Paths

ETCD_URL = "https://127.0.0.1:2379"

# A node that stops is noticed after 20 s instead of 50 s: the values of Kubespray's "fast update and fast reaction", for which
# its kubelets renew their leases more often, too (see `node.configs`).
NODE_MONITOR = {"node-monitor-period": "2s", "node-monitor-grace-period": "20s"}

BINARIES = (
    "kube",
    "kubectl",
    "containerd",
    "containerd-shim-runc-v2",
    "ctr",
    "runc",
    "registry",
    "ingress-proxy",
    "cni/bridge",
    "cni/host-local",
    "cni/loopback",
    "cni/portmap",
    "policies",
)
"""Names below `bin/` without which the cluster cannot start."""


@dataclass(frozen=True)
class Component:
    """One program, named as its log is. `side` is the network namespace it lives in: the cluster's own, the machine's, or its
    node's."""

    name: str
    argv: tuple[str, ...]
    side: Literal["cluster", "machine", "node"] = "cluster"
    holds_namespace: bool = False
    """Whether it only waits for its child, process 1 of a pid namespace, for which its signals are meant."""
    may_end: bool = False
    """Whether the cluster goes on when it ends by itself."""


def first(paths: Paths) -> list[Component]:
    """What needs nothing else and is started at once."""
    return [etcd(paths), registry(paths), api_server(paths), ingress_proxy(paths)]


def after_api(paths: Paths) -> list[Component]:
    """What ends, or waits long, when it does not find a ready API server."""
    return [controller_manager(paths), scheduler(paths), ingress(paths)]


def etcd(paths: Paths) -> Component:
    """The store; without fsync, because nobody keeps this cluster over a power cut."""
    pki = paths.pki
    return kube(
        paths,
        "etcd",
        {
            "name": "nestor-dev",
            "data-dir": paths.etcd,
            "unsafe-no-fsync": "true",
            "log-level": "warn",
            "listen-client-urls": ETCD_URL,
            "advertise-client-urls": ETCD_URL,
            "listen-peer-urls": "http://127.0.0.1:2380",
            "initial-advertise-peer-urls": "http://127.0.0.1:2380",
            "initial-cluster": "nestor-dev=http://127.0.0.1:2380",
            "cert-file": pki / "etcd-server.crt",
            "key-file": pki / "etcd-server.key",
            "client-cert-auth": "true",
            "trusted-ca-file": pki / "etcd-ca.crt",
        },
    )


def api_server(paths: Paths) -> Component:
    """The API server, on the cluster's side of the link only."""
    pki = paths.pki
    return kube(
        paths,
        "kube-apiserver",
        {
            "advertise-address": settings.CONTROL_PLANE_IP,
            "bind-address": settings.CONTROL_PLANE_IP,
            "secure-port": "6443",
            "etcd-servers": ETCD_URL,
            "etcd-cafile": pki / "etcd-ca.crt",
            "etcd-certfile": pki / "etcd-client.crt",
            "etcd-keyfile": pki / "etcd-client.key",
            "service-cluster-ip-range": settings.SERVICE_CIDR,
            "allow-privileged": "true",
            "tls-cert-file": pki / "apiserver.crt",
            "tls-private-key-file": pki / "apiserver.key",
            "client-ca-file": pki / "client-ca.crt",
            "authorization-mode": "Node,RBAC",
            "enable-admission-plugins": "NodeRestriction,ExtendedResourceToleration",
            "service-account-issuer": f"https://kubernetes.default.svc.{settings.CLUSTER_DOMAIN}",
            "service-account-key-file": pki / "service-account.pub",
            "service-account-signing-key-file": pki / "service-account.key",
            "kubelet-certificate-authority": pki / "server-ca.crt",
            "kubelet-client-certificate": pki / "apiserver-kubelet-client.crt",
            "kubelet-client-key": pki / "apiserver-kubelet-client.key",
            # Without it, logs and exec would look the node's name up in DNS.
            "kubelet-preferred-address-types": "InternalIP",
            "requestheader-client-ca-file": pki / "front-proxy-ca.crt",
            "requestheader-allowed-names": "front-proxy",
            "requestheader-username-headers": "X-Remote-User",
            "requestheader-group-headers": "X-Remote-Group",
            "requestheader-extra-headers-prefix": "X-Remote-Extra-",
            "proxy-client-cert-file": pki / "front-proxy.crt",
            "proxy-client-key-file": pki / "front-proxy.key",
        },
    )


def controller_manager(paths: Paths) -> Component:
    """The controllers; the service account ones get their own identities, as in production."""
    pki = paths.pki
    return kube(
        paths,
        "kube-controller-manager",
        {
            **_login(paths, "controller-manager"),
            "bind-address": "127.0.0.1",
            "leader-elect": "false",
            "use-service-account-credentials": "true",
            "root-ca-file": pki / "server-ca.crt",
            "service-account-private-key-file": pki / "service-account.key",
            **_signers(paths),
            "allocate-node-cidrs": "true",
            "cluster-cidr": settings.POD_CIDR,
            "service-cluster-ip-range": settings.SERVICE_CIDR,
            # Many short-lived namespaces: the default of 20 requests a second makes their removal the slowest part of a test.
            "kube-api-qps": "200",
            "kube-api-burst": "400",
            **NODE_MONITOR,
        },
    )


def _signers(paths: Paths) -> dict[str, Path]:
    """Who signs what by the certificate API: API servers trust kubelets by another authority than clients."""
    found: dict[str, Path] = {}
    for signer in ("kubelet-serving", "kubelet-client", "kube-apiserver-client", "legacy-unknown"):
        authority = "server-ca" if signer == "kubelet-serving" else "client-ca"
        found[f"cluster-signing-{signer}-cert-file"] = paths.pki / f"{authority}.crt"
        found[f"cluster-signing-{signer}-key-file"] = paths.pki / f"{authority}.key"
    return found


def scheduler(paths: Paths) -> Component:
    """The scheduler."""
    own = {"bind-address": "127.0.0.1", "leader-elect": "false", "kube-api-qps": "200", "kube-api-burst": "400"}
    return kube(paths, "kube-scheduler", {**_login(paths, "scheduler"), **own})


def registry(paths: Paths) -> Component:
    """The image registry."""
    return Component("registry", (str(paths.bin / "registry"), "serve", str(paths.etc / "registry.yaml")))


def ingress_proxy(paths: Paths) -> Component:
    """The Ingress data path; on the machine's side, so that it can listen on the machine's loopback interface."""
    ports = settings.ports()
    addresses = (f"--http={settings.INGRESS_IP}:{ports.http}", f"--https={settings.INGRESS_IP}:{ports.https}")
    argv = (str(paths.bin / "ingress-proxy"), f"--socket={paths.ingress_socket}", *addresses)
    return Component("ingress-proxy", argv, side="machine")


def ingress(paths: Paths) -> Component:
    """The Ingress controller: watches the API, tells the proxy."""
    argv = (
        sys.executable,
        "-m",
        "devcluster.cluster.ingress",
        "--kubeconfig",
        str(paths.pki / "ingress.kubeconfig"),
        "--socket",
        str(paths.ingress_socket),
    )
    return Component("ingress", argv, side="machine")


def volumes(paths: Paths) -> Component:
    """The provisioner of both StorageClasses, started by order: a folder for each volume, made by a pod on its node."""
    flags = {
        "config": paths.etc / "volumes.json",
        "helper-pod-file": paths.etc / "volumes-pod.yaml",
        "helper-image": settings.VOLUMES_IMAGE,
        "configmap-name": "scripts",
        "kubeconfig": paths.pki / "volumes.kubeconfig",
        "namespace": settings.VOLUMES_NAMESPACE,
        "provisioner-name": settings.VOLUMES_PROVISIONER,
        "service-account-name": "default",
    }
    argv = (str(paths.bin / "local-path-provisioner"), "start", *(f"--{key}={value}" for key, value in flags.items()))
    return Component("volumes", argv)


def kube(paths: Paths, name: str, flags: Mapping[str, object], node: str = "") -> Component:
    """A part of the multi-call binary `kube`, on a node when one is named."""
    argv = (str(paths.bin / "kube"), name, *(f"--{key}={value}" for key, value in flags.items()))
    return Component(f"{node}/{name}", argv, side="node") if node else Component(name, argv)


def _login(paths: Paths, name: str) -> dict[str, object]:
    """The three flags by which the controllers find the API server and let it check who asks them."""
    kubeconfig = paths.pki / f"{name}.kubeconfig"
    return {"kubeconfig": kubeconfig, "authentication-kubeconfig": kubeconfig, "authorization-kubeconfig": kubeconfig}
