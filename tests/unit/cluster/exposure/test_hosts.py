"""Which hosts jobs may ask for, and the URL that comes of one."""

from typing import Any

import pytest

from nestor.api.expose import ExposePolicy
from nestor.cluster.exposure.hosts import choose_host, explain_not_allowed, is_default
from nestor.cluster.exposure.ingress import build_url

Object = dict[str, Any]


@pytest.mark.parametrize(
    ("wanted", "domain", "expected"),
    [
        ("own.test", None, None),
        ("own.jobs.test", "jobs.test", "own.jobs.test"),
        (None, "jobs.test", "shop-team-a.jobs.test"),
        (None, None, None),
    ],
)
def test_the_host(wanted: str | None, domain: str | None, expected: str | None) -> None:
    assert choose_host("shop", "team-a", wanted, ExposePolicy(domain=domain)) == expected


@pytest.mark.parametrize(
    ("host", "policy", "is_good"),
    [
        ("shop.jobs.test", {"domain": "jobs.test"}, True),
        ("a.shop.jobs.test", {"domain": "jobs.test"}, True),
        ("jobs.test", {"domain": "jobs.test"}, False),
        ("evil-jobs.test", {"domain": "jobs.test"}, False),
        ("bank.example", {"domain": "jobs.test"}, False),
        ("bank.example", {"domain": "jobs.test", "allowedHosts": ["bank.example"]}, True),
        ("www.bank.example", {"domain": "jobs.test", "allowedHosts": ["bank.example"]}, False),
        ("www.bank.example", {"allowedHosts": ["*.bank.example"]}, True),
        ("bank.example", {"allowedHosts": ["*.bank.example"]}, False),
        ("anything.test", {}, False),
    ],
)
def test_a_class_bounds_the_hosts_that_jobs_may_ask_for(host: str, policy: Object, is_good: bool) -> None:
    chosen = choose_host("shop", "team-a", host, ExposePolicy.model_validate(policy))
    assert chosen == (host if is_good else None)


def test_a_host_that_is_not_allowed_is_answered_with_those_that_are() -> None:
    policy = ExposePolicy.model_validate({"domain": "jobs.test", "allowedHosts": ["bank.example"]})
    said = explain_not_allowed("evil.test", "gold", policy)
    assert said == "`expose.host` 'evil.test' is not allowed by class 'gold'; allowed: '*.jobs.test', 'bank.example'"


def test_a_class_without_any_host_says_so() -> None:
    said = explain_not_allowed("evil.test", "gold", ExposePolicy())
    assert said.endswith("allowed: none (it has neither `expose.domain` nor `allowedHosts`)")


def test_a_long_name_still_is_a_label_and_stays_its_own() -> None:
    hosts = {choose_host("a" * 52, f"{'b' * 40}{end}", None, ExposePolicy(domain="t")) for end in "cd"}
    assert len(hosts) == 2
    assert all(len(str(host).split(".")[0]) <= 63 for host in hosts)


def test_a_job_has_a_host_by_its_name_below_its_classs_domain_alone() -> None:
    policy = ExposePolicy(domain="jobs.test", allowed_hosts=["*.corp.test"])
    assert is_default("shop-team-a.jobs.test", "shop", "team-a", policy)
    assert not is_default("shop.jobs.test", "shop", "team-a", policy)
    # Else job `portal` of namespace `eu` could take `portal-eu.corp.test` from whoever has it.
    assert not is_default("portal-eu.corp.test", "portal", "eu", policy)
    assert not is_default("portal-eu.corp.test", "portal", "eu", ExposePolicy())


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, "http://h/"),
        ({"port": 8080}, "http://h:8080/"),
        ({"port": 80}, "http://h/"),
        ({"tlsSecretName": "x"}, "https://h/"),
        ({"annotations": {"cert-manager.io/issuer": "x"}}, "https://h/"),
        ({"controllerCertificate": True, "port": 8443}, "https://h:8443/"),
        ({"port": 443}, "https://h/"),
        ({"gateway": {"name": "public", "namespace": "gateways"}}, "http://h/"),
    ],
)
def test_the_url(policy: Object, expected: str) -> None:
    assert build_url("h", ExposePolicy.model_validate(policy)) == expected
