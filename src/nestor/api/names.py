"""Object names across clusters, readable and safe by construction: cut to the limit and made unique by a hash.

The same input always gives the same name, so every reconcile finds what an earlier one created.
"""

import enum
import functools
import hashlib
import json
import re

LABEL_LIMIT = 63
"""Maximum length of a DNS label (RFC 1123): Services, Namespaces, host names, label values."""
CHILD_LIMIT = 52
"""Maximum length of a name that controllers extend: the longest suffix is a StatefulSet's revision, 11 characters."""
CLASS_CERTIFICATE = "tls"
"""The copy of the class's TLS Secret in a job's namespace."""
OWN_PULL_SECRET = "pull"  # noqa: S105 - a name
"""The Secret for pulling Nestor's own images in a namespace of a job or of a probe."""
QUOTA_NAME = "nestor"
"""The ResourceQuota by which the operator holds a job's namespace to its class, and the LimitRange beside it."""
DATA_VOLUME = "data"
"""The volume with the cluster's data in the server's pod, and the template of its claim."""
POOLED = "warm"
"""The name of each NestedCluster that was made without a job."""
SERVER_CONTAINER = "k3s"
SYNCER_CONTAINER = "syncer"
SHORT, LONG = 8, 20
"""Characters of a hash: where names differ only by chance, and where somebody may search for two with the same one."""


class Part(enum.StrEnum):
    """The roles of the objects of a nested cluster or a job; an object's name ends with its role."""

    SERVER = "k3s"
    """The server's StatefulSet, and the Service of its API."""
    DNS = "dns"
    """The Service of its DNS."""
    COREDNS = "coredns"
    SYNCER = "syncer"
    """The syncer's identity and permissions."""
    AUTHORITIES = "pki"
    ACCESS = "access"
    """The keys of the cluster's own processes."""

    RUNNER = "run"
    PLAN = "plan"
    TEMPLATES = "templates"
    """The copy of the job's templates."""
    PARAMETERS = "parameters"
    """The copy of the Secret with the job's parameters."""
    PULL_SECRET = "pull"  # noqa: S105 - a word
    """The copy of the job's pull secret."""
    APP_SNAPSHOT = "app"
    READER = "reader"
    CERTIFICATE = "tls"
    """The Secret in which cert-manager stores an Ingress's certificate."""

    DENY_POLICY = "deny"
    APP_POLICY = "app"
    INGRESS_POLICY = "app-in"
    EGRESS_POLICY = "app-out"
    EXPOSED_POLICY = "exposed"
    SOLVER_POLICY = "acme"
    RUNNER_POLICY = "runner"
    SERVER_POLICY = "server"


@functools.lru_cache(maxsize=2048)
def digest(*parts: str, length: int = SHORT) -> str:
    """A short hash of `parts` that respects their boundaries: ('a', 'bc') differs from ('ab', 'c')."""
    joined = "\0".join(parts).encode()
    return hashlib.sha256(joined).hexdigest()[:length]


def digest_json(content: object, length: int = 32) -> str:
    """The hash of a JSON value, whatever the order of its keys."""
    return digest(json.dumps(content, sort_keys=True), length=length)


def join_limited(parts: list[str], suffix: str, limit: int = LABEL_LIMIT, separator: str = "-") -> str:
    """`parts` joined by `separator`, with dots replaced by dashes, cut so that the result with `-suffix` fits into `limit`."""
    readable = separator.join(parts).replace(".", "-")
    room = limit - len(suffix) - 1
    return f"{readable[:room].rstrip('-')}-{suffix}"


def job_namespace(name: str, namespace: str, uid: str) -> str:
    """The host namespace of one job. Because of the UID, a re-created job of the same name gets a fresh namespace."""
    return join_limited(["nestor", namespace, name], digest(namespace, name, uid))


def pool_namespace(class_name: str, suffix: str) -> str:
    """The host namespace of a cluster that waits for a job of a class. No job's own has such a name: no namespace is empty."""
    return join_limited(["nestor", "", class_name], suffix)


def is_of_pool(namespace: str) -> bool:
    return re.fullmatch("nestor--.+-[0-9a-f]{8}", namespace) is not None


def cluster_name(job: str, namespace: str) -> str:
    """The NestedCluster in a job's own namespace: it has the job's name, unless it was there before the job."""
    return POOLED if is_of_pool(namespace) else job


def host_name(name: str, namespace: str) -> str:
    """The host name of a nested object: `<name>-x-<namespace>-x-<hash>`, at most 63 characters.

    Where names are cut, the hash is so long that nobody finds a name which gets that of another namespace's object.
    """
    is_cut = len(name) + len(namespace) > LABEL_LIMIT - len("-x--x-") - SHORT
    return join_limited([name, namespace], "x-" + digest(namespace, name, length=LONG if is_cut else SHORT), separator="-x-")


def child(cluster: str, part: Part) -> str:
    """The name of one of a cluster's (or job's) own objects, such as `hello-k3s`; leaves room for what controllers append."""
    if len(cluster) + len(part) + 1 <= CHILD_LIMIT:
        return f"{cluster}-{part}".replace(".", "-")
    return join_limited([cluster], f"{digest(cluster)}-{part}", limit=CHILD_LIMIT)


def server_pod(cluster: str) -> str:
    return f"{child(cluster, Part.SERVER)}-0"


def data_claim(cluster: str) -> str:
    """The claim that the server's StatefulSet creates for the cluster's data."""
    return f"{DATA_VOLUME}-{server_pod(cluster)}"


def kubeconfig_secret(owner: str) -> str:
    """The Secret with the admin kubeconfig, in the namespace of its job."""
    return f"{owner}-kubeconfig"


def vnode(backend: str) -> str:
    """The process of a backend's virtual nodes: its Deployment, ServiceAccount, Role and bindings."""
    return f"vnode-{backend}"


def virtual_node(prefix: str, shape: str) -> str:
    """The Node of one shape; that of the shape `default` has no suffix. Certificates have room for 52 characters."""
    whole = prefix if shape == "default" else f"{prefix}-{shape}"
    return whole if len(whole) <= CHILD_LIMIT else join_limited([whole], digest(prefix, shape), limit=CHILD_LIMIT)


def remote_pod(name: str, uid: str) -> str:
    """The pod that runs a host pod in another cluster. With the UID in it, repeated requests meet one pod, successors another."""
    return join_limited([name], digest("pod", uid, length=12))


def remote_input(name: str, uid: str) -> str:
    """The copy of a ConfigMap or Secret that one pod has in another cluster. `uid` is that of the pod in the host cluster."""
    return join_limited([name], "x-" + digest("input", uid, name, length=12))


def operators_pull_secret(name: str) -> str:
    """The copy in a job's namespace of a Secret of the operator's with which images are pulled."""
    return join_limited(["pull", name], digest(name), limit=CHILD_LIMIT)


def further_ingress(job: str, prefix: str) -> str:
    """The Ingress of a job's additional target, whose host starts with `prefix`; that of the first has the job's name."""
    return join_limited([job, prefix], digest(job, prefix), limit=CHILD_LIMIT)


def default_host(name: str, namespace: str, domain: str, *, is_shared: bool = False) -> str:
    """The host of a job's URL, `<job>-<namespace>.<domain>`. A label that is too long is cut and made unique by a hash; one that
    `is_shared` with jobs of another namespace gets the hash too.
    """
    label = f"{name}-{namespace}".replace(".", "-")
    if is_shared or len(label) > LABEL_LIMIT:
        label = join_limited([name, namespace], digest(namespace, name))
    return f"{label}.{domain}"


def list_sharers(name: str, namespace: str) -> list[str]:
    """The other namespaces whose jobs may have the same label: that of `hello` in `team-a` is that of `hello-team` in `a`."""
    label = f"{name}-{namespace}".replace(".", "-")
    found = [label[index + 1 :] for index, char in enumerate(label) if char == "-" and index]
    return [other for other in found if other and other != namespace]
