"""The nested cluster's keys: its authorities, created once, and the certificates of its users and its kubelet.

Two Secrets: `<cluster>-pki` holds the authorities, under K3s's names for custom ones (docs.k3s.io/cli/certificate); only the
server's container mounts it. `<cluster>-access` holds what the other processes need, and is renewed before it expires.
"""

from __future__ import annotations

import base64
import datetime
import json
import secrets
from dataclasses import dataclass

from nestor import names, times
from nestor.api import labels
from nestor.cluster import certificates
from nestor.cluster.certificates import Pair
from nestor.contracts import cluster as contract
from nestor.objects import Object

AUTHORITIES = {
    "server-ca": "server-ca",
    "client-ca": "client-ca",
    "request-header-ca": "request-header-ca",
    "etcd-peer-ca": "etcd/peer-ca",
    "etcd-server-ca": "etcd/server-ca",
}
"""Key in the Secret → path below K3s's `server/tls`; each with `.crt` and `.key`."""

TLS_SERVER_NAME = "kubernetes"
"""A name in every K3s serving certificate, whatever address is used to reach the server."""

ADMIN = "nestor:admin"
"""The user of the kubeconfig that a job's users get."""

SERVICE_KEY = "service.key"
TOKEN = "token"  # noqa: S105 - a key in a Secret


@dataclass(frozen=True)
class Authorities:
    """The authorities that the operator signs with."""

    server: Pair
    client: Pair

    @classmethod
    def from_secret(cls, secret: Object) -> Authorities:
        """Parse the PKI Secret."""
        data = {key: base64.b64decode(value) for key, value in secret["data"].items()}
        return cls(
            server=Pair(data["server-ca.crt"], data["server-ca.key"]), client=Pair(data["client-ca.crt"], data["client-ca.key"])
        )


def mint_authorities(cluster: str, now: datetime.datetime) -> dict[str, bytes]:
    """The PKI Secret's content. The service key signs the nested cluster's service account tokens (ES256)."""
    content: dict[str, bytes] = {}
    for name in AUTHORITIES:
        pair = certificates.new_authority(f"nestor-{cluster[:40]}-{name}", now)
        content[f"{name}.crt"] = pair.certificate
        content[f"{name}.key"] = pair.key
    content[SERVICE_KEY] = certificates.new_key()
    content[TOKEN] = secrets.token_hex(32).encode()
    return content


def mint_access(authorities: Authorities, address: str, now: datetime.datetime) -> dict[str, bytes]:
    """The access Secret's content; `address` is the ClusterIP of the server's Service.

    Syncer and CoreDNS run in the server's pod and reach it over loopback, so they depend on no Service.
    """
    local, remote = "https://127.0.0.1:6443", f"https://{format_address(address)}"
    kubelet = certificates.new_leaf(authorities.server, "nestor:kubelet", now, hosts=["localhost", "127.0.0.1"])
    return {
        contract.RUNNER_KUBECONFIG: _kubeconfig(authorities, remote, "nestor:runner", now, "system:masters"),
        contract.SYNCER_KUBECONFIG: _kubeconfig(authorities, local, "nestor:syncer", now, "system:masters"),
        contract.COREDNS_KUBECONFIG: _kubeconfig(authorities, local, "nestor:coredns", now),
        contract.KUBELET_CERTIFICATE: kubelet.certificate,
        contract.KUBELET_KEY: kubelet.key,
        contract.CLIENT_AUTHORITY: authorities.client.certificate,
    }


def mint_admin_kubeconfig(authorities: Authorities, address: str, now: datetime.datetime) -> dict[str, bytes]:
    """The content of the user's kubeconfig Secret."""
    server = f"https://{format_address(address)}"
    return {"kubeconfig": _kubeconfig(authorities, server, ADMIN, now, "system:masters")}


def content_key(authorities: Authorities, address: str) -> str:
    """A hash that changes if certificates must be reissued before they expire."""
    return names.digest("v1", certificates.fingerprint(authorities.server.certificate), address, length=16)


def renewal_annotations(key: str, now: datetime.datetime) -> dict[str, str]:
    """Annotations of a Secret with leaf certificates issued at `now`."""
    renew = now + datetime.timedelta(days=certificates.LEAF_DAYS - certificates.RENEW_DAYS)
    return {labels.CONTENT_KEY: key, labels.RENEW_AFTER: times.write(renew)}


def is_current(secret: Object | None, key: str, now: datetime.datetime) -> bool:
    """Whether a Secret's certificates are still valid for their purpose."""
    annotations = ((secret or {}).get("metadata") or {}).get("annotations") or {}
    renew = annotations.get(labels.RENEW_AFTER, "")
    return annotations.get(labels.CONTENT_KEY) == key and renew > times.write(now)


def is_admin_kubeconfig(secret: Object, authorities: Authorities, address: str, now: datetime.datetime) -> bool:
    """Whether a Secret's kubeconfig is, byte for byte, one that we made for this cluster: users can write the Secret, and a
    kubeconfig may name another server, and commands to run.
    """
    try:
        text = base64.b64decode(secret["data"]["kubeconfig"])
        user = json.loads(text)["users"][0]["user"]
        client = Pair(*(base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key")))
        is_valid = certificates.is_issued_by(client, authorities.client, now)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError):
        return False
    server = f"https://{format_address(address)}"
    return is_valid and text == build_kubeconfig(server, authorities.server.certificate, client, ADMIN).encode()


def build_kubeconfig(server: str, authority: bytes, client: Pair, user: str) -> str:
    """A kubeconfig for one user of one cluster, as JSON, which every YAML parser accepts and parses fast."""
    content: Object = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "nested",
                "cluster": {
                    "server": server,
                    "certificate-authority-data": _base64(authority),
                    "tls-server-name": TLS_SERVER_NAME,
                },
            }
        ],
        "users": [
            {
                "name": user,
                "user": {"client-certificate-data": _base64(client.certificate), "client-key-data": _base64(client.key)},
            }
        ],
        "contexts": [{"name": "nested", "context": {"cluster": "nested", "user": user}}],
        "current-context": "nested",
    }
    return json.dumps(content, indent=1) + "\n"


def format_address(address: str) -> str:
    """An address for use in URLs: IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


def _kubeconfig(
    authorities: Authorities, server: str, user: str, now: datetime.datetime, organization: str | None = None
) -> bytes:
    client = certificates.new_leaf(authorities.client, user, now, organization=organization)
    return build_kubeconfig(server, authorities.server.certificate, client, user).encode()


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
