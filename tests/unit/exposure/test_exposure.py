"""Hosts, who gets them, URLs, and when a target counts as exposed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nestor.api import conditions
from nestor.api.appdef import Target
from nestor.api.nestedclass import ExposePolicy
from nestor.exposure.claim import Claim, choose_host, find_conflict
from nestor.exposure.decide import Exposure, decide_exposed
from nestor.exposure.ingress import build_url

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
    ("policy", "expected"),
    [
        ({}, "http://h/"),
        ({"port": 8080}, "http://h:8080/"),
        ({"port": 80}, "http://h/"),
        ({"tlsSecretName": "x"}, "https://h/"),
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
