"""Which label keys tenants may bring to the host."""

import pytest

from nestor.api import labels


@pytest.mark.parametrize(
    ("key", "reserved"),
    [
        ("app", False),
        ("example.com/team", False),
        ("app.kubernetes.io/name", False),
        ("helm.sh/chart", False),
        ("app.kubernetes.io/managed-by", True),
        ("nestor.dev/component", True),
        ("x.nestor.dev/component", True),
        ("pod-security.kubernetes.io/enforce", True),
        ("kubernetes.io/hostname", True),
        ("node.k8s.io/x", True),
        ("notkubernetes.io/x", False),
    ],
)
def test_keys_that_the_host_or_nestor_act_upon_are_reserved(key: str, reserved: bool) -> None:
    assert labels.is_reserved(key) is reserved
