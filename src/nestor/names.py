"""Object names across clusters, readable and safe by construction: cut to the limit, then told apart by a hash.

The same input always gives the same name, so every reconcile finds what an earlier one made.
"""

from __future__ import annotations

import enum
import hashlib

LABEL_LIMIT = 63
"""Longest DNS label (RFC 1123): Services, Namespaces, host names, label values."""

CHILD_LIMIT = 52
"""Longest name of an object whose controller appends to it: a StatefulSet's revision is the longest suffix, 11 characters."""

CLASS_CERTIFICATE = "tls"
"""The copy of the class's TLS Secret, in a job's namespace."""

DATA_VOLUME = "data"
"""The volume of the server's pod that holds the cluster's data, and the template of its claim."""

SERVER_CONTAINER = "k3s"
"""The container of the server in which K3s runs."""


class Part(enum.StrEnum):
    """The part of a nested cluster, or of a job, that one of its objects is: the word that its name ends with."""

    SERVER = "k3s"
    """The server's StatefulSet, and the Service of its API."""
    DNS = "dns"
    """The Service of its DNS."""
    COREDNS = "coredns"
    SYNCER = "syncer"
    """The syncer's identity and rights."""
    AUTHORITIES = "pki"
    ACCESS = "access"
    """The keys of its own processes."""

    RUNNER = "run"
    PLAN = "plan"
    TEMPLATES = "templates"
    """The copy of the job's templates."""
    PULL_SECRET = "pull"  # noqa: S105 - a word
    """The copy of the job's pull secret."""
    APP_SNAPSHOT = "app"
    READER = "reader"
    CERTIFICATE = "tls"
    """The Secret in which cert-manager puts an Ingress's certificate."""

    DENY_POLICY = "deny"
    APP_POLICY = "app"
    EXPOSED_POLICY = "exposed"
    RUNNER_POLICY = "runner"
    SERVER_POLICY = "server"


def digest(*parts: str, length: int = 8) -> str:
    """A short hash of `parts`; the parts' borders count, so ('a', 'bc') differs from ('ab', 'c')."""
    joined = "\0".join(parts).encode()
    return hashlib.sha256(joined).hexdigest()[:length]


def join_limited(parts: list[str], suffix: str, limit: int = LABEL_LIMIT, separator: str = "-") -> str:
    """`parts` joined by `separator`, cut so that with `-suffix` the result fits `limit`, dots made dashes."""
    readable = separator.join(parts).replace(".", "-")
    room = limit - len(suffix) - 1
    return f"{readable[:room].rstrip('-')}-{suffix}"


def job_namespace(name: str, namespace: str, uid: str) -> str:
    """The host namespace of one job. The UID makes a re-created job of the same name start in a fresh namespace."""
    return join_limited(["nestor", namespace, name], digest(namespace, name, uid))


def host_name(name: str, namespace: str) -> str:
    """The host name of a nested object: `<name>-x-<namespace>-x-<hash>`, at most 63 characters."""
    return join_limited([name, namespace], "x-" + digest(namespace, name), separator="-x-")


def child(cluster: str, part: Part) -> str:
    """The name of one of a cluster's (or job's) own objects, as `hello-k3s`; leaves room for what controllers append."""
    if len(cluster) + len(part) + 1 <= CHILD_LIMIT:
        return f"{cluster}-{part}".replace(".", "-")
    return join_limited([cluster], f"{digest(cluster)}-{part}", limit=CHILD_LIMIT)


def server_pod(cluster: str) -> str:
    """The only pod of the server's StatefulSet."""
    return f"{child(cluster, Part.SERVER)}-0"


def data_claim(cluster: str) -> str:
    """The claim that the server's StatefulSet makes for the cluster's data."""
    return f"{DATA_VOLUME}-{server_pod(cluster)}"


def kubeconfig_secret(owner: str) -> str:
    """The Secret with the admin's kubeconfig, beside the job (or the user's cluster) that it is for."""
    return f"{owner}-kubeconfig"


def nodes_binding(namespace: str, cluster: str, uid: str) -> str:
    """The ClusterRoleBinding of the syncer of a user's cluster; that of a job is named as the job's namespace."""
    return join_limited(["nestor", namespace, cluster], digest(namespace, cluster, uid))


def further_ingress(job: str, prefix: str) -> str:
    """The Ingress of a job's further target, whose host begins with `prefix`; that of the first is named as the job."""
    return join_limited([job, prefix], digest(job, prefix), limit=CHILD_LIMIT)


def default_host(name: str, namespace: str, domain: str) -> str:
    """The host of a job's URL, `<job>-<namespace>.<domain>`; long ones are cut and told apart by a hash."""
    label = f"{name}-{namespace}".replace(".", "-")
    if len(label) > LABEL_LIMIT:
        label = join_limited([name, namespace], digest(namespace, name))
    return f"{label}.{domain}"
