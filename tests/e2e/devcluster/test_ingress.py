"""HTTP from the machine to pods, through caddy on loopback."""

from __future__ import annotations

import http.client
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

import pytest

from devcluster.cluster import ClusterInfo, settings
from devcluster.cluster.certificates import Authority
from tests.e2e.devcluster.conftest import BUSYBOX, Kubectl, wait_until

# A page, a slow stream (a line each half second for six seconds), and a server that switches protocols as websockets do.
SERVER = f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: server}}
data:
  slow: |
    #!/bin/sh
    printf 'Content-Type: text/plain\\n\\n'
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; sleep 0.5; done
  echo: |
    #!/bin/sh
    while read -r line && [ "$line" != "$(printf '\\r')" ]; do :; done
    printf 'HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n'
    exec cat
---
apiVersion: v1
kind: Pod
metadata: {{name: web, labels: {{app: web}}}}
spec:
  terminationGracePeriodSeconds: 0
  volumes: [{{name: server, configMap: {{name: server, defaultMode: 493}}}}]
  containers:
    - name: pages
      image: {BUSYBOX}
      command: [sh, -c, "mkdir -p /www/cgi-bin /www/a; cp /server/slow /www/cgi-bin/; echo root > /www/index.html;
        echo a > /www/a/index.html; exec httpd -f -p 8080 -h /www"]
      volumeMounts: [{{name: server, mountPath: /server}}]
      readinessProbe: {{httpGet: {{path: /, port: 8080}}, periodSeconds: 1}}
    - name: echo
      image: {BUSYBOX}
      command: [nc, -ll, -p, "9090", -e, /server/echo]
      volumeMounts: [{{name: server, mountPath: /server}}]
---
apiVersion: v1
kind: Service
metadata: {{name: web}}
spec:
  selector: {{app: web}}
  ports: [{{name: http, port: 80, targetPort: 8080}}, {{name: echo, port: 90, targetPort: 9090}}]
"""


@dataclass
class Browser:
    """Asks the Ingress controller for pages of hosts."""

    port: int

    def get(self, host: str, path: str = "/") -> tuple[int, str]:
        """Status and text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=15)
        try:
            connection.request("GET", path, headers={"Host": host})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def wait_for(self, host: str, status: int, path: str = "/") -> str:
        """Await a status; the text that came with it."""
        wait_until(lambda: self.get(host, path)[0] == status, f"{host}{path} answers {status}")
        return self.get(host, path)[1]


@pytest.fixture
def browser(embedded: ClusterInfo) -> Browser:
    return Browser(embedded.http_url_port)


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


def test_tls_is_served_with_the_ingresss_secret(kubectl: Kubectl, host: str, browser: Browser, tmp_path: Path) -> None:
    authority = Authority("test")
    pair = authority.server(host, [host])
    for name, content in (("crt", pair.certificate), ("key", pair.key), ("ca", authority.pair.certificate)):
        (tmp_path / name).write_bytes(content)
    kubectl("create", "secret", "tls", "web", f"--cert={tmp_path / 'crt'}", f"--key={tmp_path / 'key'}")
    tls = f'{{"spec": {{"tls": [{{"hosts": ["{host}"], "secretName": "web"}}]}}}}'
    kubectl("patch", "ingress", "web", "--type=merge", "-p", tls)
    browser.wait_for(host, 200)
    trust = ssl.create_default_context(cafile=str(tmp_path / "ca"))

    wait_until(lambda: https_status(host, trust) == 200, f"https://{host} answers with the secret's certificate")


def https_status(host: str, trust: ssl.SSLContext) -> int:
    """Status of a page by TLS; 0 while nobody answers whom `trust` trusts."""
    port = settings.ports().https
    try:
        plain = socket.create_connection(("127.0.0.1", port), timeout=5)
        with plain, trust.wrap_socket(plain, server_hostname=host) as stream:
            stream.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            return int(stream.recv(64).split()[1])
    except OSError:
        return 0


def test_a_stream_arrives_as_it_is_written_and_survives_other_hosts_changes(
    kubectl: Kubectl, host: str, browser: Browser
) -> None:
    browser.wait_for(host, 200)
    connection = http.client.HTTPConnection("127.0.0.1", browser.port, timeout=15)
    connection.request("GET", "/cgi-bin/slow", headers={"Host": host})
    answer = connection.getresponse()
    assert answer.readline() == b"line 1\n"  # while the server is still writing
    kubectl("create", "ingress", "other", f"--rule=other-{host}/*=web:http")
    browser.wait_for(f"other-{host}", 200)
    assert answer.read().splitlines()[-1] == b"line 12"
    connection.close()


def test_connections_can_be_upgraded_as_websockets_are(kubectl: Kubectl, host: str, browser: Browser) -> None:
    kubectl("create", "ingress", "echo", f"--rule=echo-{host}/*=web:echo")
    wait_until(lambda: upgraded(f"echo-{host}", browser.port) == b"ping\n", "an upgraded connection echoes")


def upgraded(host: str, port: int) -> bytes:
    """What comes back through a connection after it was upgraded; nothing when it was not, or was cut (by a change of any
    Ingress, as the README says)."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as stream:
            stream.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n".encode())
            if b" 101 " not in stream.recv(4096):
                return b""
            stream.sendall(b"ping\n")
            return stream.recv(64)
    except OSError:
        return b""
