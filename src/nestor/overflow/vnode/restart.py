"""The one way to begin anew: the process ends, and its container starts again within a second. Pods run on meanwhile."""

from __future__ import annotations


class Restart(Exception):
    """What this process was started with is not so any more."""


class IdentityRefused(Restart):
    """The API server does not accept a node's certificate any more, although it is valid: its authorities were replaced."""
