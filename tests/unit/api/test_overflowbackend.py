"""What a backend's spec means beyond its schema."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from nestor.api.backend_kinds import Interlink, RemoteCluster
from nestor.api.model import SecretKey
from nestor.api.overflowbackend import OverflowBackendSpec

Object = dict[str, Any]
FILLED: Object = {
    "type": "Interlink",
    "interlink": {
        "url": "https://a",
        "tokenRef": {"name": "token-ref", "key": "k"},
        "oidc": {"tokenURL": "https://b", "clientID": "c", "clientSecretRef": {"name": "client-secret-ref", "key": "k"}},
        "tls": {"caRef": {"name": "ca-ref", "key": "k"}, "clientCertificateSecretName": "client-certificate-secret-name"},
    },
    "kubernetes": {
        "kubeconfigRef": {"name": "kubeconfig-ref", "key": "k"},
        "server": {"url": "https://d", "tokenRef": {"name": "token-ref", "key": "k"}, "caRef": {"name": "ca-ref", "key": "k"}},
    },
}


def list_references(model: type[BaseModel]) -> Iterator[str]:
    """Every field below a model that names a Secret."""
    for name, field in model.model_fields.items():
        kinds = [item for item in (field.annotation, *get_args(field.annotation)) if isinstance(item, type)]
        if SecretKey in kinds or name.endswith("secret_name"):
            yield name.replace("_", "-")
        for kind in kinds:
            if issubclass(kind, BaseModel) and kind is not SecretKey:
                yield from list_references(kind)


def test_every_secret_that_is_named_may_be_read() -> None:
    """What is missing here, the process could not read; what is too much, it could."""
    named = {*list_references(Interlink), *list_references(RemoteCluster)}
    assert {"ca-ref", "client-secret-ref", "kubeconfig-ref"} < named
    assert set(OverflowBackendSpec.model_validate(FILLED).secret_names()) == named


@pytest.mark.parametrize("pattern", ["(", "a)|(b", r"(a)\1", "(?=a)", "(?x)a #"])
def test_a_pattern_that_could_mean_something_else_is_refused(pattern: str) -> None:
    rule = {"key": "slurm-job.vk.io/flags", "pattern": pattern}
    with pytest.raises(ValueError, match="regular expression"):
        Interlink.model_validate({"url": "https://a", "allowedAnnotations": [rule]})


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (
            {},
            [("virtual-kubelet.io/provider", "link", "NoSchedule"), ("virtual-kubelet.io/provider", "link", "PreferNoSchedule")],
        ),
        ({"taints": []}, []),
        ({"taints": [{"key": "a", "effect": "NoExecute"}]}, [("a", "", "NoExecute")]),
    ],
)
def test_its_nodes_are_tainted_unless_an_admin_says_otherwise(node: Object, expected: list[tuple[str, str, str]]) -> None:
    spec = OverflowBackendSpec.model_validate({"type": "Interlink", "interlink": {"url": "http://a"}, "node": node})
    assert [(item.key, item.value, item.effect) for item in spec.node.list_taints("link")] == expected
