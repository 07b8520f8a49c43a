"""Where the cluster's registry must have an image so that containerd finds it by its full name."""

from __future__ import annotations

import pytest

from devcluster.build import references


@pytest.mark.parametrize(
    ("text", "repository", "tag"),
    [
        ("docker.io/library/busybox:1.35", "library/busybox", "1.35"),
        ("registry.k8s.io/pause:3.10.1", "pause", "3.10.1"),
        ("registry.nestor.localhost/examples/hello-world:1", "examples/hello-world", "1"),
        ("localhost:5000/a/b:x", "a/b", "x"),
    ],
)
def test_a_mirror_is_asked_for_the_repository_without_its_host(text: str, repository: str, tag: str) -> None:
    parsed = references.parse(text)
    assert (parsed.repository, parsed.tag) == (repository, tag)
    assert str(parsed) == text


@pytest.mark.parametrize(
    "text", ["busybox", "busybox:1.35", "library/busybox:1.35", "docker.io/library/busybox", "docker.io/a:b/c", ""]
)
def test_a_reference_that_is_not_full_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a full image reference"):
        references.parse(text)
