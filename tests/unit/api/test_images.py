"""Which images a class allows."""

from __future__ import annotations

import pytest

from nestor.api.images import complete, find_fault, is_allowed, name_on_host

DIGEST = "@sha256:" + 64 * "a"


@pytest.mark.parametrize(
    ("image", "whole"),
    [
        ("nginx", "docker.io/library/nginx"),
        ("nginx:1.27", "docker.io/library/nginx:1.27"),
        ("bitnami/redis:7", "docker.io/bitnami/redis:7"),
        ("docker.io/nginx", "docker.io/library/nginx"),
        ("index.docker.io/library/nginx", "docker.io/library/nginx"),
        ("registry-1.docker.io/library/nginx", "docker.io/library/nginx"),
        ("ghcr.io/a/b:1", "ghcr.io/a/b:1"),
        ("localhost/a", "localhost/a"),
        ("Evil/x:1", "Evil/x:1"),
        ("registry:5000/a", "registry:5000/a"),
        (f"nginx{DIGEST}", f"docker.io/library/nginx{DIGEST}"),
    ],
)
def test_images_are_completed_as_runtimes_do(image: str, whole: str) -> None:
    assert complete(image) == whole


@pytest.mark.parametrize(
    ("image", "allowed", "expected"),
    [
        ("nginx", None, True),
        ("nginx", [], False),
        ("nginx", ["docker.io"], True),
        ("nginx", ["docker.io/library"], True),
        ("nginx:1", ["docker.io/library/nginx"], True),
        (f"nginx{DIGEST}", ["docker.io/library/nginx"], True),
        ("nginx-evil", ["docker.io/library/nginx"], False),
        ("library-evil/nginx", ["docker.io/library"], False),
        ("docker.io.evil.example/library/nginx", ["docker.io"], False),
        ("docker.io:5000/library/nginx", ["docker.io"], False),
        ("ghcr.io/team-a/x", ["ghcr.io/team-a/"], True),
        ("ghcr.io/team-ab/x", ["ghcr.io/team-a/"], False),
        ("ghcr.io/team-a", ["ghcr.io/team-a"], True),
        ("ghcr.io/x/team-a/y", ["ghcr.io/team-a"], False),
        ("quay.io/x", ["ghcr.io", "quay.io"], True),
        ("registry:5000/a", ["registry:5000"], True),
        ("registry:5000/a", ["registry:500"], False),
    ],
)
def test_a_listed_path_allows_what_is_below_it(image: str, allowed: list[str] | None, expected: bool) -> None:
    assert is_allowed(image, allowed) is expected


@pytest.mark.parametrize(
    ("image", "allowed", "found"),
    [
        ("nginx", None, "nginx"),
        ("nginx", [], "docker.io/library/nginx"),
        ("sha256:12ab", ["docker.io"], "docker.io/library/sha256:12ab"),
        ("ghcr.io/x:1", ["ghcr.io"], "ghcr.io/x:1"),
        ("", ["ghcr.io"], ""),
    ],
)
def test_the_host_gets_the_name_that_was_judged(image: str, allowed: list[str] | None, found: str) -> None:
    assert name_on_host(image, allowed) == found


def test_a_refusal_names_the_whole_image_and_what_is_allowed() -> None:
    assert find_fault("nginx", ["quay.io", "ghcr.io/a"]) == (
        "'nginx' ('docker.io/library/nginx') is not allowed; allowed: ghcr.io/a, quay.io (`images.allowed`)"
    )
    assert find_fault("ghcr.io/b", []) == "'ghcr.io/b' is not allowed; allowed: none (`images.allowed`)"
