"""A notice as a CloudEvent, and as an HTTP request. What is in it is said in docs/notices.md. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nestor import times
from nestor.api import labels
from nestor.api.class_choice import find_class_name
from nestor.api.notices import Sink
from nestor.objects import Object
from nestor.values import dataclass

if TYPE_CHECKING:
    from cloudevents.core.bindings.http import HTTPMessage

API_VERSION, KIND, PLURAL = f"{labels.GROUP}/v1alpha1", "NestedAppJob", "nestedappjobs"
TYPE_PREFIX = "dev.nestor.job."
_FACTS = ("command", "url", "namespace", "startTime", "completionTime", "restarts")
_CONTENT_TYPE = "application/json"


@dataclass(frozen=True)
class Letter:
    """One notice, ready to be sent."""

    id: str
    type: str
    """As in the status: `Ready`, `Succeeded` or `Failed`."""
    time: str
    """When it came to be (RFC 3339)."""
    attributes: Object
    """The other attributes of its CloudEvent."""
    data: Object


def write_letter(job: Object, status: Object, notice: Object, source: str = "") -> Letter:
    """The letter for a notice in a status of the job. `source`: what the event's source begins with."""
    meta = job["metadata"]
    facts = {("hostNamespace" if key == "namespace" else key): status[key] for key in _FACTS if key in status}
    data = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "className": find_class_name(job | {"status": status}),
        "reason": notice.get("reason", ""),
        "message": notice.get("summary", ""),
        **facts,
    }
    attributes = {
        "specversion": "1.0",
        "id": notice["id"],
        "source": f"{source.rstrip('/')}/apis/{API_VERSION}/namespaces/{meta['namespace']}/{PLURAL}/{meta['name']}",
        "type": TYPE_PREFIX + notice["type"].lower(),
        "subject": f"{meta['namespace']}/{meta['name']}",
        "datacontenttype": _CONTENT_TYPE,
    }
    return Letter(notice["id"], notice["type"], notice["time"], attributes, data)


def build_request(letter: Letter, sink: Sink) -> HTTPMessage:
    """Headers and body of the request, in the mode that the sink wants."""
    # Only where a class has a sink, and few have.
    from cloudevents.core.bindings import http  # noqa: PLC0415
    from cloudevents.core.formats.json import JSONFormat  # noqa: PLC0415
    from cloudevents.core.v1.event import CloudEvent  # noqa: PLC0415

    event = CloudEvent({**letter.attributes, "time": times.read(letter.time)}, dict(letter.data))
    convert = http.to_binary if sink.mode == "Binary" else http.to_structured
    return convert(event, JSONFormat())
