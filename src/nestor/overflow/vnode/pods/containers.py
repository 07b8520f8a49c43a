"""The status of one container: what a backend says of it, as far as API servers accept that after what they have. Pure."""

from collections.abc import Mapping

from nestor.api import times
from nestor.api.objects import Object, spec_of
from nestor.api.quantities import parse_quantity
from nestor.overflow.statuses import ContainerAnswer
from nestor.pods.translate.container_status import build_placeholder, is_sidecar


def read_container(pod: Object, group: str, container: Object, said: ContainerAnswer | None, before: Object | None) -> Object:
    """`before`: what its status is so far."""
    result = before or build_placeholder(container)
    if said is None or _is_final(pod, group, container, before):
        return result
    found = said.build(container, _write_time, unknown_code=1)
    found["state"] = state = found["state"] or result["state"]
    found["lastState"] = found["lastState"] or result.get("lastState") or {}
    found["restartCount"] = max(found["restartCount"], result["restartCount"])
    if group == "containers":
        found["ready"] = "running" in state and said.ready is not False
    else:
        found["ready"] = _is_init_ready(state, said)
    found["started"] = "running" in state and said.started is not False
    if "://" not in said.container_id:
        found.pop("containerID", None)
    return found | _read_resources(container, said.resources, result.get("resources"))


def _write_time(text: str | None) -> str | None:
    try:
        return times.write(times.read(text or ""))
    except (ValueError, OverflowError):
        return None


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


def _is_init_ready(state: Object, said: ContainerAnswer) -> bool:
    ended = state.get("terminated")
    return ended["exitCode"] == 0 if ended else "running" in state and bool(said.ready)


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


def is_initialized(item: Object, *, runs_on: bool) -> bool:
    """Whether the next init container may follow the one of this status. `runs_on`: it is a sidecar."""
    if runs_on:
        return bool(item["started"]) or "terminated" in item["state"]
    return bool((item["state"].get("terminated") or {}).get("exitCode") == 0)
