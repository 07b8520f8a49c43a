"""Which notices a job owes its class's sinks, and what has become of them: its `status.notices`. Pure.

A notice comes to be in the same write of the status as the condition that it tells of. So none is lost when the operator ends,
and a sink that is added later is not told of what was before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from nestor.api import conditions
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.notices import SUMMARY_LIMIT, NoticeType, Sink
from nestor.objects import Object, spec_of
from nestor.values import dataclass

_KEYS = ("sink", "type", "id", "time", "state")
PENDING: Final = "Pending"
DELIVERED: Final = "Delivered"
UNDELIVERED: Final = "Undelivered"
State = Literal["Pending", "Delivered", "Undelivered"]

Address = tuple[str, str]
"""A sink's name, and the ID of a notice to it."""


@dataclass(frozen=True)
class Report:
    """What has become of one notice."""

    state: State
    problem: str = ""
    """Why it is not delivered, for users: without the sink's address."""


@dataclass(frozen=True)
class _Change:
    """A job became ready, succeeded or failed."""

    type: NoticeType
    condition: Object


def find_sinks(job: Object, policy: NestedClassSpec | None) -> dict[str, Sink] | None:
    """The sinks that are told of the job, by name; None if its class is not known."""
    if policy is None:
        return None
    named = list_named(job)
    return {sink.name: sink for sink in policy.notices.sinks if sink.jobs == "All" or sink.name in named}


def list_named(job: Object) -> list[str]:
    """The sinks that the job names."""
    wishes = spec_of(job).get("notices")
    named = wishes.get("sinks") if isinstance(wishes, dict) else None
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []


def explain_unknown(names: Iterable[str], class_name: str, policy: NestedClassSpec) -> str | None:
    """What to tell a user whose job names sinks that its class does not have."""
    known = [sink.name for sink in policy.notices.sinks]
    unknown = [name for name in names if name not in known]
    if not unknown:
        return None
    listed, there = (", ".join(f"'{name}'" for name in some) for some in (unknown, known))
    return f"`spec.notices.sinks`: class '{class_name}' has no sink {listed}; available: {there or 'none'}"


def update_notices(
    old: Object, new: Object, uid: str, sinks: Mapping[str, Sink] | None, reports: Mapping[Address, Report]
) -> list[Object]:
    """The notices to write with the status `new`: those of `old` with what is reported of them, and those that come to be by it.

    Of each type and sink there is one, the latest.
    """
    before: list[Object] = old.get("notices") or []
    kept = [_apply(item, reports) for item in before if sinks is None or item.get("sink") in sinks]
    found = {(item.get("sink"), item.get("type")): item for item in kept}
    for change in _list_changes(old, new):
        for sink in (sinks or {}).values():
            made = _build(change, sink.name, uid)
            if change.type in sink.types and found.get((sink.name, change.type), {}).get("id") != made["id"]:
                found[sink.name, change.type] = made
    return list(found.values())


def list_pending(notices: Iterable[Object]) -> list[Object]:
    """Those to be sent, in the order in which they came to be. What is no notice of ours is left out."""
    whole = [item for item in notices if all(isinstance(item.get(key), str) for key in _KEYS)]
    return sorted((item for item in whole if item["state"] == PENDING), key=lambda item: str(item["time"]))


def list_lost(old: Object, new: Object) -> list[Object]:
    """The notices of the status `new` that were given up since `old`."""
    known = {(item.get("sink"), item.get("id")) for item in old.get("notices") or () if item.get("state") == UNDELIVERED}
    lost = [item for item in new.get("notices") or () if item.get("state") == UNDELIVERED]
    return [item for item in lost if (item.get("sink"), item.get("id")) not in known]


def _list_changes(old: Object, new: Object) -> list[_Change]:
    found: list[_Change] = []
    for kind, types in ((conditions.READY, _READY), (conditions.SUCCEEDED, _ENDED)):
        condition = conditions.find(new.get("conditions"), kind) or {}
        before = conditions.find(old.get("conditions"), kind) or {}
        told = types.get(condition.get("status", ""))
        if told is not None and condition.get("status") != before.get("status"):
            found.append(_Change(told, condition))
    return found


_READY: dict[str, NoticeType] = {"True": "Ready"}
_ENDED: dict[str, NoticeType] = {"True": "Succeeded", "False": "Failed"}


def _build(change: _Change, sink: str, uid: str) -> Object:
    time = str(change.condition.get("lastTransitionTime", ""))
    return {
        "sink": sink,
        "type": change.type,
        "id": f"{uid}.{change.type.lower()}.{time}",
        "time": time,
        "reason": change.condition.get("reason", ""),
        "summary": str(change.condition.get("message", ""))[:SUMMARY_LIMIT],
        "state": PENDING,
    }


def _apply(notice: Object, reports: Mapping[Address, Report]) -> Object:
    report = reports.get((str(notice.get("sink")), str(notice.get("id"))))
    if report is None or notice.get("state") != PENDING:
        return notice
    kept = {key: value for key, value in notice.items() if key != "problem"}
    return kept | {"state": report.state} | ({"problem": report.problem} if report.problem else {})
