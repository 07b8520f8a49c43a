"""What an API server can answer that callers tell apart; everything else stays an `ApiError`."""

import json
from typing import Any


class ApiError(Exception):
    """An answer of an API server outside 2xx.

    `status` is the HTTP status, `reason` the server's CamelCase word (may be empty), `message` its sentence.
    """

    def __init__(self, status: int, reason: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.details = details or {}

    @property
    def is_transient(self) -> bool:
        """True when the same request may succeed later without anybody changing anything."""
        return self.status == 429 or self.status >= 500

    @property
    def is_replaced(self) -> bool:
        """True when the request named a UID, and the name is another object's by now."""
        fields = [cause.get("field") for cause in self.details.get("causes") or ()]
        return "UID in precondition" in self.message or "metadata.uid" in fields


class NotFound(ApiError):
    """404: the object, its kind or its namespace is not there."""


class Conflict(ApiError):
    """409: somebody else changed or created the object first; read it again."""

    @property
    def already_exists(self) -> bool:
        """True when a create met an existing object, False for a stale resourceVersion."""
        return self.reason == "AlreadyExists"


class Forbidden(ApiError):
    """403: our role, an admission policy or a quota says no."""

    @property
    def is_terminating(self) -> bool:
        """True when it is only that the namespace is being deleted."""
        return any(cause.get("reason") == "NamespaceTerminating" for cause in self.details.get("causes") or ())


class Gone(ApiError):
    """410: the resource version of a watch or list is too old; start over."""


class Invalid(ApiError):
    """400 or 422: the server refuses the object itself; trying again cannot help."""


class Unreachable(ApiError):
    """No answer at all: connection refused, reset, timed out, or TLS failed."""

    def __init__(self, message: str) -> None:
        super().__init__(503, "Unreachable", message)


class TooLong(Unreachable):
    """An answer of more bytes than were wanted: the rest of it was not read."""


_BY_STATUS: dict[int, type[ApiError]] = {400: Invalid, 403: Forbidden, 404: NotFound, 409: Conflict, 410: Gone, 422: Invalid}


def from_response(status: int, body: bytes) -> ApiError:
    """The error for an answer; reads the server's `Status` object where there is one."""
    reason, message, details = "", body[:500].decode(errors="replace"), None
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = None
    if isinstance(parsed, dict) and parsed.get("kind") == "Status":
        reason = parsed.get("reason") or ""
        message = parsed.get("message") or message
        details = parsed.get("details")
    return _BY_STATUS.get(status, ApiError)(status, reason, message, details)
