"""Decides the outcome from the objects that the policies name. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from nestor.api import conditions
from nestor.api.objects import Object, status_of
from nestor.api.observed import Outcome
from nestor.syncer.outcome.criteria import Criterion
from nestor.syncer.view.watches import Selection

_NAMED = 5
_MESSAGE_LIMIT = 4000


@dataclass(frozen=True)
class Seen:
    """The objects of a selection. `is_missing`: the nested cluster does not have that kind."""

    objects: tuple[Object, ...] = ()
    is_missing: bool = False


Find = Callable[[Selection], Seen]
Memory = Mapping[str, str]
"""Maps a criterion's key to the name of an object that met it, which counts even once it is gone (Jobs may have a TTL)."""


@dataclass(frozen=True)
class Rules:
    """The criteria of both policies."""

    success: tuple[Criterion, ...]
    failure: tuple[Criterion, ...]
    operator: Literal["All", "Any"] = "All"


def decide(rules: Rules, find: Find, memory: Memory, server_uid: str) -> Outcome:
    """The outcome. Success wins over failure: where failures are ignored, it may follow one."""
    done = [item for item in rules.success if _is_done(item, find(item.selection), memory)]
    needed = len(rules.success) if rules.operator == "All" else 1
    if rules.success and len(done) >= needed:
        return _outcome("Succeeded", (_tell_done(item, find(item.selection), memory) for item in done), server_uid)
    failed = [text for item in rules.failure if (text := _find_failure(item, find(item.selection), memory))]
    if failed:
        return _outcome("Failed", failed, server_uid)
    waiting = (_tell_waiting(item, find(item.selection)) for item in rules.success if item not in done)
    return _outcome("Running", waiting, server_uid)


def remember(rules: Rules, find: Find, memory: Memory) -> dict[str, str]:
    """The memory, updated with the current objects. A recreated object is judged afresh."""
    result = {}
    for item in {*rules.success, *rules.failure}:
        objects = find(item.selection).objects
        met = next((_name(obj) for obj in objects if item.is_met(obj)), None)
        is_other = bool(item.selection.name and objects)
        if met is not None or (item.key in memory and not is_other):
            result[item.key] = met or memory[item.key]
    return result


def _is_done(criterion: Criterion, seen: Seen, memory: Memory) -> bool:
    """All existing objects must be done; if there are none, one that was done must have existed."""
    return all(map(criterion.is_met, seen.objects)) and bool(seen.objects or criterion.key in memory)


def _find_failure(criterion: Criterion, seen: Seen, memory: Memory) -> str | None:
    failed = next((obj for obj in seen.objects if criterion.is_met(obj)), None)
    if failed is not None:
        why = _explain(criterion, failed)
        return f"{criterion.selection.kind} {_name(failed)} has failed" + (f" ({why})" if why else "")
    is_other = bool(criterion.selection.name and seen.objects)
    if criterion.key in memory and not is_other:
        return f"{criterion.selection.kind} {memory[criterion.key]} failed and no longer exists"
    return None


def _explain(criterion: Criterion, obj: Object) -> str:
    status = status_of(obj)
    if criterion.condition:
        found = conditions.find(status.get("conditions"), criterion.condition) or {}
        return ": ".join(filter(None, (found.get("reason"), found.get("message"))))
    texts = [status.get("reason"), status.get("message")]
    for item in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        if code := ((item.get("state") or {}).get("terminated") or {}).get("exitCode"):
            texts.append(f"container {item['name']} exited with code {code}")
    return ": ".join(filter(None, texts))


def _tell_done(criterion: Criterion, seen: Seen, memory: Memory) -> str:
    found = _list(map(_name, seen.objects)) or memory[criterion.key]
    return f"{criterion.selection.kind} {found} {'are' if len(seen.objects) > 1 else 'is'} {criterion.word}"


def _tell_waiting(criterion: Criterion, seen: Seen) -> str:
    chosen = criterion.selection
    if seen.is_missing:
        return f"kind {chosen.kind} of {chosen.api_version} does not exist yet"
    if seen.objects:
        unmet = _list(_name(obj) for obj in seen.objects if not criterion.is_met(obj))
        return f"waiting for {chosen.kind} {unmet} to be {criterion.word}"
    if chosen.name:
        return f"{chosen.kind} {chosen.namespace}/{chosen.name} does not exist yet"
    labels = ",".join(f"{key}={value}" for key, value in chosen.labels)
    return f"no {chosen.kind} with labels {labels} exists in namespace {chosen.namespace} yet"


def _list(found: Iterable[str]) -> str:
    ordered = sorted(found)
    more = len(ordered) - _NAMED
    return ", ".join(ordered[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _name(obj: Object) -> str:
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


def _outcome(state: Literal["Running", "Succeeded", "Failed"], texts: Iterable[str], server_uid: str) -> Outcome:
    text = "; ".join(texts)
    return Outcome(state=state, message=(text[:1].upper() + text[1:])[:_MESSAGE_LIMIT], server_uid=server_uid)
