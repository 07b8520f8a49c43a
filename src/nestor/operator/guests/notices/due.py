"""Which notices a job owes the sinks of its class, and what they say. Pure. A notice comes to be in the write of the status that
brings the condition that it tells of: none is lost with the operator, and a new sink is not told of what was before.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from nestor.api import conditions, labels
from nestor.api.class_choice import find_class_name
from nestor.api.notices import MESSAGE_LIMIT, NoticeType
from nestor.objects import Object, status_of

_TYPES: Final[dict[str, dict[str, NoticeType]]] = {
    conditions.READY: {"True": "Ready"},
    conditions.SUCCEEDED: {"True": "Succeeded", "False": "Failed"},
}
_API = f"{labels.GROUP}/v1alpha1"
_FACTS = {key: key for key in ("command", "url", "startTime", "completionTime", "restarts")} | {"namespace": "hostNamespace"}


def update_notices(
    old: Object, new: Object, uid: str, sinks: Collection[str] | None, settled: Collection[tuple[str, str]]
) -> list[Object]:
    """What sinks are still to be told with the status `new`, of each type the latest. `sinks`: the names of the class's, None if
    that is not known. `settled`: sinks, and IDs of what need not be sent again.
    """
    found = {item["type"]: item for item in old.get("notices") or ()}
    for kind, types in _TYPES.items():
        now, before = (conditions.find(status.get("conditions"), kind) or {} for status in (new, old))
        told, time = types.get(now.get("status", "")), now.get("lastTransitionTime", "")
        if told is not None and now["status"] != before.get("status"):
            made = {"type": told, "id": f"{uid}.{told.lower()}.{time}", "time": time, "reason": now.get("reason", "")}
            found[told] = made | {"message": now.get("message", "")[:MESSAGE_LIMIT], "sinks": list(sinks or ())}
    for item in list(found.values()):
        left = [name for name in item["sinks"] if (sinks is None or name in sinks) and (name, item["id"]) not in settled]
        found[item["type"]] = item | {"sinks": left}
    return [item for item in found.values() if item["sinks"]]


def write_event(job: Object, notice: Object) -> Object:
    """The CloudEvent, as its JSON format has it. docs/notices.md says what is in it."""
    meta, status = job["metadata"], status_of(job)
    about = {"apiVersion": _API, "kind": "NestedAppJob"} | {key: meta[key] for key in ("namespace", "name", "uid")}
    said = {"className": find_class_name(job)} | {key: notice.get(key, "") for key in ("reason", "message")}
    return {
        "specversion": "1.0",
        "id": notice["id"],
        "source": f"/apis/{_API}/namespaces/{meta['namespace']}/nestedappjobs/{meta['name']}",
        "type": f"dev.nestor.job.{notice['type'].lower()}",
        "subject": f"{meta['namespace']}/{meta['name']}",
        "time": notice["time"],
        "datacontenttype": "application/json",
        "data": about | said | {name: status[key] for key, name in _FACTS.items() if key in status},
    }
