"""The errors of providers: what a place where pods run may answer, with texts that are fit for people and for API servers."""

import re
from collections.abc import Iterable

MESSAGE_LIMIT = 1024
"""Characters of an error's text that users get to see."""

_NAME_LIMIT = 100
_SHORTEST_SECRET = 6


class ProviderError(Exception):
    """The base of all provider errors. `message` is shown to the pod's owner; `status` is the equivalent HTTP status."""

    status = 500

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status or self.status


class NotFound(ProviderError):
    """No pod with that UID exists (any more)."""

    status = 404


class InvalidInput(ProviderError):
    """The provider rejects this pod or change. The message says why: a field, a policy, a quota.

    The owner is told. The same request can only succeed after the provider's rules or quotas have changed.
    """

    status = 400


class NoRoom(InvalidInput):
    """There is no room for this pod, nor for any of its size, until others have ended or a quota was raised."""

    status = 403


class Rejected(ProviderError):
    """The place has not taken this pod, and says why in words of its own: nobody can tell whether for now or for good."""


class NotYet(ProviderError):
    """Not possible right now: the caller retries after a second. For example, an earlier pod still holds the name."""

    status = 503


class Unreachable(ProviderError):
    """The place does not answer, or not in time, or with nonsense. Pods that run there may be perfectly well."""

    status = 503


class Unauthorized(ProviderError):
    """The place does not accept our credentials, or they do not suffice."""

    status = 401


def cut(text: object, limit: int = MESSAGE_LIMIT) -> str:
    """`text` without control characters and the like, and no longer than `limit`."""
    printable = (char if char.isprintable() or char in "\n\t" else "\0" for char in str(text)[: limit * 2])
    clean = re.sub("\0+", " ", "".join(printable)).strip()
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def cut_name(text: str) -> str:
    """The beginning of what should be a name, in one line."""
    return " ".join(cut(text, _NAME_LIMIT).split())


def hide(text: str, secrets: Iterable[str]) -> str:
    """`text` with our credentials masked: a server may repeat what it was sent."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***")
    return text
