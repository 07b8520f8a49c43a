"""Reads the bodies of answers. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import from_json

from nestor.api.objects import Object
from nestor.overflow.interlink import discovery, nunet
from nestor.overflow.interlink.wire import Created, Peer, Ping, PodAnswer
from nestor.pods.providers.base import Shape
from nestor.pods.providers.errors import Unreachable
from nestor.pods.providers.words import cut, cut_name

_STATES = ("waiting", "running", "terminated")
_JOB_LIMIT = 256


def read_job(content: bytes, uid: str) -> str | None:
    """The backend's own name of a created pod, empty if it has none; None if the answer is not about this pod."""
    try:
        found = from_json(content)
        created = Created.model_validate(found[0] if isinstance(found, list) and found else found)
    except (ValueError, ValidationError):
        return None
    if created.uid != uid and (created.uid or not created.job):
        return None
    return cut(created.job, _JOB_LIMIT)


def read_statuses(content: bytes, uids: Collection[str]) -> dict[str, PodAnswer]:
    """What the answer says about the pods that were asked about; malformed entries are left out.

    An entry without a job and without any container's state says nothing: some plugins answer so for pods that they do not know.
    Raises `Unreachable` if the answer is no list.
    """
    entries = _parse(content, "/status")
    if not isinstance(entries, list | None):
        raise Unreachable("the backend answered /status with something that is no list")
    found: dict[str, PodAnswer] = {}
    for entry in entries or []:
        try:
            answer = PodAnswer.model_validate(entry)
        except ValidationError:
            continue
        if answer.uid in uids and is_known(answer):
            found.setdefault(answer.uid, answer)
    return found


def is_known(answer: PodAnswer) -> bool:
    """True if the backend has the pod."""
    states = [item.get("state") for item in (*answer.init_containers, *answer.containers)]
    return bool(answer.job) or any(state.get(key) is not None for state in states if isinstance(state, dict) for key in _STATES)


def read_ping(content: bytes) -> Shape | None:
    """What the answer to `/pinglink` says about the backend's machines; None for free text."""
    try:
        found = from_json(content)
    except ValueError:
        return None
    return discovery.build_shape(_validate(Ping, found, "/pinglink")) if isinstance(found, dict) else None


def read_peers(content: bytes, path: str) -> list[Shape]:
    """What a list of peers says, or a map of their sums. Raises `Unreachable`."""
    found = _parse(content, path)
    if isinstance(found, dict):
        amounts: TypeAdapter[dict[str, float]] = TypeAdapter(dict[str, float])
        try:
            return [nunet.build_whole(amounts.validate_python(found))]
        except ValidationError:
            raise Unreachable(f"the backend's answer to {path} is malformed: each resource must be a number") from None
    if not isinstance(found, list):
        raise Unreachable(f"the backend answered {path} with neither peers nor resources")
    nunet.check_count(len(found))
    return nunet.build_shapes([_validate(Peer, item, path) for item in found])


def _parse(content: bytes, path: str) -> Any:
    try:
        return from_json(content)
    except ValueError:
        raise Unreachable(f"the backend answered {path} with something that is not JSON") from None


_M = TypeVar("_M", bound=BaseModel)


def _validate(model: type[_M], found: Object, path: str) -> _M:
    try:
        return model.model_validate(found)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise Unreachable(f"the backend's answer to {path} is malformed: `{cut_name(where)}`") from None
