"""Makes a node forget images that the registry knows better by now, so that a rebuilt image is pulled again under its tag."""

import http.client

from devcluster.cluster import settings
from devcluster.cluster.node import runtime
from devcluster.cluster.paths import NodePaths

MANIFESTS = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)


def refresh(paths: NodePaths) -> list[str]:
    """Forget every tag whose digest differs from the registry's; their names. Running pods keep what they have. containerd must
    answer."""
    stale = [
        name for name, digest in known_tags(runtime.ctr(paths, "images", "ls")) if registry_digest(name) not in (None, digest)
    ]
    if stale:
        runtime.ctr(paths, "images", "rm", *stale)
    return stale


def known_tags(listing: str) -> list[tuple[str, str]]:
    """Tagged names and digests in the output of `ctr images ls` (columns REF, TYPE, DIGEST, …)."""
    rows = [line.split() for line in listing.splitlines()[1:]]
    return [(row[0], row[2]) for row in rows if len(row) > 2 and "@" not in row[0] and "/" in row[0]]


def registry_digest(name: str) -> str | None:
    """The digest that the cluster's registry has for an image's full name; None when it has none."""
    repository, _, tag = name.partition("/")[2].rpartition(":")
    host, _, port = settings.REGISTRY.partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=5)
    try:
        connection.request("HEAD", f"/v2/{repository}/manifests/{tag}", headers={"Accept": MANIFESTS})
        answer = connection.getresponse()
        return answer.getheader("Docker-Content-Digest") if answer.status == 200 else None
    finally:
        connection.close()
