"""What a NestedCluster's status says of its run, its outcome and its gangs, which the syncer reads and writes."""

from typing import Annotated, Literal

from nestor.api.base import list_map
from nestor.api.data import Limits, field, part
from nestor.api.placement import NodeRequirement


@part()
class StepStatus:
    """Progress of one step."""

    name: str = field(description="The step's name in the AppDef.", max_length=253)
    type: str = field(default="", description="The step's type, such as `kubectl`.", max_length=63)
    state: Literal["Pending", "Running", "Retrying", "Succeeded", "Failed"] = field(
        default="Pending",
        description="`Pending` (not started yet), `Running`, `Retrying` (failed, will be retried), `Succeeded`, or "
        "`Failed` (no attempts left).",
    )
    attempt: int = field(default=0, description="Number of the current or last attempt; 0 before the first.", ge=0)
    max_attempts: int = field(default=1, description="Maximum number of attempts: the first one and all retries.", ge=0)
    start_time: str | None = field(default=None, description="When the first attempt started (RFC 3339).", max_length=64)
    completion_time: str | None = field(
        default=None, description="When the step succeeded or finally failed (RFC 3339).", max_length=64
    )
    exit_code: int | None = field(default=None, description="Exit code of the last attempt.")
    message: str = field(default="", description="Last lines of output of a failed attempt.", max_length=32768)
    hash: str | None = field(default=None, description="Hash of everything that determines what the step does.", max_length=128)
    sha256: str | None = field(default=None, description="SHA-256 checksum of what the step downloaded.", max_length=64)
    starts: int | None = field(
        default=None,
        description="How often the current attempt was started: more than once if the runner's pod died during it.",
        ge=0,
    )


Steps = Annotated[list[StepStatus], Limits(max_length=200, json_schema_extra=list_map("name"))]


@part()
class RunStatus:
    """Progress of the job's steps, as the runner recorded it in the nested cluster."""

    version: int = field(default=1, description="Version of this format.", ge=1)
    hash: str = field(default="", description="Hash of the plan that is run.", max_length=128)
    base: str = field(
        default="", description="Identifies the templates and the cluster's data that the run is based on.", max_length=128
    )
    state: Literal["Running", "Succeeded", "Failed"] = field(default="Running", description="`Running`, `Succeeded` or `Failed`.")
    steps: Steps = field(default_factory=list, description="The steps, in order.")


@part()
class Outcome:
    """Whether and how the application has ended, as judged by the policies in `spec`."""

    state: Literal["Running", "Succeeded", "Failed"] = field(default="Running", description="`Running`, `Succeeded` or `Failed`.")
    message: str = field(
        default="", description="The objects that decided the outcome, or that are still awaited.", max_length=4096
    )
    server_uid: str = field(
        default="", written="serverUID", description="UID of the server pod that was observed.", max_length=64
    )


Time = Annotated[str, Limits(max_length=20, pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?$")]
"""In UTC; empty for none."""


@part()
class GangStatus:
    """A gang of pods, as the operator decided."""

    name: str = field(description="Key of the gang: the label `nestor.dev/gang` of its host pods.", max_length=63)
    gang: str = field(default="", description="Its namespace and name in the nested cluster.", max_length=512)
    state: Literal["Waiting", "Released", "Started"] = field(
        default="Waiting",
        description="`Waiting`: its pods are held until one place has room for all. `Released`: there is room, and they are on "
        "their way to nodes. `Started`: all have had nodes; further pods of it go to the same place.",
    )
    round: int = field(
        default=1, description="How often it was tried. Pods that were let go in an earlier round are taken back.", ge=1
    )
    place: str = field(
        default="",
        description="The place that has room: a backend's name, or `host` for the host cluster's own nodes.",
        max_length=253,
    )
    nodes: Annotated[list[NodeRequirement], Limits(max_length=64)] = field(
        default_factory=list, description="What labels of that place's nodes must meet."
    )
    since: Time = field(default="", description="When the state last changed (RFC 3339).")
    retry_time: Time = field(default="", description="When a gang that was taken back is tried again (RFC 3339).")
    message: str = field(default="", description="What it waits for, or why it has that place.", max_length=4096)
