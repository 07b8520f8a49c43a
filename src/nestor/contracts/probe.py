"""The probe of network policies: the operator makes two pods with policies between them, and reads one's exit code."""

from __future__ import annotations

from enum import IntEnum

OPEN_PORT = 8081
"""The policies of both pods allow it: whoever does not even get through here knows nothing."""
EGRESS_PORT = 8082
"""Only the caller's policy forbids it."""
INGRESS_PORT = 8083
"""Only the listener's policy forbids it."""
PATIENCE_SECONDS = 60
"""How long a caller tries to reach the open port."""
LAG_SECONDS = 20
"""How long policies may take to come into force for a new pod."""


class Exit(IntEnum):
    """Exit codes of the caller."""

    ENFORCED = 0
    """What is forbidden fails, and what is allowed does not."""
    NO_EGRESS = 20
    """Policies for what pods connect to have no effect."""
    NO_INGRESS = 21
    """Policies for who connects to pods have no effect."""
    NEITHER = 22
    """No policy has any effect."""
    UNREACHED = 23
    """Not even what is allowed works."""
