"""Makes the node forget images that the registry knows better by now, so that a rebuilt image is pulled again under its tag."""

from __future__ import annotations

import http.client
from pathlib import Path

from devcluster.cluster import configs, runtime, settings, state
from devcluster.cluster.paths import Paths

MANIFESTS = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)


def refresh(paths: Paths) -> list[str]:
    """Forget every tag whose digest differs from the registry's; their names. Running pods keep what they have."""
    supervisor = state.load_supervisor(paths)
    if supervisor is None or not supervisor.init.is_alive():
        return []
    # containerd's socket is on the cluster's own /run; /proc leads into the mount namespace of the supervisor.
    node_socket = Path(f"/proc/{supervisor.init.pid}/root{configs.CONTAINERD_SOCKET}")
    stale = [
        name
        for name, digest in known_tags(runtime.ctr(paths, "images", "ls", socket=node_socket))
        if registry_digest(name) not in (None, digest)
    ]
    if stale:
        runtime.ctr(paths, "images", "rm", *stale, socket=node_socket)
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
