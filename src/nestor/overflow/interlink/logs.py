"""Options of `kubectl logs` as a request for a log. Pure."""

from __future__ import annotations

import datetime

from nestor.api import times
from nestor.api.objects import Object
from nestor.overflow.interlink.wire import LogOptions, LogRequest
from nestor.pods.providers.base import Options
from nestor.pods.providers.errors import InvalidInput

_TRUE = ("true", "1")


def build_log_request(pod: Object, options: Options, now: datetime.datetime) -> LogRequest:
    """Raises `InvalidInput` for a container that the pod does not have, and for what interLink cannot ask for."""
    given = {name: value for name, value in options if value}
    meta, spec = pod["metadata"], pod["spec"]
    names = [item["name"] for item in [*spec["containers"], *(spec.get("initContainers") or [])]]
    container = given.get("container") or names[0]
    if container not in names:
        raise InvalidInput(f"container '{container}' is not one of this pod's: {', '.join(names)}")
    if given.get("stream", "All") != "All":
        raise InvalidInput("`stream` must be 'All': interLink does not tell standard output and errors apart")
    tail = _number(given, "tailLines")
    # 0 means no limit to interLink. What comes from now on is what a caller wants who wants no lines of the past.
    since = times.write(now) if tail == 0 else given.get("sinceTime")
    return LogRequest(
        namespace=meta["namespace"],
        uid=meta["uid"],
        name=meta["name"],
        container=container,
        options=LogOptions(
            tail=tail or 0,
            limit_bytes=_number(given, "limitBytes") or 0,
            timestamps=given.get("timestamps") in _TRUE,
            follow=given.get("follow") in _TRUE,
            previous=given.get("previous") in _TRUE,
            since_seconds=_number(given, "sinceSeconds") or 0,
            since_time=since,
        ),
    )


def _number(given: dict[str, str], name: str) -> int | None:
    if name not in given:
        return None
    if not given[name].isdecimal() or len(given[name]) > 18:
        raise InvalidInput(f"`{name}` must be a number")
    return int(given[name])
