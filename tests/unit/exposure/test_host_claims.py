"""Who gets a host that two want."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nestor import names
from nestor.api import labels
from nestor.exposure.host_claims import HostClaim, find_conflicts, find_exposed_job

Object = dict[str, Any]
MINE = HostClaim("shop.test", "shop", "team-a", "2", "2026-01-02T00:00:00Z")
HOME = names.job_namespace("shop", "team-a", "2")


def find_conflict(mine: HostClaim, claims: list[HostClaim], ingresses: list[Object]) -> str | None:
    """Who has the one host."""
    return find_conflicts([mine], claims, ingresses, HOME).get(mine.host)


def ingress(host: str, **own: str) -> Object:
    """An Ingress for a host."""
    return {"metadata": {"name": "portal", "namespace": "web", "labels": own}, "spec": {"rules": [{"host": host}, {}]}}


def test_nobody_else_wants_it() -> None:
    assert find_conflict(MINE, [MINE, replace(MINE, uid="9", host="other.test")], [ingress("other.test")]) is None
    assert find_conflicts([], [MINE], [ingress("shop.test")], HOME) == {}


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
def test_the_older_job_keeps_it(other: HostClaim, is_taken: bool) -> None:
    found = find_conflict(MINE, [MINE, other], [])
    assert found == (f"host 'shop.test' is taken by the older job '{other.job}' in namespace 'team-a'" if is_taken else None)


def test_the_oldest_of_several_is_named() -> None:
    older = [replace(MINE, job=f"j{day}", uid=f"u{day}", created=f"2026-01-01T00:00:0{day}Z") for day in (3, 1, 2)]
    assert find_conflict(MINE, older, []) == "host 'shop.test' is taken by the older job 'j1' in namespace 'team-a'"


def test_one_host_that_is_taken_leaves_the_others_alone() -> None:
    mine = [MINE, replace(MINE, host="api--shop.test"), replace(MINE, host="db--shop.test")]
    older = replace(mine[1], job="old", uid="9", created="2026-01-01T00:00:00Z")
    assert set(find_conflicts(mine, [*mine, older], [], HOME)) == {"api--shop.test"}
    assert set(find_conflicts(mine, [*mine, older], [ingress("db--shop.test")], HOME)) == {"api--shop.test", "db--shop.test"}


def test_an_ingress_that_is_not_ours_comes_first() -> None:
    found = find_conflict(MINE, [MINE], [ingress("shop.test")])
    assert found == "host 'shop.test' is taken by Ingress 'portal' in namespace 'web'"
    assert find_conflict(MINE, [MINE], [ingress("shop.test", **{"nestor.dev/job-uid": "2"})]) is None


@pytest.mark.parametrize(
    ("rule", "is_taken"), [("*.jobs.test", True), ("*.test", False), ("*.shop.jobs.test", False), ("*.other.test", False)]
)
def test_a_wildcard_takes_the_hosts_that_it_covers(rule: str, is_taken: bool) -> None:
    assert bool(find_conflict(replace(MINE, host="shop.jobs.test"), [], [ingress(rule)])) is is_taken


def test_what_cert_manager_makes_in_the_jobs_own_namespace_takes_nothing() -> None:
    solver = ingress("shop.test")
    solver["metadata"]["namespace"] = HOME
    assert find_conflict(MINE, [MINE], [solver]) is None


def test_the_host_that_a_job_has_by_its_name_cannot_be_squatted() -> None:
    owner = replace(MINE, host="shop-team-a.jobs.test", created="2026-01-05T00:00:00Z", is_default=True)
    squatter = HostClaim(owner.host, "bad", "team-b", "1", "2026-01-01T00:00:00Z", is_held=True)
    assert find_conflict(owner, [owner, squatter], []) is None
    found = find_conflict(squatter, [owner, squatter], [])
    assert found == "host 'shop-team-a.jobs.test' belongs, by its name, to job 'shop' in namespace 'team-a'"


OURS = {labels.JOB_UID: "9"}


@pytest.mark.parametrize(
    ("own", "job"),
    [
        (OURS | {labels.COMPONENT: labels.COMPONENT_EXPOSURE}, "9"),
        (OURS, "9"),
        (OURS | {labels.NESTED_UID: "n1"}, None),
        (OURS | {labels.NESTED_UID: "n1", labels.COMPONENT: labels.COMPONENT_EXPOSURE}, None),
        (OURS | {labels.COMPONENT: labels.COMPONENT_APP}, None),
        ({}, None),
    ],
    ids=["ours", "an earlier version's", "synced", "synced, with our mark", "of another part", "a user's"],
)
def test_only_the_operators_own_ingresses_expose_a_job(own: dict[str, str], job: str | None) -> None:
    found = ingress("shop.test", **own)
    assert find_exposed_job(found) == job
    # Those that do not expose a job take their host, whoever made them; those that do are judged by the jobs' claims.
    assert bool(find_conflict(MINE, [MINE], [found])) is (job is None)
