"""Which images a class allows, and the Secret that an app image is pulled with."""

import pytest

from nestor.api.images import (
    PullSecret,
    choose_pull_secret,
    complete,
    find_fault,
    find_pull_secret_fault,
    is_allowed,
    name_on_host,
)
from nestor.api.objects import Object

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


OWN = PullSecret("mine", "team-a", "`app.imagePullSecretName`")
ENTRYS = PullSecret("shared", "nestor", "NestedApp 'hello': `imagePullSecretName`")


@pytest.mark.parametrize(
    ("jobs", "entrys", "entry", "chosen"),
    [
        (None, None, "", None),
        ("mine", None, "", OWN),
        ("mine", "shared", "", OWN),
        (None, "shared", "hello", ENTRYS),
        ("mine", "shared", "hello", ENTRYS),
        ("mine", None, "hello", None),
    ],
)
def test_a_jobs_secret_is_its_users_and_an_entrys_the_operators(
    jobs: str | None, entrys: str | None, entry: str, chosen: PullSecret | None
) -> None:
    assert choose_pull_secret(jobs, "team-a", entrys, "nestor", entry=entry) == chosen


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        ({"type": "kubernetes.io/dockerconfigjson"}, None),
        ({"type": "kubernetes.io/dockercfg"}, None),
        (None, "NestedApp 'hello': `imagePullSecretName`: no Secret 'shared' in namespace 'nestor'"),
        (
            {"type": "Opaque"},
            "NestedApp 'hello': `imagePullSecretName`: Secret 'shared' in namespace 'nestor' has type 'Opaque'; it must be "
            "one of kubernetes.io/dockerconfigjson, kubernetes.io/dockercfg",
        ),
        (
            {},
            "NestedApp 'hello': `imagePullSecretName`: Secret 'shared' in namespace 'nestor' has type 'None'; it must be one of "
            "kubernetes.io/dockerconfigjson, kubernetes.io/dockercfg",
        ),
    ],
)
def test_only_a_pull_secret_can_be_used(found: Object | None, fault: str | None) -> None:
    assert find_pull_secret_fault(ENTRYS, found) == fault
