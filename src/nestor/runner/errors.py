"""What goes wrong in a step before its command runs."""

from __future__ import annotations


class StepError(Exception):
    """What no retry can heal: the image, the script or the rules are as they are. The step fails at once, with this message."""


class AttemptError(Exception):
    """What the next attempt may find healed, as a server that does not answer; it counts as a failed attempt."""
