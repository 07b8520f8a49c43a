"""Environment variables: the nested API server's address, the kubelet's precedence, translated references."""

from nestor.pods.translate import env
from tests.unit.pods.translate.builders import build_service


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
