"""The reader: the operator makes its pod, reads the AppDef from its log, and what went wrong from its exit code."""

from __future__ import annotations

from enum import IntEnum

IMAGE_FOLDER = "/app"
"""Where the app image is mounted."""
OUTPUT_LIMIT = 2**19
"""Bytes of the AppDef without its icon: it has to fit into a ConfigMap, and into the operator's memory for each job."""


class Exit(IntEnum):
    """What the reader found."""

    READ = 0
    MISSING = 10
    """The image has no such file."""
    UNREADABLE = 11
    """The file cannot be read by the reader's user, or is not a regular file."""
    TOO_BIG = 12
    INVALID = 13
    """Not JSON, or JSON that cannot be an AppDef."""
    NO_VOLUME = 14
    """The volume with the image is missing: the host's API server dropped it from the pod."""
    CRASHED = 70
    """A bug or an unforeseen error. Python's own code for it, 1, would not tell them apart."""


FAULTS = frozenset({Exit.MISSING, Exit.UNREADABLE, Exit.TOO_BIG, Exit.INVALID})
"""What is wrong with the image itself. Images do not change, so it is not read again."""
