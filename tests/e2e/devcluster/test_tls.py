"""HTTPS with the certificates of Secrets."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Sequence

import pytest

from devcluster.cluster.certificates import Authority, KeyPair
from tests.e2e.devcluster.conftest import Kubectl
from tests.e2e.devcluster.web import Browser, wait_until

pytestmark = pytest.mark.xdist_group("tls")


def trust(authority: Authority) -> ssl.SSLContext:
    """A client that believes this authority and nobody else."""
    return ssl.create_default_context(cadata=authority.pair.certificate.decode())


class Secrets:
    """Makes and changes TLS Secrets and the Ingresses that name them."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    def put(self, name: str, pair: KeyPair) -> None:
        """Create the Secret, or give it another content."""
        data = {"tls.crt": pair.certificate, "tls.key": pair.key}
        encoded = {key: base64.b64encode(content).decode() for key, content in data.items()}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "kubernetes.io/tls", "data": encoded}
        self._kubectl.apply(json.dumps(secret))

    def name(self, ingress: str, secret: str, hosts: Sequence[str]) -> None:
        """Have an Ingress name a Secret."""
        patch = {"spec": {"tls": [{"hosts": list(hosts), "secretName": secret}]}}
        self._kubectl("patch", "ingress", ingress, "--type=merge", "-p", json.dumps(patch))

    def complaints(self) -> list[str]:
        """What the Ingress controller said about TLS in this namespace."""
        items = json.loads(self._kubectl("get", "events", "--field-selector=reason=NoTLS", "-o", "json"))["items"]
        return [item["message"] for item in items]


@pytest.fixture
def secrets(kubectl: Kubectl) -> Secrets:
    return Secrets(kubectl)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("first")


@pytest.fixture
def secure_site(site: str, secrets: Secrets, browser: Browser, authority: Authority) -> str:
    """The site, with a certificate that `authority` signed."""
    secrets.put("site-tls", authority.server(site, [site]))
    secrets.name("site", "site-tls", [site])
    browser.wait_for(site, 200, trust=trust(authority))
    return site


def test_a_host_is_served_by_https_and_by_http(secure_site: str, browser: Browser, authority: Authority) -> None:
    headers = browser.ask(secure_site, trust=trust(authority))["headers"]
    assert headers["X-Forwarded-Proto"] == "https"
    assert headers["X-Forwarded-Host"] == f"{secure_site}:{browser.https_port}"
    assert browser.ask(secure_site)["headers"]["X-Forwarded-Proto"] == "http"


async def test_a_changed_secret_brings_its_new_certificate_and_open_streams_stay(
    secure_site: str, secrets: Secrets, browser: Browser, authority: Authority
) -> None:
    url = f"https://{secure_site}:{browser.https_port}/ws"
    async with browser.session(trust(authority)) as session, session.ws_connect(url) as stream:
        successor = Authority("second")
        secrets.put("site-tls", successor.server(secure_site, [secure_site]))
        browser.wait_for(secure_site, 200, trust=trust(successor))
        with pytest.raises(ssl.SSLCertVerificationError):
            browser.get(secure_site, trust=trust(authority))
        await stream.send_str("still here")
        assert await stream.receive_str(timeout=10) == "still here"


def test_each_host_has_the_certificate_of_its_own_secret(
    secure_site: str, kubectl: Kubectl, secrets: Secrets, browser: Browser, authority: Authority
) -> None:
    other, second = f"other.{secure_site}", Authority("second")
    kubectl("create", "ingress", "other", f"--rule={other}/*=server:second")
    secrets.put("other-tls", second.server("any", [f"*.{secure_site}", secure_site]))  # good for both hosts
    secrets.name("other", "other-tls", [other])
    browser.wait_for(other, 200, trust=trust(second))
    assert browser.ask(other, trust=trust(second))["port"] == 8002
    assert browser.ask(secure_site, trust=trust(authority))["port"] == 8001


def test_a_missing_secret_is_told_and_used_as_soon_as_it_is_there(
    site: str, secrets: Secrets, browser: Browser, authority: Authority
) -> None:
    secrets.name("site", "site-tls", [site])
    said = f"Secret 'site-tls' does not exist, or is not of type kubernetes.io/tls; {site} is served without TLS"
    wait_until(lambda: secrets.complaints() == [said], "an event says what is missing")
    assert browser.get(site)[0] == 200
    secrets.put("site-tls", authority.server(site, [site]))
    browser.wait_for(site, 200, trust=trust(authority))
