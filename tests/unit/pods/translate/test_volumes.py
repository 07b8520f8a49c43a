"""Volumes, one row per kind, and what they need."""

from typing import Any

import pytest

from nestor.api import names
from nestor.pods.translate import pod, volumes
from nestor.pods.translate.config import CONFIG_MAPS, SECRETS, Reference, find_references
from nestor.pods.translate.volumes import Token
from tests.unit.pods.translate.builders import BASELINE, TARGET, build_pod

Object = dict[str, Any]

TOKENS = volumes.token_secret_name(build_pod())
API_ACCESS = {
    "name": "kube-api-access-x",
    "projected": {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
                }
            },
        ],
    },
}


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
            {"configMap": {"name": "c", "optional": True, "items": [{"key": "k", "path": "p"}]}},
            {"configMap": {"name": names.host_name("c", "shop"), "optional": True, "items": [{"key": "k", "path": "p"}]}},
        ),
        (
            {"secret": {"secretName": "s", "defaultMode": 256}},
            {"secret": {"secretName": names.host_name("s", "shop"), "defaultMode": 256}},
        ),
        (
            {
                "downwardAPI": {
                    "items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}, {"path": "c", "resourceFieldRef": {}}]
                }
            },
            {
                "downwardAPI": {
                    "items": [
                        {
                            "path": "n",
                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.annotations['nestor.dev/nested-name']"},
                        },
                        {"path": "c", "resourceFieldRef": {}},
                    ]
                }
            },
        ),
        (
            {"projected": {"sources": [{"secret": {"name": "s"}}, {"configMap": {"name": "c"}}]}},
            {
                "projected": {
                    "sources": [
                        {"secret": {"name": names.host_name("s", "shop")}},
                        {"configMap": {"name": names.host_name("c", "shop")}},
                    ]
                }
            },
        ),
        ({"projected": {}}, {}),
        (
            {"projected": {"sources": [{}, {"secret": {"name": "s"}}, {"downwardAPI": {}}]}},
            {"projected": {"sources": [{"secret": {"name": names.host_name("s", "shop")}}, {"downwardAPI": {"items": []}}]}},
        ),
    ],
)
def test_each_kind(nested: Object, host: Object) -> None:
    assert volumes.build_volumes(build_pod(volumes=[{"name": "v", **nested}]), BASELINE) == [{"name": "v", **host}]


def test_the_api_access_volume_is_the_nested_account_s() -> None:
    (built,) = volumes.build_volumes(build_pod(volumes=[API_ACCESS]), BASELINE)
    assert built["projected"]["defaultMode"] == 420
    assert built["projected"]["sources"] == [
        {"secret": {"name": TOKENS, "items": [{"key": "token-0-0", "path": "token"}]}},
        {"configMap": {"name": names.host_name("kube-root-ca.crt", "shop"), "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [
                    {
                        "path": "namespace",
                        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.annotations['nestor.dev/nested-namespace']"},
                    }
                ]
            }
        },
    ]


def test_each_token_has_its_own_key() -> None:
    vault = {
        "name": "vault",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"audience": "vault", "path": "a"}},
                {"serviceAccountToken": {"expirationSeconds": 600, "path": "b"}},
            ]
        },
    }
    assert volumes.find_tokens(build_pod(volumes=[API_ACCESS, vault])) == [
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
