"""Turns events of host pods, claims and snapshots into events of nested ones."""

from __future__ import annotations

from nestor import names
from nestor.objects import Object
from nestor.translate import messages

_FIELDS = (
    "type",
    "reason",
    "count",
    "firstTimestamp",
    "lastTimestamp",
    "eventTime",
    "series",
    "action",
    "reportingComponent",
    "reportingInstance",
    "source",
)
_NAME_LIMIT = 200


def build_event(event: Object, nested: Object, words: dict[str, str]) -> Object:
    """The nested event. Its name derives from the host event, so a repeated event updates it instead of adding another."""
    meta, kind = nested["metadata"], event["involvedObject"]["kind"]
    about = {
        "apiVersion": nested.get("apiVersion", "v1"),
        "kind": kind,
        "name": meta["name"],
        "namespace": meta["namespace"],
        "uid": meta["uid"],
    }
    if path := event["involvedObject"].get("fieldPath"):
        about["fieldPath"] = path
    own = {key: event[key] for key in _FIELDS if event.get(key) is not None}
    name = f"{meta['name'][:_NAME_LIMIT]}.{names.digest(event['metadata']['uid'], length=16)}"
    return own | {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": meta["namespace"]},
        "involvedObject": about,
        "message": messages.translate(event.get("message") or "", words)[:1024],
    }
