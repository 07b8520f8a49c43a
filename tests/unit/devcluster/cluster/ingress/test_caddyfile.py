"""The configuration that caddy gets."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from devcluster.cluster.certificates import Authority
from devcluster.cluster.ingress import caddyfile
from devcluster.cluster.ingress.routes import ANY_HOST, Path, Routes
from devcluster.cluster.settings import Ports

WEB = Path("/", "Prefix", "team/web", ("10.42.0.9:8080",))


def build(hosts: dict[str, list[Path]], certificates: list[tuple[str, str]] | None = None) -> dict[str, Any]:
    return caddyfile.build(Routes(hosts, certificates or []), Ports(8080, 8443), "/run/caddy.sock")


def http_routes(hosts: dict[str, list[Path]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = build(hosts)["apps"]["http"]["servers"]["http"]["routes"]
    return found


def test_it_listens_on_loopback_only() -> None:
    config = build({})
    assert config["apps"]["http"]["servers"]["http"]["listen"] == ["127.0.0.1:8080"]
    assert config["admin"]["listen"] == "unix//run/caddy.sock"


def test_an_unknown_host_is_a_404() -> None:
    (last,) = http_routes({})
    assert "match" not in last
    assert last["handle"][0]["status_code"] == 404


def test_a_host_is_proxied_straight_to_its_endpoints() -> None:
    first = http_routes({"a.test": [WEB]})[0]
    assert first["match"] == [{"host": ["a.test"]}]
    proxy = first["handle"][0]["routes"][0]["handle"][0]
    assert (proxy["handler"], proxy["upstreams"]) == ("reverse_proxy", [{"dial": "10.42.0.9:8080"}])


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


def encoded(*parts: bytes) -> Any:
    return tuple(base64.b64encode(part).decode() for part in parts)


def test_tls_is_served_when_there_is_a_key_pair() -> None:
    pair = Authority("test").server("a.test", ["a.test"])
    config = build({"a.test": [WEB]}, [encoded(pair.certificate, pair.key)])
    assert config["apps"]["http"]["servers"]["https"]["listen"] == ["127.0.0.1:8443"]
    assert config["apps"]["tls"]["certificates"]["load_pem"][0]["certificate"] == pair.certificate.decode()


def test_a_broken_key_pair_is_left_out() -> None:
    authority = Authority("test")
    one, other = authority.server("a.test", ["a.test"]), authority.server("b.test", ["b.test"])
    broken = [encoded(one.certificate, other.key), encoded(b"no", b"pem"), ("not base64", "x")]
    config = build({"a.test": [WEB]}, broken)
    assert "https" not in config["apps"]["http"]["servers"]
