"""Volumes, one row per kind, and what they need."""

from typing import Any

import pytest

from nestor.api import names
from nestor.api.objects import Object
from nestor.pods.translate import pod, volumes
from nestor.pods.translate.config import CONFIG_MAPS, SECRETS, Reference, find_references
from nestor.pods.translate.volumes import Token
from tests.unit.pods.translate.builders import BASELINE, TARGET, build_pod

TOKENS = volumes.token_secret_name(build_pod())
A_MAP, A_SECRET = names.host_name("c", "shop"), names.host_name("s", "shop")
KEYS = [{"key": "k", "path": "p"}]


def field(path: str, of: str) -> Object:
    """A file with what a field of the pod says."""
    return {"path": path, "fieldRef": {"apiVersion": "v1", "fieldPath": of}}


def projected(*sources: Object, **others: Any) -> Object:
    return {"projected": {"sources": [*sources], **others}}


NAMESPACE = field("namespace", "metadata.annotations['nestor.dev/nested-namespace']")
AUTHORITY = {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
ACCESS: Object = projected(
    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    AUTHORITY,
    {"downwardAPI": {"items": [field("namespace", "metadata.namespace")]}},
    defaultMode=420,
)
CPUS = {"path": "c", "resourceFieldRef": {}}


@pytest.mark.parametrize(
    ("nested", "host"),
    [
        ({"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}, {"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}),
        ({"image": {"reference": "example/app:1"}}, {"image": {"reference": "example/app:1"}}),
        (
            {"persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
            {"persistentVolumeClaim": {"claimName": names.host_name("c", "shop"), "readOnly": True}},
        ),
        (
            {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"persistentVolumeClaim": {"claimName": names.host_name("web-v", "shop")}},
        ),
        (
            {"configMap": {"name": "c", "optional": True, "items": KEYS}},
            {"configMap": {"name": A_MAP, "optional": True, "items": KEYS}},
        ),
        ({"secret": {"secretName": "s", "defaultMode": 256}}, {"secret": {"secretName": A_SECRET, "defaultMode": 256}}),
        (
            {"downwardAPI": {"items": [field("namespace", "metadata.namespace"), CPUS]}},
            {"downwardAPI": {"items": [NAMESPACE, CPUS]}},
        ),
        (
            projected({"secret": {"name": "s"}}, {"configMap": {"name": "c"}}),
            projected({"secret": {"name": A_SECRET}}, {"configMap": {"name": A_MAP}}),
        ),
        ({"projected": {}}, {}),
        (
            projected({}, {"secret": {"name": "s"}}, {"downwardAPI": {}}),
            projected({"secret": {"name": A_SECRET}}, {"downwardAPI": {"items": []}}),
        ),
        # The nested account's token, as every pod has it.
        (
            ACCESS,
            projected(
                {"secret": {"name": TOKENS, "items": [{"key": "token-0-0", "path": "token"}]}},
                {"configMap": AUTHORITY["configMap"] | {"name": names.host_name("kube-root-ca.crt", "shop")}},
                {"downwardAPI": {"items": [NAMESPACE]}},
                defaultMode=420,
            ),
        ),
    ],
)
def test_each_kind(nested: Object, host: Object) -> None:
    assert volumes.build_volumes(build_pod(volumes=[{"name": "v", **nested}]), BASELINE) == [{"name": "v", **host}]


def test_each_token_has_its_own_key() -> None:
    tokens = [{"audience": "vault", "path": "a"}, {"expirationSeconds": 600, "path": "b"}]
    vault = projected(*({"serviceAccountToken": token} for token in tokens))
    assert volumes.find_tokens(build_pod(volumes=[{"name": "access", **ACCESS}, {"name": "vault", **vault}])) == [
        Token("token-0-0", "", 3607),
        Token("token-1-0", "vault", 3600),
        Token("token-1-1", "", 600),
    ]


def test_tokens_are_of_one_pod_and_not_of_the_next_of_its_name() -> None:
    successor = build_pod()
    successor["metadata"]["uid"] = "other-uid"
    assert volumes.token_secret_name(successor) != TOKENS
    assert len(TOKENS) <= 63


@pytest.mark.parametrize("name", ["hello-pull", "hello-tls", "hello-pki"])
def test_a_pod_that_names_a_secret_of_its_job_gets_the_nested_one_of_that_name(name: str) -> None:
    nested = build_pod(imagePullSecrets=[{"name": name}], volumes=[{"name": "a", "secret": {"secretName": name}}])
    built = pod.build_pod(nested, TARGET, {}, BASELINE)["spec"]
    copied = names.host_name(name, "shop")
    assert copied != name
    assert built["imagePullSecrets"] == [{"name": copied}]
    assert built["volumes"][0]["secret"]["secretName"] == copied


def test_all_references_are_found() -> None:
    nested = build_pod(
        imagePullSecrets=[{"name": "pull"}, {}],
        volumes=[
            {"name": "a", "configMap": {"name": "c1"}},
            {"name": "b", "secret": {"secretName": "s1"}},
            {"name": "c", "projected": {"sources": [{"configMap": {"name": "c2"}}, {"secret": {"name": "s2"}}]}},
        ],
        container={
            "envFrom": [{"configMapRef": {"name": "c3"}}, {"secretRef": {"name": "s3"}}],
            "env": [
                {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "c4", "key": "k"}}},
                {"name": "Y", "valueFrom": {"secretKeyRef": {"name": "s4", "key": "k"}}},
                {"name": "Z", "value": "z"},
            ],
        },
        initContainers=[{"name": "i", "image": "i", "envFrom": [{"configMapRef": {"name": "c5"}}]}],
    )
    config_maps = {Reference(CONFIG_MAPS, "shop", f"c{number}") for number in range(1, 6)}
    secrets = {Reference(SECRETS, "shop", name) for name in ("pull", "s1", "s2", "s3", "s4")}
    assert find_references(nested) == config_maps | secrets
