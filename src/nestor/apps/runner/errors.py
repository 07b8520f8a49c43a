"""What goes wrong in a step before its command runs."""

from __future__ import annotations


class StepError(Exception):
    """A retry would fail in the same way, because the image, the script and the rules do not change. The step fails at once."""


class AttemptError(Exception):
    """A retry may succeed, for example when a server did not answer. Counts as a failed attempt."""
