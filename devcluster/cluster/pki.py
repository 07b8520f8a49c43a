"""Who trusts whom in the embedded cluster, as a table: one CA per purpose, one identity per component.

Made anew for every cluster, so a kubeconfig of yesterday's cluster does not open today's.
"""

import base64
from pathlib import Path

import yaml

from devcluster.cluster import certificates, settings
from devcluster.cluster.certificates import Authority, KeyPair
from devcluster.cluster.node import facts

# File name → (user, groups) of the components that log in at the API server. A node's name and group are what the Node
# authorizer and NodeRestriction go by.
CLIENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "admin": ("nestor-dev:admin", ("system:masters",)),
    "controller-manager": ("system:kube-controller-manager", ()),
    "scheduler": ("system:kube-scheduler", ()),
    "proxy": ("system:kube-proxy", ()),
    **{f"kubelet-{node.name}": (f"system:node:{node.name}", ("system:nodes",)) for node in facts.ALL},
    "ingress": ("nestor-dev:ingress", ()),
    "policies": ("nestor-dev:policies", ()),
    "volumes": ("nestor-dev:volumes", ()),
}
API_SERVER_NAMES = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    f"kubernetes.default.svc.{settings.CLUSTER_DOMAIN}",
    "localhost",
    "127.0.0.1",
    settings.CONTROL_PLANE_IP,
    settings.KUBERNETES_SERVICE_IP,
)


def files() -> dict[str, bytes]:
    """Every file of the PKI by its name."""
    server, client = Authority("nestor-dev-server-ca"), Authority("nestor-dev-client-ca")
    etcd, front_proxy = Authority("nestor-dev-etcd-ca"), Authority("nestor-dev-front-proxy-ca")
    pairs = {
        "server-ca": server.pair,
        "client-ca": client.pair,
        "etcd-ca": etcd.pair,
        "front-proxy-ca": front_proxy.pair,
        "apiserver": server.server("kube-apiserver", API_SERVER_NAMES),
        **{f"kubelet-server-{node.name}": server.server(node.name, (node.name, node.ip, "127.0.0.1")) for node in facts.ALL},
        "etcd-server": etcd.server("etcd", ("localhost", "127.0.0.1")),
        "etcd-client": etcd.client("kube-apiserver"),
        "front-proxy": front_proxy.client("front-proxy"),
        # Allowed to use the kubelet's API by a binding in addons/access.yaml.
        "apiserver-kubelet-client": client.client("kube-apiserver-kubelet-client"),
    }
    content: dict[str, bytes] = {}
    for name, pair in pairs.items():
        content[f"{name}.crt"], content[f"{name}.key"] = pair.certificate, pair.key
    signer = certificates.new_key()
    content["service-account.key"] = certificates.key_pem(signer)
    content["service-account.pub"] = certificates.public_pem(signer)
    for name, (user, groups) in CLIENTS.items():
        identity = client.client(user, groups)
        content[f"{name}.crt"], content[f"{name}.key"] = identity.certificate, identity.key
        content[f"{name}.kubeconfig"] = kubeconfig(server.pair.certificate, identity)
    return content


def kubeconfig(server_ca: bytes, identity: KeyPair) -> bytes:
    """A kubeconfig with everything embedded, so that it may be copied anywhere on the machine."""

    def encoded(content: bytes) -> str:
        return base64.b64encode(content).decode()

    name = settings.NAME
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": settings.API_URL, "certificate-authority-data": encoded(server_ca)}}],
        "users": [
            {
                "name": name,
                "user": {"client-certificate-data": encoded(identity.certificate), "client-key-data": encoded(identity.key)},
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }
    return yaml.safe_dump(config, sort_keys=False).encode()


def write(folder: Path) -> None:
    """Make a new PKI in `folder`, readable by its owner only."""
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    for name, content in files().items():
        path = folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)
