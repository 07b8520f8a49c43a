"""When a job falls asleep and wakes."""

import math
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object
from nestor.api.times import read
from nestor.operator.admission.checks import find_idle_limit
from nestor.operator.guests.sleep import decide

NOW = read("2026-01-01T01:00:00Z")
URL = {"serviceName": "web", "serviceNamespace": "default", "servicePort": 80, "url": "http://shop-team.example.com:8080/"}
SLICE = {"endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}]}


def build_job(ready: str = "True", since: str = "00:00:00", **status: Any) -> Object:
    condition = {"type": conditions.READY, "status": ready, "lastTransitionTime": f"2026-01-01T{since}Z"}
    return {
        "metadata": {"name": "shop", "namespace": "team", "generation": 1},
        "spec": {},
        "status": {"conditions": [condition]} | status,
    }


@pytest.mark.parametrize(
    ("own", "most", "limit"), [(None, None, None), (60, None, 60), (None, 90, 90), (60, 90, 60), (120, 90, 90)]
)
def test_the_shorter_limit_counts(own: int | None, most: int | None, limit: int | None) -> None:
    policy = NestedClassSpec.model_validate({"maxIdleSeconds": most} if most else {})
    spec = NestedAppJobSpec.model_validate({"idleSeconds": own} if own else {})
    assert find_idle_limit(policy, spec) == limit


@pytest.mark.parametrize(
    ("job", "idle", "rest"),
    [
        (build_job(), "00:50:00", 0),
        (build_job(), "00:51:00", 60),
        (build_job(since="00:58:20"), "00:10:00", 500),  # it woke only then, and its syncer has not said so yet
        (build_job(), None, None),
        (build_job("False"), "00:10:00", None),
        (build_job(completionTime="2026-01-01T00:30:00Z"), "00:10:00", None),
        (build_job() | {"spec": {"suspend": True}}, "00:10:00", None),
        (build_job(asleep={"state": "Awake", "since": "2026-01-01T00:58:20Z"}), "00:10:00", 500),  # woken before it slept
        (build_job() | {"metadata": {"annotations": {labels.RERUN: "one"}}}, "00:10:00", None),
    ],
)
def test_a_job_sleeps_once_it_was_ready_and_idle_for_its_time(job: Object, idle: str | None, rest: float | None) -> None:
    cluster = {"status": {"idleSince": f"2026-01-01T{idle}Z"} if idle else {}}
    found = decide.find_rest(job, cluster, 600, NOW)
    assert found is None if rest is None else math.isclose(found or 0, rest)


OTHERS = {f"{at}.example.com": f"team/job-{at}" for at in range(decide.SHARE)}


@pytest.mark.parametrize(
    ("own", "queue", "target", "activators", "hosts", "obstacle"),
    [
        ({}, "Ignore", URL, [SLICE], {}, None),
        ({labels.KUEUE_QUEUE: "q"}, "Ignore", URL, [SLICE], {}, None),
        ({labels.KUEUE_QUEUE: "q"}, "Allow", URL, [SLICE], {}, "Kueue says when it runs"),
        ({}, "Require", URL, [SLICE], {}, "Kueue says when it runs"),
        ({}, "Ignore", None, [SLICE], {}, "it has no URL"),
        ({}, "Ignore", URL | {"servicePort": 443}, [SLICE], {}, "speaks HTTPS itself"),
        ({}, "Ignore", URL, [SLICE], OTHERS, "too many URLs"),
        ({}, "Ignore", URL, [], {}, "no ready pod"),
    ],
)
def test_what_cannot_be_woken_does_not_sleep(
    own: Object, queue: str, target: Object | None, activators: list[Object], hosts: dict[str, str], obstacle: str | None
) -> None:
    policy, job = NestedClassSpec.model_validate({"queue": {"kueue": queue}}), build_job()
    job["metadata"] |= {"labels": own}
    said = decide.find_obstacle(job, policy, [(None, target)] if target else [], activators, hosts)
    assert obstacle in said if obstacle and said else said is obstacle is None


ASLEEP = {"state": "Asleep", "since": "s", "generation": 1, "wake": "a"}
WAKING = ASLEEP | {"state": "Waking"}
AWAKE = ASLEEP | {"state": "Awake"}


def became(state: str, **more: Any) -> Object:
    return ASLEEP | {"state": state, "since": "now"} | more


@pytest.mark.parametrize(
    ("job", "is_due", "is_called", "is_ending", "expected"),
    [
        (build_job(), False, False, False, None),
        (build_job(), True, False, False, became("Asleep")),
        (build_job(asleep=AWAKE | {"generation": 0}), True, False, False, became("Asleep")),
        (build_job(asleep=AWAKE), False, True, False, AWAKE),
        (build_job("False", asleep=ASLEEP), False, False, False, ASLEEP),
        (build_job("False", asleep=ASLEEP), False, True, False, became("Waking")),
        (build_job("False", asleep=ASLEEP | {"wake": "b"}), False, False, False, became("Waking", wake="b")),
        (build_job("False", asleep=ASLEEP | {"generation": 0}), False, False, False, became("Waking", generation=0)),
        (build_job("False", asleep=ASLEEP) | {"spec": {"suspend": True}}, False, False, False, became("Waking")),
        (build_job("False", asleep=ASLEEP, rerun="another"), False, False, False, became("Waking")),
        (build_job("False", asleep=WAKING), True, True, False, WAKING),
        (build_job(asleep=WAKING), False, True, True, WAKING),  # it is not ready for long: its pods are still being stopped
        (build_job(asleep=WAKING), False, True, False, became("Awake")),
        (build_job("False", asleep=WAKING) | {"spec": {"suspend": True}}, False, False, False, became("Awake")),
        (build_job("False", asleep=WAKING, completionTime="c"), False, False, False, became("Awake")),
    ],
)
def test_what_becomes_of_a_job_follows_from_what_is_recorded(
    job: Object, is_due: bool, is_called: bool, is_ending: bool, expected: Object | None
) -> None:
    job["metadata"]["annotations"] = {labels.WAKE: "a"} | ({labels.RERUN: "one"} if "rerun" in job["status"] else {})
    assert decide.decide(job, is_due=is_due, is_called=is_called, is_ending=is_ending, now="now") == expected


@pytest.mark.parametrize(
    ("said", "missing"), [("team/shop", {}), ("team/shop is called", {}), ("team/shop2", True), (None, True)]
)
def test_each_host_is_told_with_its_own_job(said: str | None, missing: bool | Object) -> None:
    hosts = {"shop-team.example.com": said} if said else {}
    expected = {"shop-team.example.com": "team/shop"} if missing else {}
    assert decide.list_missing(build_job(targets=[URL, {"serviceName": "api"}]), hosts) == expected


def test_each_exposed_port_of_a_service_leads_to_the_activator() -> None:
    ports = [{"name": "http", "port": 80}, {"name": "admin", "port": 81}, {"port": 82}]
    service = {"metadata": {"name": "web-x", "namespace": "nestor-team-shop"}, "spec": {"ports": ports}}
    own = SLICE | {"metadata": {"name": "act-1"}, "addressType": "IPv4"}
    (made,) = decide.build_slices(service, [82, 80, 80], [own])
    assert made["metadata"]["name"] == "web-x-asleep-ipv4"
    assert [(item["name"], item["port"]) for item in made["ports"]] == [("http", 8080), ("", 8080)]
    assert made["endpoints"] == SLICE["endpoints"]
