"""The configuration that caddy gets."""

from __future__ import annotations

import re
from typing import Any

import pytest

from devcluster.cluster.ingress import caddyfile
from devcluster.cluster.ingress.routes import ANY_HOST, Path
from devcluster.cluster.ingress.tls import Certificate
from devcluster.cluster.settings import Ports

WEB = Path("/", "Prefix", "team/web", ("10.42.0.9:8080",))
ONE = Certificate("chain one", "key one", ("a.test", "b.test"))
TWO = Certificate("chain two", "key two", ("*.test",))


def build(hosts: dict[str, list[Path]], certificates: dict[str, Certificate] | None = None) -> dict[str, Any]:
    return caddyfile.build(hosts, certificates or {}, Ports(8080, 8443), "/run/caddy.sock")


def http_routes(hosts: dict[str, list[Path]]) -> list[dict[str, Any]]:
    """Without the first route, which is there for the server's end."""
    found: list[dict[str, Any]] = build(hosts)["apps"]["http"]["servers"]["http"]["routes"]
    return found[1:]


def proxy() -> dict[str, Any]:
    found: dict[str, Any] = http_routes({"a.test": [WEB]})[0]["handle"][0]["routes"][0]["handle"][0]
    return found


def test_it_listens_on_loopback_only() -> None:
    config = build({})
    servers = config["apps"]["http"]["servers"]
    assert {name: server["listen"] for name, server in servers.items()} == {
        "http": ["kept/127.0.0.1:8080"],
        "https": ["kept/127.0.0.1:8443"],
    }
    assert config["admin"]["listen"] == "unix//run/caddy.sock"


def test_an_unknown_host_is_a_404() -> None:
    (last,) = http_routes({})
    assert "match" not in last
    assert last["handle"][0]["status_code"] == 404


def test_a_host_is_proxied_straight_to_its_endpoints() -> None:
    assert http_routes({"a.test": [WEB]})[0]["match"] == [{"host": ["a.test"]}]
    assert (proxy()["handler"], proxy()["upstreams"]) == ("reverse_proxy", [{"dial": "10.42.0.9:8080"}])


def test_no_change_of_the_configuration_ends_a_stream() -> None:
    assert proxy()["stream_close_delay"] == "87600h"
    assert "grace_period" not in build({"a.test": [WEB]})["apps"]["http"]


def test_a_server_that_ends_sends_its_clients_to_the_next_but_upgrades_connections_as_ever() -> None:
    config = build({"a.test": [WEB]})["apps"]["http"]
    (matcher,) = config["servers"]["http"]["routes"][0]["match"]
    assert config["shutdown_delay"] == "250ms"
    assert matcher == {"vars": {"{http.shutting_down}": ["true"]}, "not": [{"header": {"Upgrade": ["*"]}}]}


def test_a_path_that_nobody_serves_is_a_404_and_not_another_hosts() -> None:
    first = http_routes({"a.test": [Path("/only", "Prefix", "team/web", ())], ANY_HOST: [WEB]})[0]
    assert first["terminal"] is True
    assert first["handle"][0]["routes"][-1]["handle"][0]["status_code"] == 404


def test_no_ready_endpoint_is_a_503_that_names_the_service() -> None:
    answer = http_routes({"a.test": [Path("/", "Prefix", "team/web", ())]})[0]["handle"][0]["routes"][0]["handle"][0]
    assert answer["status_code"] == 503
    assert "team/web" in answer["body"]


def test_any_host_has_no_host_matcher() -> None:
    assert "match" not in http_routes({ANY_HOST: [WEB]})[0]


@pytest.mark.parametrize(
    ("path", "match", "fits", "fits_not"),
    [
        ("/a", "Prefix", ["/a", "/a/", "/a/b"], ["/ab", "/A", "/b/a", "/"]),
        ("/a/b", "Prefix", ["/a/b", "/a/b/c"], ["/a", "/a/bc"]),
        ("/a", "Exact", ["/a"], ["/a/", "/a/b"]),
        ("/", "Exact", ["/"], ["/a"]),
        ("/a.b*(c", "Prefix", ["/a.b*(c/d"], ["/aXb*(c"]),
    ],
)
def test_paths_match_whole_elements(path: str, match: Any, fits: list[str], fits_not: list[str]) -> None:
    route = http_routes({"a.test": [Path(path, match, "team/web", ())]})[0]["handle"][0]["routes"][0]
    pattern = route["match"][0]["path_regexp"]["pattern"]
    assert all(re.search(pattern, text) for text in fits)
    assert not any(re.search(pattern, text) for text in fits_not)


def test_each_host_is_served_with_its_own_certificate_and_full_names_come_first() -> None:
    config = build({"a.test": [WEB]}, {"*.test": TWO, "b.test": ONE, "a.test": ONE})
    pairs = {pair["certificate"]: pair for pair in config["apps"]["tls"]["certificates"]["load_pem"]}
    assert {chain: pair["key"] for chain, pair in pairs.items()} == {"chain one": "key one", "chain two": "key two"}
    policies = config["apps"]["http"]["servers"]["https"]["tls_connection_policies"]
    assert [(item["match"]["sni"], item["certificate_selection"]["any_tag"]) for item in policies] == [
        (["a.test"], pairs["chain one"]["tags"]),
        (["b.test"], pairs["chain one"]["tags"]),
        (["*.test"], pairs["chain two"]["tags"]),
    ]


def test_a_host_without_certificate_is_not_reached_through_anothers() -> None:
    assert build({}, {"a.test": ONE})["apps"]["http"]["servers"]["https"]["strict_sni_host"] is True


def test_without_certificates_the_https_port_is_not_plain_http() -> None:
    config = build({"a.test": [WEB]})
    assert config["apps"]["http"]["servers"]["https"]["tls_connection_policies"] == [{}]
    assert config["apps"]["tls"]["certificates"]["load_pem"] == []


def test_another_certificate_for_the_same_host_is_another_configuration() -> None:
    assert build({}, {"a.test": ONE}) != build({}, {"a.test": Certificate("chain one", "other key", ("a.test",))})
