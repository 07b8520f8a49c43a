"""The errors of providers: what a place where pods run may answer."""

from __future__ import annotations


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


class NotYet(ProviderError):
    """Not possible right now: the caller retries after a second. For example, an earlier pod still holds the name."""

    status = 503


class Unreachable(ProviderError):
    """The place does not answer, or not in time, or with nonsense. Pods that run there may be perfectly well."""

    status = 503


class Unauthorized(ProviderError):
    """The place does not accept our credentials, or they do not suffice."""

    status = 401
