"""The reader: the operator creates its pod, and reads the AppDef from its log and any failure from its exit code."""

from enum import IntEnum

IMAGE_FOLDER = "/app"
OUTPUT_LIMIT = 2**19
"""Maximum size of the AppDef without its icon, in bytes. It must fit into a ConfigMap, and the operator holds one per job."""


class Exit(IntEnum):
    """Exit codes of the reader."""

    READ = 0
    MISSING = 10
    """The image contains no AppDef."""
    UNREADABLE = 11
    """The reader's user may not read the file, or it is not a regular file."""
    TOO_BIG = 12
    INVALID = 13
    """The file is not JSON, or cannot be an AppDef."""
    NO_VOLUME = 14
    """The image volume is missing: the host API server dropped it from the pod."""
    CRASHED = 70
    """A bug or an unexpected error. Python's own exit code for that, 1, is too ambiguous."""


FAULTS = frozenset({Exit.MISSING, Exit.UNREADABLE, Exit.TOO_BIG, Exit.INVALID})
"""Exit codes that mean a fault of the image. Images do not change, so the operator does not retry."""
