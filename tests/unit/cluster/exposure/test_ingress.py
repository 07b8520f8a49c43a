"""Ingresses: golden ones for a job with several targets, and who makes the certificate."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from nestor.api.expose import ExposePolicy
from nestor.cluster.exposure.ingress import build_ingress, build_url
from tests.unit.cluster.exposure.builders import plan, target

Object = dict[str, Any]
GOLDEN = Path(__file__).parents[3] / "golden"

ISSUER = {"annotations": {"cert-manager.io/cluster-issuer": "letsencrypt"}}
RICH = {
    "tlsSecretName": "wildcard",
    "ingressClassName": "nginx",
    "annotations": {"nginx.ingress.kubernetes.io/proxy-read-timeout": "3600"},
}


def build(policy: Object) -> list[Object]:
    """All Ingresses of a job with three targets."""
    expose = ExposePolicy.model_validate(policy)
    routes = plan(target(), target("api", 9090), target("api", 9091, "tools"), policy=policy)
    return [build_ingress(route.ingress, "nestor-x", {"x": "y"}, route.host or "", route.target, expose) for route in routes]


@pytest.mark.parametrize(("name", "policy"), [("plain", {}), ("tls", RICH), ("issuer", ISSUER)])
def test_the_ingresses_of_all_targets_are_the_golden_ones(name: str, policy: Object) -> None:
    path = GOLDEN / f"ingress-all-targets-{name}.yaml"
    text = yaml.safe_dump_all(build(policy), sort_keys=False, width=120)
    if os.environ.get("NESTOR_REWRITE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text(), f"{path} differs: NESTOR_REWRITE_GOLDEN=1 rewrites it"


def test_an_issuer_of_cert_manager_gets_a_secret_to_write_for_each_host() -> None:
    secrets = [item["spec"]["tls"] for item in build(ISSUER)]
    assert secrets[0] == [{"hosts": ["shop-team-a.jobs.test"], "secretName": "shop-tls"}]
    assert len({entry["secretName"] for (entry,) in secrets}) == 3


def test_the_classs_own_certificate_comes_before_an_issuer() -> None:
    assert {item["spec"]["tls"][0]["secretName"] for item in build(RICH | ISSUER)} == {"tls"}


def test_where_the_controller_has_the_certificate_no_secret_is_named() -> None:
    policy = {"controllerCertificate": True}
    assert build(policy)[0]["spec"]["tls"] == [{"hosts": ["shop-team-a.jobs.test"]}]
    assert build_url("shop.test", ExposePolicy.model_validate(policy)) == "https://shop.test/"
    assert build_url("shop.test", ExposePolicy()) == "http://shop.test/"
    secrets = {item["spec"]["tls"][0].get("secretName") for item in build(policy | ISSUER)}
    assert len(secrets - {None}) == 3
