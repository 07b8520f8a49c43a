"""The status of one container: what a backend says of it, in the form that API servers accept. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nestor.api import times
from nestor.api.objects import Object, spec_of
from nestor.api.quantities import parse_quantity
from nestor.pods.translate.container_status import build_placeholder, is_sidecar

MESSAGE_LIMIT = 2000
REASON_LIMIT = 128
TEXT_LIMIT = 1000
"""Characters of an image's or a container's ID."""
_COUNT_LIMIT = 2**31 - 1


def cut(text: object, limit: int) -> str:
    """A text of at most `limit` characters, without characters that logs and terminals act on."""
    plain = "".join(char if char.isprintable() or char == "\n" else " " for char in str(text)[: limit + 1])
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def read_container(pod: Object, group: str, container: Object, said: Object | None, before: Object | None) -> Object:
    """The status of one container: what the backend says of it, as far as an API server accepts that after `before`."""
    result = before or build_placeholder(container)
    if said is None or _is_final(pod, group, container, before):
        return result
    count = said.get("restartCount")
    count = count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= _COUNT_LIMIT else 0
    state = _state(said.get("state")) or result["state"]
    is_running = "running" in state
    found: Object = {
        "name": container["name"],
        "image": cut(said.get("image") or container.get("image") or "", TEXT_LIMIT),
        "imageID": cut(said.get("imageID") or "", TEXT_LIMIT),
        "restartCount": max(count, result["restartCount"]),
        "ready": is_running and said.get("ready") is not False if group == "containers" else _is_init_ready(state, said),
        "started": is_running and said.get("started") is not False,
        "state": state,
        "lastState": _state(said.get("lastState")) or result.get("lastState") or {},
    }
    if isinstance(said.get("containerID"), str) and "://" in said["containerID"]:
        found["containerID"] = cut(said["containerID"], TEXT_LIMIT)
    return found | _read_resources(container, said.get("resources"), result.get("resources"))


def _read_resources(container: Object, said: object, before: object) -> Object:
    """The requests and limits that are in force, of those resources that the container asks for: a resize takes a while.

    Even if there are none: API servers let no pod be resized whose node says nothing about them. They lie between what was in
    force and what is asked for: quotas count them, and are not the backend's to fill or to empty.
    """
    if not isinstance(said, Mapping):
        return {}
    result: Object = {}
    for side in ("requests", "limits"):
        amounts = said.get(side)
        names = (container.get("resources") or {}).get(side) or {}
        last = _pick(before, side)
        if isinstance(amounts, Mapping) and (kept := {key: amounts[key] for key in names if _is_amount(amounts.get(key))}):
            result[side] = {key: _clamp(amount, str(names[key]), last.get(key)) for key, amount in kept.items()}
    return {"resources": result}


def _pick(found: object, key: str) -> Mapping[str, object]:
    value = found.get(key) if isinstance(found, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _clamp(amount: str, wanted: str, before: object) -> str:
    low, high = sorted((wanted, before if isinstance(before, str) and _is_amount(before) else wanted), key=parse_quantity)
    return max(low, min(high, amount, key=parse_quantity), key=parse_quantity)


def _is_amount(value: object) -> bool:
    try:
        return isinstance(value, str) and parse_quantity(value) >= 0
    except ValueError:
        return False


def _is_init_ready(state: Object, said: Object) -> bool:
    ended = state.get("terminated")
    return ended["exitCode"] == 0 if ended else "running" in state and said.get("ready") is True


def _is_final(pod: Object, group: str, container: Object, before: Object | None) -> bool:
    """Whether the container has ended for good: API servers accept no other state of it."""
    ended = ((before or {}).get("state") or {}).get("terminated")
    if not ended or is_sidecar(container):
        return False
    if group == "ephemeralContainers":
        return True
    policy = spec_of(pod).get("restartPolicy", "Always")
    if group == "initContainers" and policy == "Always":
        policy = "OnFailure"
    return bool(policy == "Never" or (policy == "OnFailure" and ended.get("exitCode") == 0))


def _state(said: object) -> Object | None:
    """A container's state with a kubelet's fields only; None if it is none."""
    if not isinstance(said, Mapping):
        return None
    for name in ("terminated", "running", "waiting"):
        value = said.get(name)
        if isinstance(value, Mapping):
            return {name: _STATES[name](value)}
    return None


def _waiting(said: Mapping[str, Any]) -> Object:
    return {"reason": cut(said.get("reason") or "ContainerCreating", REASON_LIMIT)} | _message(said)


def _running(said: Mapping[str, Any]) -> Object:
    return _times(said, "startedAt")


def _terminated(said: Mapping[str, Any]) -> Object:
    code = said.get("exitCode")
    code = code if isinstance(code, int) and not isinstance(code, bool) and -_COUNT_LIMIT <= code <= _COUNT_LIMIT else 1
    reason = cut(said.get("reason") or ("Completed" if code == 0 else "Error"), REASON_LIMIT)
    return {"exitCode": code, "reason": reason} | _message(said) | _times(said, "startedAt", "finishedAt")


_STATES = {"waiting": _waiting, "running": _running, "terminated": _terminated}


def _message(said: Mapping[str, Any]) -> Object:
    text = said.get("message")
    return {"message": cut(text, MESSAGE_LIMIT)} if isinstance(text, str) and text else {}


def _times(said: Mapping[str, Any], *fields: str) -> Object:
    result: Object = {}
    for field in fields:
        try:
            result[field] = times.write(times.read(said[field]))
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
    return result


def is_initialized(item: Object, *, runs_on: bool) -> bool:
    """Whether the next init container may follow the one of this status. `runs_on`: it is a sidecar."""
    if runs_on:
        return bool(item["started"]) or "terminated" in item["state"]
    return bool((item["state"].get("terminated") or {}).get("exitCode") == 0)


def items_of(value: object) -> list[Object]:
    """The objects in what should be a list of them."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
