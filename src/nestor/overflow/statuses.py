"""The statuses of containers, as backends tell them: only what a kubelet sets, with texts cut. Pure."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from nestor.api.objects import Object
from nestor.pods.providers.errors import cut

REASON_LIMIT, MESSAGE_LIMIT = 128, 2000
_NAME_LIMIT = 1000
"""Characters of an image's or a container's ID."""
_INT32 = 2**31 - 1

WriteTime = Callable[[str | None], str | None]
"""A time as it is written; None: it is left out."""


def _limited(limit: int) -> BeforeValidator:
    return BeforeValidator(lambda value: cut(value, limit) if isinstance(value, str) else value or "")


_Reason = Annotated[str, _limited(REASON_LIMIT)]
_Message = Annotated[str, _limited(MESSAGE_LIMIT)]
_Name = Annotated[str, _limited(_NAME_LIMIT)]


class Lenient(BaseModel):
    """Go writes null for what is empty: it is left out, as is what nobody knows."""

    # Built when first used: a process that has no pods yet does not need what that imports.
    model_config = ConfigDict(populate_by_name=True, extra="ignore", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value


class _Part(Lenient):
    model_config = ConfigDict(alias_generator=to_camel)


class _Waiting(_Part):
    reason: _Reason = ""
    message: _Message = ""


class _Running(_Part):
    started_at: str | None = None


class _Terminated(_Part):
    exit_code: Annotated[int, Field(ge=-_INT32, le=_INT32)] | None = None
    reason: _Reason = ""
    message: _Message = ""
    started_at: str | None = None
    finished_at: str | None = None


class State(_Part):
    """One of the three; none if the backend does not say."""

    waiting: _Waiting | None = None
    running: _Running | None = None
    terminated: _Terminated | None = None

    def build(self, write: WriteTime, unknown_code: int) -> Object:
        """As API servers accept it; empty if nothing is said. `unknown_code`: the exit code, if that is not told."""
        if ended := self.terminated:
            code = unknown_code if ended.exit_code is None else ended.exit_code
            found: Object = {"reason": ended.reason or ("Error" if code else "Completed"), "message": ended.message}
            found |= {"startedAt": write(ended.started_at), "finishedAt": write(ended.finished_at)}
            return {"terminated": {"exitCode": code, **{key: value for key, value in found.items() if value}}}
        if self.running:
            started = write(self.running.started_at)
            return {"running": {"startedAt": started} if started else {}}
        if self.waiting:
            message = {"message": self.waiting.message} if self.waiting.message else {}
            return {"waiting": {"reason": self.waiting.reason or "ContainerCreating"} | message}
        return {}


class ContainerAnswer(_Part):
    name: str
    state: State = Field(default_factory=State)
    last_state: State = Field(default_factory=State)
    ready: bool | None = None
    started: bool | None = None
    restart_count: Annotated[int, Field(ge=0, le=_INT32)] = 0
    image: _Name = ""
    image_id: Annotated[_Name, Field(alias="imageID")] = ""
    container_id: Annotated[_Name, Field(alias="containerID")] = ""
    resources: Any = None

    def build(self, container: Object, write: WriteTime, *, unknown_code: int) -> Object:
        """The status of `container`; its states may be empty."""
        found: Object = {
            "name": container["name"],
            "state": self.state.build(write, unknown_code),
            "lastState": self.last_state.build(write, unknown_code),
            "ready": self.state.running is not None and bool(self.ready),
            "started": self.state.running is not None and self.started is not False,
            "restartCount": self.restart_count,
            "image": self.image or cut(container.get("image") or "", _NAME_LIMIT),
            "imageID": self.image_id,
        }
        return found | ({"containerID": self.container_id} if self.container_id else {})


def items_of(value: object) -> list[Object]:
    """The objects in what should be a list of them."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def read_containers(answers: object) -> dict[str, ContainerAnswer]:
    """The statuses by container name. Malformed ones are left out: nothing is known of such a container."""
    found: dict[str, ContainerAnswer] = {}
    for answer in items_of(answers):
        try:
            status = ContainerAnswer.model_validate(answer)
        except ValidationError:
            continue
        found.setdefault(status.name, status)
    return found
