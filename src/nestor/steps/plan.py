"""The plan: what the runner does, step by step, as `plan.json` carries it from the operator to the runner's pod."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

StepType = Literal["kubectl"]

DEFAULT_RETRY = 0
DEFAULT_RETRY_SLEEP_SECONDS = 5
DEFAULT_TIMEOUT_SECONDS = 300
DEFAULT_START_TIMEOUT_SECONDS = 600


class PlanError(Exception):
    """An AppDef that makes no plan: `messages` holds one sentence per fault, each naming the field and what is allowed."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__("; ".join(messages))
        self.messages = messages


class Model(BaseModel):
    """camelCase on the wire, unknown keys ignored, so that an older runner reads a newer plan."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class Step(Model):
    """One step with its retry rules already resolved."""

    name: str
    type: StepType
    path: str
    """Relative to the templates folder; a file, or a folder of files."""
    format: Literal["file"] = "file"
    retry: int = Field(default=DEFAULT_RETRY, ge=0)
    """Re-attempts after the first attempt."""
    retry_sleep_seconds: int = Field(default=DEFAULT_RETRY_SLEEP_SECONDS, ge=0)
    timeout_seconds: int = Field(default=DEFAULT_TIMEOUT_SECONDS, ge=1)
    """Limit of one attempt; an attempt that passes it is ended and counts as failed."""

    @property
    def max_attempts(self) -> int:
        """The first attempt and all re-attempts."""
        return self.retry + 1


class Plan(Model):
    """All steps in their order. `hash` changes when a step or a source of the templates does."""

    version: Literal[1] = 1
    hash: str
    steps: tuple[Step, ...]
    start_timeout_seconds: int = Field(default=DEFAULT_START_TIMEOUT_SECONDS, ge=1)
    """How long the runner waits for the nested API server."""

    def to_json(self) -> str:
        """`plan.json`."""
        return self.model_dump_json(by_alias=True, indent=1)
