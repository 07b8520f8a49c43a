"""Object names across clusters, readable and safe by construction: cut to the limit, then told apart by a hash.

The same input always gives the same name, so every reconcile finds what an earlier one made.
"""

from __future__ import annotations

import hashlib

LABEL_LIMIT = 63
"""Longest DNS label (RFC 1123): Services, Namespaces, host names, label values."""


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


def child(cluster: str, part: str) -> str:
    """The name of a NestedCluster's own object, as `hello-k3s`; leaves room for what controllers append."""
    if len(cluster) + len(part) + 1 <= 52:
        return f"{cluster}-{part}".replace(".", "-")
    return join_limited([cluster], f"{digest(cluster)}-{part}", limit=52)


def default_host(name: str, namespace: str, domain: str) -> str:
    """The host of a job's URL, `<job>-<namespace>.<domain>`; long ones are cut and told apart by a hash."""
    label = f"{name}-{namespace}".replace(".", "-")
    if len(label) > LABEL_LIMIT:
        label = join_limited([name, namespace], digest(namespace, name))
    return f"{label}.{domain}"
