"""Who gets a host that two jobs want."""

from dataclasses import replace
from typing import Any

import pytest

from nestor.api import labels, names
from nestor.cluster.exposure.host_claims import HostClaim, find_exposed_job, find_foreign, find_rivals

Object = dict[str, Any]
MINE = HostClaim("shop.test", "shop", "team-a", "2", "2026-01-02T00:00:00Z")
HOME = names.job_namespace("shop", "team-a", "2")
HOMES = {HOME: "2", "nestor-other": "9"}
HELD = "2026-01-03T00:00:00Z"
BEFORE, AFTER = "2026-01-02T23:59:59Z", "2026-02-01T00:00:00Z"


def find_rival(mine: HostClaim, claims: list[HostClaim]) -> str | None:
    """Which job has the one host."""
    return find_rivals([mine], claims).get(mine.host)


def find_taken(mine: HostClaim, *ingresses: Object, class_name: str | None = "nginx") -> str | None:
    """Which Ingress has the one host."""
    return find_foreign([mine], ingresses, HOMES, class_name).get(mine.host)


def ingress(
    host: str, *, where: str = "web", created: str = BEFORE, kind: str | None = "nginx", old_kind: str = "", **own: str
) -> Object:
    """An Ingress for a host."""
    annotations = {"kubernetes.io/ingress.class": old_kind} if old_kind else {}
    meta = {"name": "portal", "namespace": where, "labels": own, "creationTimestamp": created, "annotations": annotations}
    return {"metadata": meta, "spec": {"rules": [{"host": host}, {}]} | ({"ingressClassName": kind} if kind else {})}


def test_nobody_else_wants_it() -> None:
    assert find_rival(MINE, [MINE, replace(MINE, uid="9", host="other.test")]) is None
    assert find_taken(MINE, ingress("other.test")) is None
    assert find_rivals([], [MINE]) == {}
    assert find_foreign([], [ingress("shop.test")], HOMES) == {}


@pytest.mark.parametrize(
    ("other", "is_taken"),
    [
        (replace(MINE, job="old", uid="9", created="2026-01-01T00:00:00Z"), True),
        (replace(MINE, job="young", uid="1", created="2026-01-03T00:00:00Z", held_since=HELD), False),
        (replace(MINE, job="twin", uid="1"), True),
        (replace(MINE, job="twin", uid="3"), False),
        (replace(MINE, job="twin", uid="3", held_since=HELD), True),
    ],
)
def test_the_older_job_keeps_it(other: HostClaim, is_taken: bool) -> None:
    found = find_rival(MINE, [MINE, other])
    assert found == (f"host 'shop.test' is taken by the older job '{other.job}' in namespace 'team-a'" if is_taken else None)


def test_the_oldest_of_several_is_named() -> None:
    older = [replace(MINE, job=f"j{day}", uid=f"u{day}", created=f"2026-01-01T00:00:0{day}Z") for day in (3, 1, 2)]
    assert find_rival(MINE, older) == "host 'shop.test' is taken by the older job 'j1' in namespace 'team-a'"


def test_one_host_that_is_taken_leaves_the_others_alone() -> None:
    mine = [MINE, replace(MINE, host="api--shop.test"), replace(MINE, host="db--shop.test")]
    older = replace(mine[1], job="old", uid="9", created="2026-01-01T00:00:00Z")
    assert set(find_rivals(mine, [*mine, older])) == {"api--shop.test"}
    assert set(find_foreign(mine, [ingress("db--shop.test")], HOMES)) == {"db--shop.test"}


def test_an_ingress_that_is_not_ours_comes_first() -> None:
    assert (
        find_taken(MINE, ingress("shop.test", created=AFTER))
        == "host 'shop.test' is taken by Ingress 'portal' in namespace 'web'"
    )
    own = {labels.JOB_UID: "2", labels.COMPONENT: labels.COMPONENT_EXPOSURE}
    assert find_taken(MINE, ingress("shop.test", where=HOME, **own)) is None


@pytest.mark.parametrize(("created", "is_told"), [(AFTER, False), (HELD, False), (BEFORE, True)])
def test_a_host_that_a_job_has_is_only_contested_by_what_is_older(created: str, is_told: bool) -> None:
    found = find_taken(replace(MINE, held_since=HELD), ingress("shop.test", created=created))
    said = "Ingress 'portal' in namespace 'web' has host 'shop.test' too and is older, so it may get the traffic"
    assert found == (said if is_told else None)


@pytest.mark.parametrize("rule", ["*.jobs.test", "*.test", "*.shop.jobs.test", "*"])
@pytest.mark.parametrize("held_since", ["", HELD])
def test_a_wildcard_takes_no_host(rule: str, held_since: str) -> None:
    assert find_taken(replace(MINE, host="shop.jobs.test", held_since=held_since), ingress(rule)) is None


@pytest.mark.parametrize("uid", ["2", "9", "anything"])
@pytest.mark.parametrize("where", ["web", "nestor-other"])
def test_no_label_hides_a_foreign_ingress(where: str, uid: str) -> None:
    own = {labels.JOB_UID: uid, labels.COMPONENT: labels.COMPONENT_EXPOSURE}
    is_ours = HOMES.get(where) == uid
    assert (find_taken(MINE, ingress("shop.test", where=where, **own)) is None) is is_ours


@pytest.mark.parametrize(
    ("ours", "theirs", "old", "is_taken"),
    [
        ("nginx", "nginx", "", True),
        ("nginx", "does-not-exist", "", False),
        ("nginx", None, "", True),
        (None, "nginx", "", True),
        (None, None, "", True),
        ("nginx", None, "nginx", True),
        ("nginx", None, "traefik", False),
    ],
)
def test_only_ingresses_that_one_controller_may_serve_compete(
    ours: str | None, theirs: str | None, old: str, is_taken: bool
) -> None:
    found = find_taken(MINE, ingress("shop.test", kind=theirs, old_kind=old), class_name=ours)
    assert bool(found) is is_taken


def test_what_cert_manager_makes_in_the_jobs_own_namespace_takes_nothing() -> None:
    assert find_taken(MINE, ingress("shop.test", where=HOME)) is None
    assert find_taken(MINE, ingress("shop.test", where="nestor-other")) is not None


def test_the_host_that_a_job_has_by_its_name_cannot_be_squatted() -> None:
    owner = replace(MINE, host="shop-team-a.jobs.test", created="2026-01-05T00:00:00Z", is_default=True)
    squatter = HostClaim(owner.host, "bad", "team-b", "1", "2026-01-01T00:00:00Z", held_since=HELD)
    assert find_rival(owner, [owner, squatter]) is None
    found = find_rival(squatter, [owner, squatter])
    assert found == "host 'shop-team-a.jobs.test' is the default host of job 'shop' in namespace 'team-a'"


OURS = {labels.JOB_UID: "9"}


@pytest.mark.parametrize(
    ("own", "job"),
    [
        (OURS | {labels.COMPONENT: labels.COMPONENT_EXPOSURE}, "9"),
        (OURS, None),
        (OURS | {labels.NESTED_UID: "n1"}, None),
        (OURS | {labels.NESTED_UID: "n1", labels.COMPONENT: labels.COMPONENT_EXPOSURE}, None),
        (OURS | {labels.COMPONENT: labels.COMPONENT_APP}, None),
        ({}, None),
    ],
    ids=["ours", "without a component", "synced", "synced, with our mark", "of another part", "a user's"],
)
def test_only_the_operators_own_ingresses_expose_a_job(own: dict[str, str], job: str | None) -> None:
    found = ingress("shop.test", where="nestor-other", **own)
    assert find_exposed_job(found, HOMES) == job
    assert find_exposed_job(found, {}) is None
    # Those that do not expose a job take their host, whoever made them; those that do are judged by the jobs' claims.
    assert bool(find_taken(MINE, found)) is (job is None)
