"""The operator's log: in JSON, each line of a pass has the object that the pass is about, as fields."""

import contextlib
import contextvars
import json
import logging
from collections.abc import Iterator, Mapping

from nestor.api import conditions
from nestor.api.objects import Object, conditions_of

_ABOUT: contextvars.ContextVar[Mapping[str, str]] = contextvars.ContextVar("about", default={})  # noqa: B039 - never changed


@contextlib.contextmanager
def about(kind: str, namespace: str, name: str, obj: Object | None) -> Iterator[None]:
    """What is logged in this block is about that object; `obj` is its state at the beginning, if it is known."""
    found = {"kind": kind, "namespace": namespace, "name": name}
    if kind == "NestedAppJob":
        missing = (stage for stage in conditions.STAGES if not conditions.is_true(conditions_of(obj), stage))
        found = {"job": name, "namespace": namespace, "stage": next(missing, conditions.READY)}
    uid = str(((obj or {}).get("metadata") or {}).get("uid") or "")
    token = _ABOUT.set({key: value for key, value in {**found, "uid": uid}.items() if value})
    try:
        yield
    finally:
        _ABOUT.reset(token)


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Text of others is a string in it, whatever characters it has."""
        line = {
            "time": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_ABOUT.get(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)
