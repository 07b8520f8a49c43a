"""The nested cluster's keys: its authorities, created once, and the certificates of its users and its kubelet.

Two Secrets: `<cluster>-pki` holds the authorities, under K3s's names for custom ones (docs.k3s.io/cli/certificate); only the
server's container mounts it. `<cluster>-access` holds what the other processes need, and is renewed before it expires.

Everyone outside K3s gets a certificate of an authority that K3s only trusts: `access-ca`. K3s does not start with another client
authority than the one in its data, but reads the list of trusted ones again whenever it changes. So a new `access-ca` makes all
earlier certificates useless, without a restart.
"""

from __future__ import annotations

import base64
import datetime
import json
import secrets
from dataclasses import dataclass
from typing import TypeGuard

from nestor.api import labels, names, times
from nestor.api.contracts import cluster as contract
from nestor.api.objects import Object, annotations_of
from nestor.cluster import certificates
from nestor.cluster.certificates import Pair
from nestor.kube import kubeconfig

AUTHORITIES = {
    "server-ca": "server-ca",
    "client-ca": "client-ca",
    "request-header-ca": "request-header-ca",
    "etcd-peer-ca": "etcd/peer-ca",
    "etcd-server-ca": "etcd/server-ca",
}
"""Key in the Secret → path below K3s's `server/tls`; each with `.crt` and `.key`."""

ACCESS_AUTHORITY = "access-ca"
"""Key in the Secret, with `.crt` and `.key`."""
TRUSTED_CLIENTS = "trusted-clients.crt"
"""Key in the Secret: the certificates of all authorities whose clients the API server accepts."""

KUBECONFIG_LIMIT = 16 * 1024
"""Characters, as base64, of a user's kubeconfig that is looked at; ours have less than a third of that."""

_MASTERS = "system:masters"

TLS_SERVER_NAME = "kubernetes"
"""A name in every K3s serving certificate, whatever address is used to reach the server."""

ADMIN = "nestor:admin"
"""The user of the kubeconfig that a job's users get."""

SERVICE_KEY = "service.key"
TOKEN = "token"  # noqa: S105 - a key in a Secret


@dataclass(frozen=True)
class Lifetimes:
    """How long certificates are valid. They are renewed long before, so that an operator that is down for days does no harm."""

    access: datetime.timedelta = datetime.timedelta(days=28)
    """Of the cluster's own processes; renewed after half of it, for which the syncer restarts."""
    admin: datetime.timedelta = datetime.timedelta(days=7)
    """Of the user's kubeconfig; renewed after a seventh of it, so that a copy is good for six days."""

    @property
    def admin_renewal(self) -> datetime.timedelta:
        """The age at which the user's certificate is renewed."""
        return self.admin / 7


@dataclass(frozen=True)
class Authorities:
    """The authorities that the operator signs with."""

    server: Pair
    client: Pair
    """K3s's own: of the API server as a client of kubelets."""
    access: Pair
    """Of all other clients."""

    @classmethod
    def from_secret(cls, secret: Object) -> Authorities:
        """Parse the PKI Secret. Raises `ValueError` if it does not hold such keys as we write: some users can write it, too."""
        data = secret.get("data") or {}

        def read(name: str) -> Pair:
            pair = Pair(*(base64.b64decode(data.get(f"{name}.{part}") or "") for part in ("crt", "key")))
            pair.check()
            return pair

        return cls(server=read("server-ca"), client=read("client-ca"), access=read(ACCESS_AUTHORITY))


def mint_authorities(cluster: str, now: datetime.datetime) -> dict[str, bytes]:
    """The PKI Secret's content. The service key signs the nested cluster's service account tokens (ES256)."""
    content: dict[str, bytes] = {}
    for name in AUTHORITIES:
        pair = certificates.new_authority(_name_authority(cluster, name), now)
        content[f"{name}.crt"] = pair.certificate
        content[f"{name}.key"] = pair.key
    content[SERVICE_KEY] = certificates.new_key()
    content[TOKEN] = secrets.token_hex(32).encode()
    return content | mint_access_authority(cluster, content["client-ca.crt"], now)


def mint_access_authority(cluster: str, client_authority: bytes, now: datetime.datetime) -> dict[str, bytes]:
    """The part of the PKI Secret's content that can be replaced while the cluster runs. `client_authority` is K3s's own, PEM."""
    # Named like K3s's own: some clients choose a certificate by the names of authorities that the server sends, which are K3s's.
    pair = certificates.new_authority(_name_authority(cluster, "client-ca"), now)
    return {
        f"{ACCESS_AUTHORITY}.crt": pair.certificate,
        f"{ACCESS_AUTHORITY}.key": pair.key,
        TRUSTED_CLIENTS: client_authority + pair.certificate,
    }


def mint_access(authorities: Authorities, address: str, now: datetime.datetime, lifetime: datetime.timedelta) -> dict[str, bytes]:
    """The access Secret's content; `address` is the ClusterIP of the server's Service.

    Syncer and CoreDNS run in the server's pod and reach it over loopback, so they depend on no Service.
    """
    local, remote = f"https://127.0.0.1:{contract.API_PORT}", f"https://{format_address(address)}"

    def issue(user: str, organization: str | None = None) -> Pair:
        return certificates.new_leaf(authorities.access, user, now, lifetime, organization=organization)

    def build(server: str, user: str) -> bytes:
        return build_kubeconfig(server, authorities.server.certificate, issue(user, _MASTERS), user).encode()

    kubelet = certificates.new_leaf(authorities.server, "nestor:kubelet", now, lifetime, hosts=contract.KUBELET_HOSTS)
    coredns = issue(contract.COREDNS_USER)
    return {
        contract.RUNNER_KUBECONFIG: build(remote, "nestor:runner"),
        contract.SYNCER_KUBECONFIG: build(local, "nestor:syncer"),
        contract.COREDNS_KUBECONFIG: _build_dns_kubeconfig(authorities),
        contract.DNS_CERTIFICATE: coredns.certificate,
        contract.DNS_KEY: coredns.key,
        contract.KUBELET_CERTIFICATE: kubelet.certificate,
        contract.KUBELET_KEY: kubelet.key,
        contract.CLIENT_AUTHORITY: authorities.client.certificate,
    }


def mint_admin_kubeconfig(
    authorities: Authorities, address: str, now: datetime.datetime, lifetime: datetime.timedelta
) -> dict[str, bytes]:
    client = certificates.new_leaf(authorities.access, ADMIN, now, lifetime, organization=contract.ADMIN_GROUP)
    server = f"https://{format_address(address)}"
    return {"kubeconfig": build_kubeconfig(server, authorities.server.certificate, client, ADMIN).encode()}


def is_issued(secret: Object, authorities: Authorities, address: str, now: datetime.datetime) -> bool:
    """Whether a Secret's kubeconfig is, byte for byte, one that we made for this cluster: users can write the Secret, and a
    kubeconfig may name another server, and commands to run.
    """
    try:
        if len(secret["data"]["kubeconfig"]) > KUBECONFIG_LIMIT:
            return False
        text = base64.b64decode(secret["data"]["kubeconfig"])
        user = json.loads(text)["users"][0]["user"]
        client = Pair(*(base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key")))
        is_valid = certificates.is_issued_by(client, authorities.access, now)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError):
        return False
    server = f"https://{format_address(address)}"
    return is_valid and text == build_kubeconfig(server, authorities.server.certificate, client, ADMIN).encode()


def content_key(authorities: Authorities, address: str) -> str:
    """A hash that changes if certificates must be reissued before they expire."""
    signers = (certificates.fingerprint(pair.certificate) for pair in (authorities.server, authorities.access))
    return names.digest(*signers, address, length=16)


def renewal_annotations(key: str, renew: datetime.datetime) -> dict[str, str]:
    """Annotations of a Secret with leaf certificates that must be renewed at `renew`."""
    return {labels.CONTENT_KEY: key, labels.RENEW_AFTER: times.write(renew)}


def is_current(secret: Object | None, key: str, now: datetime.datetime) -> TypeGuard[Object]:
    """Whether a Secret's certificates are still valid for their purpose."""
    annotations = annotations_of(secret)
    renew = annotations.get(labels.RENEW_AFTER, "")
    return annotations.get(labels.CONTENT_KEY) == key and renew > times.write(now)


def read_renewal(secret: Object) -> datetime.datetime:
    return times.read(annotations_of(secret)[labels.RENEW_AFTER])


def build_kubeconfig(server: str, authority: bytes, client: Pair, user: str) -> str:
    """A kubeconfig for one user of one cluster, as JSON, which every YAML parser accepts and parses fast."""
    inline = {"client-certificate-data": _base64(client.certificate), "client-key-data": _base64(client.key)}
    return _write_kubeconfig(server, authority, user, inline)


def _build_dns_kubeconfig(authorities: Authorities) -> bytes:
    """CoreDNS's kubeconfig. It names the files of the keys, which client-go then reads anew for each connection."""
    files = {"client-certificate": contract.DNS_CERTIFICATE, "client-key": contract.DNS_KEY}
    server = f"https://127.0.0.1:{contract.GATE_PORT}"
    return _write_kubeconfig(server, authorities.server.certificate, contract.COREDNS_USER, files).encode()


def _write_kubeconfig(server: str, authority: bytes, user: str, credentials: Object) -> str:
    cluster = {"server": server, "certificate-authority-data": _base64(authority), "tls-server-name": TLS_SERVER_NAME}
    return json.dumps(kubeconfig.build(cluster, credentials, "nested", user), indent=1) + "\n"


def format_address(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _name_authority(cluster: str, name: str) -> str:
    return f"nestor-{cluster[:40]}-{name}"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
