"""What tests may set while the backend runs: what it offers, whom it lets in, and which faults it has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Hop = Literal["server", "plugin"]


class Fault(BaseModel):
    """One thing that goes wrong with requests."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["delay", "error", "garbage", "lost", "drop"]
    """`delay`: answered `seconds` later. `error`: status `code` with `text`. `garbage`: 200 with `text`, by default invalid JSON.
    `lost`: carried out, but the connection ends instead of an answer. `drop`: the connection ends, nothing is carried out."""
    route: str = "*"
    """The request's path without its slash, such as `create`; `*`: each."""
    hop: Hop | None = None
    """None: both."""
    seconds: float = 0
    code: int = 500
    text: str = ""
    times: int = Field(default=0, ge=0)
    """How many requests it befalls; 0: each one until the switches change."""


class Resources(BaseModel):
    """What the backend offers in all, as Kubernetes quantities; pods that do not fit now wait."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cpu: str = "4"
    memory: str = "8Gi"
    pods: str = "50"
    accelerators: dict[str, int] = {"nvidia.com/gpu": 2}
    """Counted and handed out by number, although there are none: containers get them in `ACCELERATORS`."""


class Switches(BaseModel):
    """All of them. Unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    faults: tuple[Fault, ...] = ()
    hold: bool = False
    """Whether new pods stay Pending; those that wait start when this ends."""
    forget: bool = False
    """Whether the next restart forgets every pod, and ends its containers."""
    repeat: Literal["refuse", "same"] = "refuse"
    """What a second `/create` of a pod gets: status 409, or the first one's answer. The protocol does not say."""
    hidden: tuple[str, ...] = ()
    """UIDs of pods that are missing in answers, as if unknown."""
    skew: float = 0
    """Seconds that the backend's clock is ahead in its statuses; negative: behind."""
    backoff: float = 1.0
    """Seconds until a container is started again; doubled each time, 30 at most. Kubernetes begins with 10."""
    auth: Literal["none", "bearer"] = "none"
    tokens: tuple[str, ...] = ()
    """Bearer tokens that are let in, besides those of `/token`."""
    client_id: str = "nestor"
    client_secret: str = "not-a-secret"
    token_seconds: float = 300
    not_before: float = 0
    """Tokens that `/token` issued before this time (seconds since 1970) are refused."""
    ping: Literal["json", "text"] = "json"
    """What `/pinglink` answers: resources and taints, or free text."""
    resources: Resources = Resources()
    taints: tuple[dict[str, str], ...] | None = None
    """None: the answer does not mention taints."""
    peers: Any = None
    """What `/resources` answers, NuNet's list of peers; None: 404."""


class Switchboard:
    """The switches as they are now. They survive a restart of the backend in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._left: dict[int, int] = {}
        self._listeners: list[Callable[[], None]] = []
        self.now = Switches.model_validate_json(file.read_text()) if file.exists() else Switches()

    def change(self, values: dict[str, Any]) -> Switches:
        """Replace the named switches. Raises `ValueError`, and changes nothing, when one is not possible."""
        self.now = Switches.model_validate({**self.now.model_dump(), **values})
        self._left.clear()
        self._file.write_text(self.now.model_dump_json())
        for listener in self._listeners:
            listener()
        return self.now

    def reset(self) -> Switches:
        """Set all switches to their defaults."""
        return self.change(Switches().model_dump())

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each change."""
        self._listeners.append(listener)

    def take_fault(self, hop: Hop, route: str) -> Fault | None:
        """The first fault for this request, counted as used; None: there is none."""
        for number, fault in enumerate(self.now.faults):
            if fault.route in ("*", route) and fault.hop in (None, hop):
                left = self._left.get(number, fault.times or -1)
                if left:
                    self._left[number] = left - 1
                    return fault
        return None
