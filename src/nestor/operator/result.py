"""`Result`: the outcome of a pass over one object, and when to look at the object again."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Result:
    """Every reconcile function returns one.

    Exceptions mean what they say: `RetryLater`, that something must be gone first; `Refused` and `ForeignObject`, that the user
    must act; any other error of the API, that the pass is tried again with growing delays.
    """

    retry_after: float | None = None
    """Seconds until the next pass, even without an event. None: only events trigger one."""
    problem: str | None = None
    """What is wrong, for the user."""
    error: Exception | None = None
    """What failed. The pass is retried with growing delays instead of after `retry_after`."""

    def within(self, *seconds: float | None) -> Result:
        """The same result, with the earliest of these times as the next look."""
        return replace(self, retry_after=min((item for item in (self.retry_after, *seconds) if item is not None), default=None))
