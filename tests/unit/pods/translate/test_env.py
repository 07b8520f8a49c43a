"""Environment variables: the nested API server's address, the kubelet's precedence, translated references."""

from typing import Any

import pytest

from nestor.api import names
from nestor.pods.translate import env
from tests.unit.pods.translate.builders import build_service

A_MAP, A_SECRET = names.host_name("c", "shop"), names.host_name("s", "shop")
NAMESPACE = "metadata.annotations['nestor.dev/nested-namespace']"


@pytest.mark.parametrize(
    ("nested", "host"),
    [
        ({"value": "$(A)"}, {"value": "$(A)"}),
        (
            {"valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
            {"valueFrom": {"configMapKeyRef": {"name": A_MAP, "key": "k"}}},
        ),
        (
            {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
            {"valueFrom": {"secretKeyRef": {"name": A_SECRET, "key": "k", "optional": True}}},
        ),
        (
            {"valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": NAMESPACE}}},
        ),
        (
            {"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        ),
    ],
)
def test_each_kind_of_variable(nested: Any, host: Any) -> None:
    *api, own = env.build_env({"env": [{"name": "A"} | nested]}, "shop", "10.43.0.20")
    assert own == {"name": "A"} | host
    assert {"name": "KUBERNETES_SERVICE_HOST", "value": "10.43.0.20"} in api


def test_what_a_container_says_itself_wins() -> None:
    own = {"name": "KUBERNETES_SERVICE_HOST", "value": "mine"}
    assert [item for item in env.build_env({"env": [own]}, "shop", "10.43.0.20") if item["name"] == own["name"]] == [own]
    sources = [{"configMapRef": {"name": "c"}}, {"prefix": "S_", "secretRef": {"name": "s", "optional": True}}]
    expected = [{"configMapRef": {"name": A_MAP}}, {"prefix": "S_", "secretRef": {"name": A_SECRET, "optional": True}}]
    links = {"configMapRef": {"name": env.links_name("shop")}}
    assert env.build_env_from({"envFrom": sources}, "shop", links=True) == [links, *expected]
    assert env.build_env_from({"envFrom": sources}, "shop", links=False) == expected


def test_service_variables_are_the_kubelet_s() -> None:
    ports = [{"name": "main-port", "port": 6379, "protocol": "TCP"}, {"name": "gossip", "port": 7000, "protocol": "UDP"}]
    assert env.build_links([build_service("my-db", ports=ports)]) == {
        "MY_DB_SERVICE_HOST": "10.43.7.7",
        "MY_DB_SERVICE_PORT": "6379",
        "MY_DB_SERVICE_PORT_MAIN_PORT": "6379",
        "MY_DB_SERVICE_PORT_GOSSIP": "7000",
        "MY_DB_PORT": "tcp://10.43.7.7:6379",
        "MY_DB_PORT_6379_TCP": "tcp://10.43.7.7:6379",
        "MY_DB_PORT_6379_TCP_PROTO": "tcp",
        "MY_DB_PORT_6379_TCP_PORT": "6379",
        "MY_DB_PORT_6379_TCP_ADDR": "10.43.7.7",
        "MY_DB_PORT_7000_UDP": "udp://10.43.7.7:7000",
        "MY_DB_PORT_7000_UDP_PROTO": "udp",
        "MY_DB_PORT_7000_UDP_PORT": "7000",
        "MY_DB_PORT_7000_UDP_ADDR": "10.43.7.7",
    }


def test_services_without_an_address_have_no_variables() -> None:
    external = build_service("b", type="ExternalName", clusterIP="")
    assert env.build_links([build_service("a", clusterIP="None"), external]) == {}
