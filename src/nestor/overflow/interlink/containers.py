"""Reads container statuses of an answer: only fields that a kubelet sets, with texts cut. Pure."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from nestor.api.objects import Object
from nestor.pods.providers.words import cut

_INT32 = 2**31 - 1
_REASON_LIMIT, _MESSAGE_LIMIT, _NAME_LIMIT = 128, 4096, 512


def _limited(limit: int) -> BeforeValidator:
    return BeforeValidator(lambda value: cut(value, limit) if isinstance(value, str) else value or "")


_Reason = Annotated[str, _limited(_REASON_LIMIT)]
_Message = Annotated[str, _limited(_MESSAGE_LIMIT)]
_Name = Annotated[str, _limited(_NAME_LIMIT)]


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)


class Waiting(_Part):
    """Why a container does not run."""

    reason: _Reason = ""
    message: _Message = ""


class Running(_Part):
    """Since when it runs."""

    started_at: str | None = None


class Terminated(_Part):
    """How it has ended."""

    exit_code: Annotated[int, Field(ge=-_INT32, le=_INT32)] = 0
    signal: Annotated[int, Field(ge=0, le=_INT32)] = 0
    reason: _Reason = ""
    message: _Message = ""
    started_at: str | None = None
    finished_at: str | None = None
    container_id: Annotated[str, _limited(_NAME_LIMIT), Field(alias="containerID")] = ""


class State(_Part):
    """One of the three; none if the backend does not say."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerAnswer(_Part):
    """One container's status, as a backend tells it."""

    name: str
    state: State = State()
    last_state: State = State()
    ready: bool = False
    started: bool | None = None
    restart_count: Annotated[int, Field(ge=0, le=_INT32)] = 0
    image: _Name = ""
    image_id: Annotated[str, _limited(_NAME_LIMIT), Field(alias="imageID")] = ""
    container_id: Annotated[str, _limited(_NAME_LIMIT), Field(alias="containerID")] = ""


def read_containers(answers: list[Object]) -> dict[str, ContainerAnswer]:
    """The statuses by container name. Malformed ones are left out: nothing is known of such a container."""
    found: dict[str, ContainerAnswer] = {}
    for answer in answers:
        try:
            status = ContainerAnswer.model_validate(_without_nulls(answer))
        except ValidationError:
            continue
        found.setdefault(status.name, status)
    return found


def _without_nulls(value: Any) -> Any:
    """Go writes null for what is empty."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value
