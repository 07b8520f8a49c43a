"""Which notices a job owes, and what becomes of them in its status."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api import conditions
from nestor.api.notices import NOTICE_TYPES, SUMMARY_LIMIT, Sink
from nestor.operator.notices.due import (
    DELIVERED,
    PENDING,
    UNDELIVERED,
    Report,
    explain_unknown,
    find_sinks,
    list_lost,
    list_pending,
    update_notices,
)
from nestor.operator.status.build import list_events
from tests.unit.operator.builders import Object, build_job, build_policy

T1, T2, T3 = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", "2026-01-01T00:00:03Z"


def sink(name: str = "portal", **fields: Any) -> Sink:
    return Sink.model_validate({"name": name, "url": "https://portal.test/"} | fields)


def status(ready: str = "", succeeded: str = "", *, ready_time: str = T1, end_time: str = T2, **more: Any) -> Object:
    """A status with these conditions."""
    found = []
    for kind, value, time in ((conditions.READY, ready, ready_time), (conditions.SUCCEEDED, succeeded, end_time)):
        if value:
            found.append({"type": kind, "status": value, "reason": f"{kind}{value}", "message": "m", "lastTransitionTime": time})
    return {"conditions": found, **more}


def update(old: Object, new: Object, *sinks: Sink, reports: Any = None) -> list[Object]:
    return update_notices(old, new, "u", {item.name: item for item in sinks}, reports or {})


def told(notices: list[Object]) -> list[str]:
    return [item["type"] for item in notices]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, status("False", "Unknown"), []),
        ({}, status("True", "Unknown"), ["Ready"]),
        (status("False", "Unknown"), status("True", "Unknown"), ["Ready"]),
        (status("True", "Unknown"), status("True", "Unknown"), []),
        (status("True", "Unknown"), status("False", "Unknown"), []),
        (status("True", "Unknown"), status("False", "True"), ["Succeeded"]),
        (status("True", "Unknown"), status("False", "False"), ["Failed"]),
        (status("False", "False"), status("False", "True"), ["Succeeded"]),
        (status("False", "True"), status("False", "True"), []),
        (status("False", "True"), status("False", "Unknown"), []),
        ({}, status("True", "True"), ["Ready", "Succeeded"]),
        (status("False"), status("False"), []),
    ],
)
def test_a_notice_comes_to_be_when_a_condition_does(old: Object, new: Object, expected: list[str]) -> None:
    assert told(update(old, new, sink())) == expected


def test_what_is_kept_of_it() -> None:
    (made,) = update({}, status("True"), sink())
    assert made == {
        "sink": "portal",
        "type": "Ready",
        "id": f"u.ready.{T1}",
        "time": T1,
        "reason": "ReadyTrue",
        "summary": "m",
        "state": PENDING,
    }


def test_a_long_message_is_cut() -> None:
    new = status("True")
    new["conditions"][0]["message"] = "x" * 2 * SUMMARY_LIMIT
    (made,) = update({}, new, sink())
    assert made["summary"] == "x" * SUMMARY_LIMIT


@pytest.mark.parametrize("kind", NOTICE_TYPES)
def test_a_sink_is_told_only_what_it_wants(kind: str) -> None:
    found = [*update({}, status("True", "True"), sink(types=[kind])), *update({}, status("False", "False"), sink(types=[kind]))]
    assert told(found) == [kind]


def test_every_sink_has_notices_of_its_own() -> None:
    found = update({}, status("True", "True"), sink("a"), sink("b", types=["Succeeded"]))
    assert [(item["sink"], item["type"]) for item in found] == [("a", "Ready"), ("a", "Succeeded"), ("b", "Succeeded")]


def test_of_a_type_only_the_latest_is_kept() -> None:
    first = update({}, status("True"), sink())
    again = update(status("False", notices=first), status("True", ready_time=T3), sink())
    assert [(item["type"], item["time"], item["state"]) for item in again] == [("Ready", T3, PENDING)]


def test_the_same_change_is_not_told_twice() -> None:
    """Two changes within a second have the same time, and so the same ID: receivers would drop the second one."""
    first = [item | {"state": DELIVERED} for item in update({}, status("True"), sink())]
    assert update(status("False", notices=first), status("True"), sink()) == first


def test_a_sink_that_is_new_is_told_nothing_old_and_one_that_is_gone_nothing_at_all() -> None:
    notices = update({}, status("True"), sink("a"))
    now = status("True", notices=notices)
    assert update(now, now, sink("a"), sink("b")) == notices
    assert update(now, now, sink("b")) == []
    assert update_notices(now, now, "u", None, {}) == notices, "its class is missing, perhaps only for a moment"
    assert update_notices(now, status("True", "True"), "u", None, {}) == notices


@pytest.mark.parametrize(
    ("state", "report", "expected"),
    [
        (PENDING, Report(DELIVERED), {"state": DELIVERED}),
        (PENDING, Report(PENDING, "no answer"), {"state": PENDING, "problem": "no answer"}),
        (PENDING, Report(UNDELIVERED, "no answer"), {"state": UNDELIVERED, "problem": "no answer"}),
        (DELIVERED, Report(UNDELIVERED, "late"), {"state": DELIVERED, "problem": "before"}),
    ],
)
def test_what_became_of_it_is_written_down(state: str, report: Report, expected: Object) -> None:
    (made,) = update({}, status("True"), sink())
    now = status("True", notices=[made | {"state": state, "problem": "before"}])
    (found,) = update(now, now, sink(), reports={("portal", made["id"]): report, ("other", made["id"]): Report(UNDELIVERED)})
    assert {key: found[key] for key in ("state", "problem") if key in found} == expected
    assert found["id"] == made["id"]


def test_pending_ones_are_sent_in_their_order() -> None:
    notices = [
        {"sink": "a", "id": "2", "type": "Succeeded", "time": T2, "state": PENDING},
        {"sink": "a", "id": "1", "type": "Ready", "time": T1, "state": PENDING},
        {"sink": "a", "id": "0", "type": "Failed", "time": T1, "state": DELIVERED},
        {"sink": "a", "id": None, "type": "Failed", "time": T1, "state": PENDING},
        {"type": "Failed", "time": T1, "state": PENDING},
    ]
    assert told(list_pending(notices)) == ["Ready", "Succeeded"]


def test_one_that_is_given_up_is_told_once() -> None:
    (made,) = update({}, status("True"), sink())
    pending, lost = (status("True", notices=[made | {"state": state, "problem": "p"}]) for state in (PENDING, UNDELIVERED))
    assert list_lost(pending, lost) == lost["notices"]
    assert list_lost(lost, lost) == list_lost(pending, pending) == []
    assert [(event.kind, event.reason, event.message) for event in list_events(pending, lost)] == [
        ("Warning", "NoticeUndelivered", "sink 'portal' was not told 'Ready': p; given up")
    ]


SINKS = [{"name": "audit", "url": "https://a.test/"}, {"name": "pager", "url": "https://p.test/", "jobs": "Named"}]


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        (None, ["audit"]),
        ({}, ["audit"]),
        ({"sinks": ["pager"]}, ["audit", "pager"]),
        ({"sinks": ["audit"]}, ["audit"]),
        ({"sinks": ["other"]}, ["audit"]),
        ({"sinks": "pager"}, ["audit"]),
        ({"sinks": [{}, "pager"]}, ["audit", "pager"]),
        ("pager", ["audit"]),
    ],
)
def test_a_job_is_told_of_to_all_sinks_of_its_class_but_those_that_it_must_name(wishes: Any, expected: list[str]) -> None:
    policy = build_policy(notices={"sinks": SINKS})
    found = find_sinks(build_job(notices=wishes), policy)
    assert found is not None
    assert list(found) == expected


def test_without_a_class_the_sinks_are_not_known() -> None:
    assert find_sinks(build_job(), None) is None


def test_a_name_that_the_class_does_not_have_is_told() -> None:
    policy = build_policy(notices={"sinks": SINKS})
    assert explain_unknown(["pager", "audit"], "default", policy) is None
    said = "`spec.notices.sinks`: class 'default' has no sink 'x', 'y'; available: "
    assert explain_unknown(["x", "pager", "y"], "default", policy) == f"{said}'audit', 'pager'"
    assert explain_unknown(["x", "y"], "default", build_policy()) == f"{said}none"
