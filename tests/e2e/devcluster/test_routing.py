"""HTTP from the machine to pods through the Ingress proxy. Which path answers, its Go tests and `test_routes` say."""

from __future__ import annotations

from tests.e2e.devcluster import web
from tests.e2e.devcluster.conftest import Kubectl
from tests.e2e.devcluster.web import Browser, wait_until


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
