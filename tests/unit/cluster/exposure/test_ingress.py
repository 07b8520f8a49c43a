"""Ingresses: who makes the certificate, and which annotations a job may add. Golden ones: `test_manifests.py`."""

from typing import Any

import pytest

from nestor.api import conditions
from nestor.api.expose import ExposePolicy
from nestor.cluster.exposure.ingress import build_annotations, build_ingress, speaks_https
from tests.unit.cluster.exposure.builders import plan, service, target

Object = dict[str, Any]

ISSUER = {"annotations": {"cert-manager.io/cluster-issuer": "letsencrypt"}}
RICH = {"tlsSecretName": "wildcard", "ingressClassName": "nginx"}


def build(policy: Object) -> list[Object]:
    """All Ingresses of a job with three targets. With an issuer of cert-manager, each host gets a secret to write."""
    expose = ExposePolicy.model_validate(policy)
    routes = plan(target(), target("api", 9090), target("api", 9091, "tools"), policy=policy)
    return [build_ingress(route.ingress, "nestor-x", {"x": "y"}, route.host or "", route.target, expose) for route in routes]


def test_a_class_without_certificates_or_annotations_has_neither() -> None:
    for item in build({}):
        assert not {"tls", "ingressClassName"} & item["spec"].keys()
        assert "annotations" not in item["metadata"]


def test_the_classs_own_certificate_comes_before_an_issuer() -> None:
    found = build(RICH | ISSUER)
    assert {item["spec"]["tls"][0]["secretName"] for item in found} == {"tls"}
    assert {item["spec"]["ingressClassName"] for item in found} == {"nginx"}


def test_where_the_controller_has_the_certificate_no_secret_is_named() -> None:
    policy = {"controllerCertificate": True}
    assert build(policy)[0]["spec"]["tls"] == [{"hosts": ["shop-team-a.jobs.test"]}]
    secrets = {item["spec"]["tls"][0].get("secretName") for item in build(policy | ISSUER)}
    assert len(secrets - {None}) == 3


SIZE, AUTH = "nginx.ingress.kubernetes.io/proxy-body-size", "nginx.ingress.kubernetes.io/auth-url"
FACTS = {"job": "shop", "namespace": "team-a", "class": "gold", "host": "shop-team-a.jobs.test"}
POLICY: Object = {
    "annotations": {SIZE: "1m", AUTH: "https://auth.test/check?group=$(namespace)&job=$(job)&rd=https://$(host)/&c=$(class)"},
    "allowedAnnotations": [SIZE],
}
FILLED = "https://auth.test/check?group=team-a&job=shop&rd=https://shop-team-a.jobs.test/&c=gold"


def annotate(own: dict[str, str] | None = None, *, is_https: bool = False, **policy: Any) -> dict[str, str]:
    """The annotations of a target."""
    return build_annotations(ExposePolicy.model_validate(POLICY | policy), FACTS, own, is_https=is_https)


def test_the_facts_of_the_job_stand_in_the_classs_values_and_not_in_the_jobs() -> None:
    assert annotate() == {SIZE: "1m", AUTH: FILLED}
    assert annotate({SIZE: "$(namespace)"}) == {SIZE: "$(namespace)", AUTH: FILLED}
    assert annotate(annotations={SIZE: "$(other) $namespace {namespace} $(namespace"}) == {
        SIZE: "$(other) $namespace {namespace} $(namespace"
    }


def test_targets_that_speak_https_have_further_ones() -> None:
    key = "nginx.ingress.kubernetes.io/backend-protocol"
    assert annotate(is_https=True) == {key: "HTTPS"} | annotate()
    assert annotate(is_https=True, annotations={key: "GRPCS"}) == {key: "GRPCS"}, "the class knows its controller better"


def test_without_a_word_there_are_none() -> None:
    assert build_annotations(ExposePolicy(), FACTS) == {}


@pytest.mark.parametrize(
    ("own", "policy", "is_open"),
    [
        (None, {}, True),
        ({}, {}, True),
        ({SIZE: "8m"}, {}, False),
        ({SIZE: "8m"}, {"allowedAnnotations": [SIZE]}, True),
        ({SIZE: "8m", AUTH: "x"}, {"allowedAnnotations": [SIZE]}, False),
    ],
)
def test_a_job_sets_those_that_its_class_allows(own: dict[str, str] | None, policy: Object, is_open: bool) -> None:
    first, second = plan(target(), target("api", 9090), policy=policy, annotations=own)
    assert (first.is_open, second.is_open) == (is_open, is_open)
    if not is_open:
        assert first.refusal is not None
        assert first.refusal[0] == conditions.ANNOTATION_NOT_ALLOWED


def test_a_refusal_names_those_that_are_not_allowed_and_those_that_are() -> None:
    (route,) = plan(target(), policy={"allowedAnnotations": [SIZE]}, annotations={SIZE: "1m", AUTH: "x"})
    assert route.refusal is not None
    assert route.refusal[1] == (
        f"`expose.annotations` must not contain '{AUTH}': class 'default' allows '{SIZE}' (`expose.allowedAnnotations`)"
    )


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        ({"port": 80}, False),
        ({"port": 443}, True),
        ({"port": 443, "protocol": "UDP"}, True),
        ({"port": 8443, "name": "https"}, True),
        ({"port": 8443, "name": "https-web"}, True),
        ({"port": 8443, "name": "httpsx"}, False),
        ({"port": 443, "name": "http"}, False),
        ({"port": 443, "name": "web"}, True),
        ({"port": 80, "appProtocol": "https"}, True),
        ({"port": 80, "appProtocol": "HTTPS"}, True),
        ({"port": 443, "name": "https", "appProtocol": "http"}, False),
        ({"port": 443, "appProtocol": "kubernetes.io/h2c"}, False),
    ],
)
def test_whether_a_target_speaks_https(port: Object, expected: bool) -> None:
    assert speaks_https(service(port, {"port": 1, "name": "https"}), port["port"]) is expected


def test_before_its_service_is_there_the_ports_number_has_to_do() -> None:
    assert speaks_https(None, 443)
    assert not speaks_https(None, 8443)
