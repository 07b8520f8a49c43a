"""How to reach one interLink backend, and with which credentials. The caller has read all Secrets."""

from collections.abc import Callable
from dataclasses import dataclass, field

from nestor.api.backend_kinds import Interlink


@dataclass(frozen=True)
class Tls:
    """PEM texts. Without `ca`, the system's certificate authorities count."""

    ca: str = ""
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


@dataclass(frozen=True)
class Limits:
    """How long to wait, in seconds, and how much to read, in bytes."""

    call_seconds: float = 15
    """For one answer, from the first byte of the request to the last of the answer."""
    create_seconds: float = 45
    """For the answer to `/create`: a repeated create is expensive to make safe, so it gets more time."""
    connect_seconds: float = 5
    settle_seconds: float = 60
    """After a lost answer to `/create`: how long the backend may still be busy with it. Until then, nothing is repeated."""
    silent_seconds: float = 600
    """How long a backend that answers may say nothing of a pod until it counts as lost."""
    answer_bytes: int = 1024 * 1024
    """For any answer but logs. Parsed, it takes about ten times as much."""
    bytes_per_pod: int = 8 * 1024
    """What each pod that was asked about adds to `answer_bytes`."""
    peers_bytes: int = 8 * 1024 * 1024
    """What a list of peers may have beyond `answer_bytes`."""
    restart_seconds: float = 30
    """How long a container may have ended that its pod's `restartPolicy` lets run again. Many backends run each only once."""
    log_idle_seconds: float = 60
    """Until the next bytes of a log that is not followed."""
    attempts: int = 3
    """How often to ask what may be asked again without harm, with growing pauses in between."""
    pause_seconds: float = 0.2


@dataclass(frozen=True)
class Settings:
    own: Interlink
    """What the OverflowBackend says; the rest is what its Secrets hold."""
    client_secret: str = field(default="", repr=False)
    bearer: Callable[[], str] | None = None
    """Reads the bearer token. It is called for each request, must not wait, and may raise `Unauthorized`."""
    tls: Tls = field(default_factory=Tls)
    limits: Limits = field(default_factory=Limits)
