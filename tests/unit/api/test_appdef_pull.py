"""The Secret that an app image is pulled with."""

from __future__ import annotations

import pytest

from nestor.api.images import PullSecret, choose_pull_secret, find_pull_secret_fault
from nestor.api.objects import Object

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
