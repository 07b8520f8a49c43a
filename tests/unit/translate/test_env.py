"""Environment variables: the nested API server's address, the kubelet's precedence, translated references."""

from typing import Any

from nestor import names
from nestor.translate import env, service_env
from tests.unit.translate.builders import build_service


def test_the_nested_api_server_takes_the_host_s_place() -> None:
    built = env.build_env({}, "shop", "10.43.0.20")
    assert {item["name"]: item["value"] for item in built} == {
        "KUBERNETES_SERVICE_HOST": "10.43.0.20",
        "KUBERNETES_SERVICE_PORT": "443",
        "KUBERNETES_SERVICE_PORT_HTTPS": "443",
        "KUBERNETES_PORT": "tcp://10.43.0.20:443",
        "KUBERNETES_PORT_443_TCP": "tcp://10.43.0.20:443",
        "KUBERNETES_PORT_443_TCP_PROTO": "tcp",
        "KUBERNETES_PORT_443_TCP_PORT": "443",
        "KUBERNETES_PORT_443_TCP_ADDR": "10.43.0.20",
    }


def test_what_the_container_sets_itself_wins_and_is_not_doubled() -> None:
    built = env.build_env({"env": [{"name": "KUBERNETES_SERVICE_HOST", "value": "other"}]}, "shop", "10.43.0.20")
    assert [item["value"] for item in built if item["name"] == "KUBERNETES_SERVICE_HOST"] == ["other"]


def test_order_and_doubles_of_the_container_stay() -> None:
    own = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}, {"name": "A", "value": "2"}]
    assert env.build_env({"env": own}, "shop", "10.43.0.20")[-3:] == own


def test_references_are_translated() -> None:
    own: list[dict[str, Any]] = [
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a", "optional": True}}},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "password", "key": "b"}}},
        {"name": "C", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
        {"name": "D", "valueFrom": {"resourceFieldRef": {"containerName": "app", "resource": "limits.cpu"}}},
    ]
    built = env.build_env({"env": own}, "shop", "10.43.0.20")[-4:]
    assert [item["valueFrom"] for item in built] == [
        {"configMapKeyRef": {"name": names.host_name("settings", "shop"), "key": "a", "optional": True}},
        {"secretKeyRef": {"name": names.host_name("password", "shop"), "key": "b"}},
        {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.annotations['nestor.dev/nested-name']"}},
        own[3]["valueFrom"],
    ]


def test_service_links_come_before_the_container_s_own_sources() -> None:
    own = [{"prefix": "P_", "configMapRef": {"name": "settings"}}, {"secretRef": {"name": "s", "optional": True}}]
    container = {"envFrom": own}
    assert env.build_env_from(container, "shop", links=True) == [
        {"configMapRef": {"name": env.links_name("shop")}},
        {"prefix": "P_", "configMapRef": {"name": names.host_name("settings", "shop")}},
        {"secretRef": {"name": names.host_name("s", "shop"), "optional": True}},
    ]
    assert env.build_env_from({}, "shop", links=False) == []


def test_service_variables_are_the_kubelet_s() -> None:
    ports = [{"name": "main-port", "port": 6379, "protocol": "TCP"}, {"name": "gossip", "port": 7000, "protocol": "UDP"}]
    assert service_env.build_links([build_service("my-db", ports=ports)]) == {
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
    assert service_env.build_links([build_service("a", clusterIP="None"), external]) == {}
