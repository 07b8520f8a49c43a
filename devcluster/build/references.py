"""Image names: how a full reference is found at the cluster's own registry, which stands in for every registry."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reference:
    """A full image reference, `host/repository:tag`."""

    host: str
    repository: str
    tag: str

    def __str__(self) -> str:
        return f"{self.host}/{self.repository}:{self.tag}"


def parse(text: str) -> Reference:
    """Take a full reference apart.

    containerd asks a mirror for the repository without the registry's host, so that is what the cluster's registry must have:
    `docker.io/library/busybox:1.35` is repository `library/busybox`.
    """
    host, slash, rest = text.partition("/")
    repository, colon, tag = rest.rpartition(":")
    is_host = "." in host or ":" in host or host == "localhost"
    if not (slash and colon and repository and tag and is_host) or "/" in tag:
        raise ValueError(f"'{text}' must be a full image reference like 'docker.io/library/busybox:1.35'")
    return Reference(host, repository, tag)
