"""HTTP from the machine to pods through the Ingress proxy: paths, ports and headers as specified, and who is not served."""

from __future__ import annotations

import pytest

from tests.e2e.devcluster import web
from tests.e2e.devcluster.conftest import Kubectl
from tests.e2e.devcluster.web import Browser, wait_until

# Each path leads to another port of the server, some by name and some by number.
PATHS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: paths}}
spec:
  rules:
    - host: paths-{host}
      http:
        paths:
          - {{path: /, pathType: Prefix, backend: {{service: {{name: server, port: {{name: first}}}}}}}}
          - {{path: /docs, pathType: Prefix, backend: {{service: {{name: server, port: {{number: 81}}}}}}}}
          - {{path: /docs/api, pathType: Exact, backend: {{service: {{name: server, port: {{name: third}}}}}}}}
    - host: other-{host}
      http:
        paths:
          - {{path: /only, pathType: Exact, backend: {{service: {{name: server, port: {{name: second}}}}}}}}
"""


@pytest.fixture
def paths(site: str, kubectl: Kubectl, browser: Browser) -> str:
    """The site's host name; `paths-` and `other-` before it are those of `PATHS`."""
    kubectl.apply(PATHS.format(host=site))
    browser.wait_for(f"other-{site}", 200, "/only")
    return site


def test_the_longest_path_wins_and_ports_are_found_by_name_and_number(paths: str, browser: Browser) -> None:
    asked = ("/", "/doc", "/docs", "/docs/", "/docs/x", "/docs/api", "/docs/api/", "/docsy")
    assert {path: browser.ask(f"paths-{paths}", path)["port"] for path in asked} == {
        "/": 8001, "/doc": 8001, "/docs": 8002, "/docs/": 8002, "/docs/x": 8002, "/docs/api": 8003, "/docs/api/": 8002,
        "/docsy": 8001,
    }  # fmt: skip


def test_paths_reach_the_server_unchanged(paths: str, browser: Browser) -> None:
    assert browser.ask(f"paths-{paths}", "/docs/a%20b/../c?q=1")["path"] == "/docs/a b/../c"


def test_each_host_of_an_ingress_has_its_own_paths(paths: str, browser: Browser) -> None:
    assert browser.ask(f"other-{paths}", "/only")["port"] == 8002
    assert browser.get(f"other-{paths}", "/docs")[0] == 404
    assert browser.get(f"other-{paths}", "/only/more")[0] == 404


def test_the_server_learns_how_it_was_asked(site: str, browser: Browser) -> None:
    headers = browser.ask(site)["headers"]
    assert headers["Host"] == headers["X-Forwarded-Host"] == f"{site}:{browser.http_port}"
    assert headers["X-Forwarded-Proto"] == "http"
    assert headers["X-Forwarded-For"] == "127.0.0.1"


def test_a_default_backend_takes_the_rest_of_its_host(site: str, kubectl: Kubectl, browser: Browser) -> None:
    kubectl("create", "ingress", "rest", f"--rule=rest-{site}/x=server:second", "--default-backend=server:third")
    wait_until(lambda: browser.get(f"rest-{site}", "/y")[0] == 200, "the default backend is served")
    assert browser.ask(f"rest-{site}", "/x")["port"] == 8002
    assert browser.ask(f"rest-{site}", "/y")["port"] == 8003
    kubectl("delete", "ingress", "rest")
    browser.wait_for(f"nobody-{site}", 404)


def test_the_ingress_says_where_it_is_served_and_another_class_is_not(site: str, kubectl: Kubectl, browser: Browser) -> None:
    address = "-o=jsonpath={.status.loadBalancer.ingress[0].ip}"
    wait_until(lambda: kubectl("get", "ingress", "site", address) == "127.0.0.1", "the Ingress has its address")
    kubectl("patch", "ingress", "site", "--type=merge", "-p", '{"spec": {"ingressClassName": "somebody-else"}}')
    assert "no Ingress" in browser.wait_for(site, 404)


def test_a_service_without_endpoints_is_a_503_until_it_has_some(site: str, kubectl: Kubectl, browser: Browser) -> None:
    kubectl("delete", "pod", "server", "--wait=false")
    assert "has no ready endpoint" in browser.wait_for(site, 503)
    kubectl.apply(web.SERVER)
    browser.wait_for(site, 200)
