"""`Result`: what a pass over one object came to, and when to look at the object again."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Result:
    """Every reconcile function returns one.

    Exceptions mean what they say: `RetryLater`, that something must be gone first; `Refused` and `ForeignObject`, that the user
    must act; any other error of the API, that the pass is tried again with growing delays.
    """

    retry_after: float | None = None
    """Seconds until the object is looked at again although no event comes. None: events alone bring it back."""
    problem: str | None = None
    """Why something is not as it should be, for the user."""
    error: Exception | None = None
    """What failed. It is tried again with growing delays, instead of after `retry_after`."""

    def within(self, *seconds: float | None) -> Result:
        """The same, looked at again at the earliest of these times."""
        return replace(self, retry_after=min((item for item in (self.retry_after, *seconds) if item is not None), default=None))
