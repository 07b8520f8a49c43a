"""The plan: what the runner does, step by step, as `plan.json` carries it from the operator to the runner's pod."""

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from nestor.api import faults

DEFAULT_RETRY = 0
DEFAULT_RETRY_SLEEP_SECONDS = 5
DEFAULT_TIMEOUT_SECONDS = 300
"""Of `kubectl apply`, which waits for nothing."""
LONG_TIMEOUT_SECONDS = 3600
"""Of scripts and helm, which wait for what they install: KubeAI in the KNS tutorial takes ten minutes."""
DEFAULT_START_TIMEOUT_SECONDS = 600


class PlanError(Exception):
    """An AppDef that makes no plan: `messages` holds one sentence per fault, each naming the field and what is allowed.

    `warnings`: what is worth knowing besides.
    """

    def __init__(self, messages: list[str], warnings: Iterable[str] = ()) -> None:
        super().__init__(faults.join(messages))
        self.messages = messages
        self.warnings = tuple(warnings)


class Model(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, defer_build=True)


class Helm(Model):
    """What a `helm` step installs, besides the chart that its `path` names."""

    release: str
    chart: str | None = None
    """Remote chart, where the step has no `path`: `oci://…`, an `https://` archive, or a name in `repo`."""
    repo: str | None = None
    version: str | None = None
    values: dict[str, Any] = Field(default_factory=dict)
    values_files: tuple[str, ...] = ()
    """Relative to the templates folder; later ones win, `values` win over all."""
    wait: bool = True
    create_namespace: bool = True


class Step(Model):
    """One step with its retry rules already resolved."""

    name: str
    type: str
    """A key of `nestor.apps.steps.types.TYPES`."""
    hash: str = ""
    """Changes with what the step does; not with how often or how long it is tried."""
    path: str | None = None
    """Relative to the templates folder: a file or folder (kubectl), a folder (kustomize), a chart (helm). A URL where `format`
    says so."""
    format: Literal["file", "url"] = "file"
    sha256: str | None = None
    """Checksum that a download must have."""
    cmd: str | None = None
    """The script of a `custom` step, in base64."""
    namespace: str | None = None
    """Namespace for objects that name none."""
    server_side: bool = False
    """Whether kubectl applies by server-side apply."""
    helm: Helm | None = None
    render: bool = False
    """Whether the step's files, script or values are Jinja2 templates of the plan's parameters."""
    retry: int = Field(default=DEFAULT_RETRY, ge=0)
    """Re-attempts after the first attempt."""
    retry_sleep_seconds: int = Field(default=DEFAULT_RETRY_SLEEP_SECONDS, ge=0)
    final_exit_codes: tuple[int, ...] = ()
    """Exit codes of a script that no retry can heal."""
    timeout_seconds: int = Field(default=DEFAULT_TIMEOUT_SECONDS, ge=1)
    """Limit of one attempt; an attempt that passes it is ended and counts as failed."""

    @property
    def max_attempts(self) -> int:
        return self.retry + 1


class Remote(Model):
    """What a step may fetch from elsewhere."""

    enabled: bool = True
    allowed_hosts: tuple[str, ...] = ()
    """Host names, or `*.example.com`; none: any."""
    denied_addresses: tuple[str, ...] = ()
    """Addresses and ranges that are refused in addition to the node's and the cloud's own: the host's API server."""
    max_bytes: int = Field(default=16 * 2**20, ge=1)


class Plan(Model):
    """All steps in their order. `hash` changes with anything that the runner does; its pod is then replaced."""

    version: Literal[1] = 1
    hash: str
    base: str = ""
    """Changes when earlier progress no longer counts: other templates, a cluster that lost its data, a rerun."""
    steps: tuple[Step, ...]
    parameters: dict[str, Any] = Field(default_factory=dict)
    """The job's parameters, checked and with their defaults: what templates are rendered with."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Those of them that scripts get as environment variables."""
    facts: dict[str, str] = Field(default_factory=dict)
    """About the job: `name`, `namespace`, `host`, `url`; rendered as `job.name` …"""
    remote: Remote = Field(default_factory=Remote)
    start_timeout_seconds: int = Field(default=DEFAULT_START_TIMEOUT_SECONDS, ge=1)
    """How long the runner waits for the nested API server."""

    def to_json(self) -> str:
        return self.model_dump_json(by_alias=True, indent=1)
