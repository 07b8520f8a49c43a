"""Hosts, who gets them, URLs, and when a target counts as exposed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nestor import names
from nestor.api import conditions
from nestor.api.appdef import Target
from nestor.api.nestedclass import ExposePolicy
from nestor.exposure.claim import Claim, choose_host, explain_not_allowed, find_conflict
from nestor.exposure.decide import Exposure, decide_exposed
from nestor.exposure.ingress import build_ingress, build_url

Object = dict[str, Any]
MINE = Claim("shop.test", "shop", "team-a", "2", "2026-01-02T00:00:00Z")


def ingress(host: str, **labels: str) -> Object:
    """An Ingress for a host."""
    return {"metadata": {"name": "portal", "namespace": "web", "labels": labels}, "spec": {"rules": [{"host": host}, {}]}}


@pytest.mark.parametrize(
    ("wanted", "domain", "expected"),
    [("own.test", None, "own.test"), (None, "jobs.test", "shop-team-a.jobs.test"), (None, None, None)],
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
        ("anything.test", {}, True),
    ],
)
def test_a_class_bounds_the_hosts_that_jobs_may_ask_for(host: str, policy: Object, is_good: bool) -> None:
    chosen = choose_host("shop", "team-a", host, ExposePolicy.model_validate(policy))
    assert chosen == (host if is_good else None)


def test_a_host_that_is_not_allowed_is_answered_with_those_that_are() -> None:
    policy = ExposePolicy.model_validate({"domain": "jobs.test", "allowedHosts": ["bank.example"]})
    said = explain_not_allowed("evil.test", "gold", policy)
    assert said == "`expose.host` 'evil.test' is not allowed by class 'gold'; allowed: '*.jobs.test', 'bank.example'"


def test_a_long_name_still_is_a_label_and_stays_its_own() -> None:
    hosts = {choose_host("a" * 52, f"{'b' * 40}{end}", None, ExposePolicy(domain="t")) for end in "cd"}
    assert len(hosts) == 2
    assert all(len(str(host).split(".")[0]) <= 63 for host in hosts)


def test_nobody_else_wants_it() -> None:
    assert find_conflict(MINE, [MINE, replace(MINE, uid="9", host="other.test")], [ingress("other.test")]) is None


@pytest.mark.parametrize(
    ("other", "is_taken"),
    [
        (replace(MINE, job="old", uid="9", created="2026-01-01T00:00:00Z"), True),
        (replace(MINE, job="young", uid="1", created="2026-01-03T00:00:00Z", is_held=True), False),
        (replace(MINE, job="twin", uid="1"), True),
        (replace(MINE, job="twin", uid="3"), False),
        (replace(MINE, job="twin", uid="3", is_held=True), True),
    ],
)
def test_the_older_job_keeps_it(other: Claim, is_taken: bool) -> None:
    found = find_conflict(MINE, [MINE, other], [])
    assert found == (f"host 'shop.test' is taken by the older job '{other.job}' in namespace 'team-a'" if is_taken else None)


def test_an_ingress_that_is_not_ours_comes_first() -> None:
    found = find_conflict(MINE, [MINE], [ingress("shop.test")])
    assert found == "host 'shop.test' is taken by Ingress 'portal' in namespace 'web'"
    assert find_conflict(MINE, [MINE], [ingress("shop.test", **{"nestor.dev/job-uid": "2"})]) is None


@pytest.mark.parametrize(
    ("rule", "is_taken"), [("*.jobs.test", True), ("*.test", False), ("*.shop.jobs.test", False), ("*.other.test", False)],
)
def test_a_wildcard_takes_the_hosts_that_it_covers(rule: str, is_taken: bool) -> None:
    assert bool(find_conflict(replace(MINE, host="shop.jobs.test"), [], [ingress(rule)])) is is_taken


def test_what_cert_manager_makes_in_the_jobs_own_namespace_takes_nothing() -> None:
    solver = ingress("shop.test")
    solver["metadata"]["namespace"] = names.job_namespace("shop", "team-a", "2")
    assert find_conflict(MINE, [MINE], [solver]) is None


def test_the_host_that_a_job_has_by_its_name_cannot_be_squatted() -> None:
    owner = replace(MINE, host="shop-team-a.jobs.test", created="2026-01-05T00:00:00Z")
    squatter = Claim(owner.host, "bad", "team-b", "1", "2026-01-01T00:00:00Z", is_held=True)
    assert find_conflict(owner, [owner, squatter], []) is None
    found = find_conflict(squatter, [owner, squatter], [])
    assert found == "host 'shop-team-a.jobs.test' belongs, by its name, to job 'shop' in namespace 'team-a'"


def test_an_issuer_of_cert_manager_gets_a_secret_to_write() -> None:
    policy = ExposePolicy.model_validate({"annotations": {"cert-manager.io/cluster-issuer": "letsencrypt"}})
    made = build_ingress("shop", "nestor-x", {}, "shop.test", TARGET, policy)
    assert made["spec"]["tls"] == [{"hosts": ["shop.test"], "secretName": "shop-tls"}]
    own = policy.model_copy(update={"tls_secret_name": "wildcard"})
    assert build_ingress("shop", "nestor-x", {}, "shop.test", TARGET, own)["spec"]["tls"][0]["secretName"] == "tls"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, "http://h/"),
        ({"port": 8080}, "http://h:8080/"),
        ({"port": 80}, "http://h/"),
        ({"tlsSecretName": "x"}, "https://h/"),
        ({"annotations": {"cert-manager.io/issuer": "x"}}, "https://h/"),
        ({"annotations": {"cert-manager.io/issuer": "x"}, "scheme": "http"}, "http://h/"),
        ({"scheme": "https", "port": 8443}, "https://h:8443/"),
        ({"scheme": "https", "port": 443}, "https://h/"),
    ],
)
def test_the_url(policy: Object, expected: str) -> None:
    assert build_url("h", ExposePolicy.model_validate(policy)) == expected


TARGET = Target(service_name="web", service_port=8080, service_namespace="default")
SERVICE = {"spec": {"ports": [{"port": 8080}]}}
READY = [{"endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}]}]
BASE = Exposure(TARGET, "h", "http://h/", None, SERVICE, READY)


@pytest.mark.parametrize(
    ("exposure", "status", "reason", "message"),
    [
        (BASE, "True", conditions.INGRESS_READY, "reached at http://h/"),
        (replace(BASE, slices=[{"endpoints": [{"addresses": ["10.0.0.1"]}]}]), "True", conditions.INGRESS_READY, ""),
        (Exposure(), "False", conditions.NOT_REQUESTED, "names no target"),
        (replace(BASE, host=None), "False", conditions.NOT_REQUESTED, "`expose.domain`"),
        (replace(BASE, refusal=("HostnameConflict", "taken")), "False", conditions.HOSTNAME_CONFLICT, "taken"),
        (replace(BASE, host=None, refusal=("HostNotAllowed", "no")), "False", conditions.HOST_NOT_ALLOWED, "no"),
        (replace(BASE, service=None), "False", conditions.TARGET_NOT_FOUND,
         "no Service named 'web' in namespace 'default' of the nested cluster"),
        (replace(BASE, service={"spec": {"ports": [{"port": 80}, {"port": 443}]}}), "False", conditions.TARGET_NOT_FOUND,
         "has no port 8080; its ports: 80, 443"),
        (replace(BASE, slices=[]), "False", conditions.NO_READY_ENDPOINT, "no pod of Service 'web'"),
        (replace(BASE, slices=[{"endpoints": None}]), "False", conditions.NO_READY_ENDPOINT, ""),
        (replace(BASE, slices=[{"endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": False}}]}]), "False",
         conditions.NO_READY_ENDPOINT, ""),
    ],
)
def test_exposed(exposure: Exposure, status: str, reason: str, message: str) -> None:
    condition = decide_exposed(exposure)
    assert (condition.status, condition.reason) == (status, reason)
    assert message in condition.message
