"""HTTP from the machine to pods, through the Ingress proxy on loopback."""

from __future__ import annotations

import pytest

from devcluster.cluster import ClusterInfo
from tests.e2e.devcluster.conftest import BUSYBOX, Kubectl
from tests.e2e.devcluster.web import Browser, wait_until

SERVER = f"""
apiVersion: v1
kind: Pod
metadata: {{name: web, labels: {{app: web}}}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: pages
      image: {BUSYBOX}
      command: [sh, -c, "mkdir -p /www/a; echo root > /www/index.html; echo a > /www/a/index.html;
        exec httpd -f -p 8080 -h /www"]
      readinessProbe: {{httpGet: {{path: /, port: 8080}}, periodSeconds: 1}}
---
apiVersion: v1
kind: Service
metadata: {{name: web}}
spec:
  selector: {{app: web}}
  ports: [{{name: http, port: 80, targetPort: 8080}}]
"""


@pytest.fixture
def host(kubectl: Kubectl, embedded: ClusterInfo) -> str:
    """A host name of the test's own, with the server behind it, ready."""
    kubectl.apply(SERVER)
    name = f"{kubectl.namespace}.{embedded.domain}"
    kubectl("create", "ingress", "web", f"--rule={name}/*=web:http")
    kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=60s")
    return name


def test_a_host_leads_to_its_service(host: str, browser: Browser) -> None:
    assert browser.wait_for(host, 200) == "root\n"
    assert browser.wait_for(host, 200, "/a/") == "a\n"


def test_the_ingress_says_where_it_is_served(host: str, browser: Browser, kubectl: Kubectl) -> None:
    browser.wait_for(host, 200)
    address = "-o=jsonpath={.status.loadBalancer.ingress[0].ip}"
    wait_until(lambda: kubectl("get", "ingress", "web", address) == "127.0.0.1", "the Ingress has its address")


def test_an_unknown_host_is_a_404(browser: Browser, embedded: ClusterInfo) -> None:
    status, text = browser.get(f"nobody.{embedded.domain}")
    assert status == 404
    assert "no Ingress" in text


def test_a_service_without_endpoints_is_a_503_until_it_has_some(kubectl: Kubectl, browser: Browser, host: str) -> None:
    browser.wait_for(host, 200)
    kubectl("delete", "pod", "web", "--wait=false")
    assert "has no ready endpoint" in browser.wait_for(host, 503)
    kubectl.apply(SERVER)
    browser.wait_for(host, 200)


def test_another_class_is_not_served(kubectl: Kubectl, browser: Browser, host: str) -> None:
    browser.wait_for(host, 200)
    kubectl("patch", "ingress", "web", "--type=merge", "-p", '{"spec": {"ingressClassName": "somebody-else"}}')
    browser.wait_for(host, 404)
