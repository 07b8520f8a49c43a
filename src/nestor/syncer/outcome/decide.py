"""Turns policies into criteria (what must hold for which objects), and decides the outcome from these objects. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from nestor.api import conditions, names
from nestor.api.objects import Object, is_terminating, status_of
from nestor.api.observed import Outcome
from nestor.api.policies import FailurePolicy, OutcomeTarget, SuccessPolicy
from nestor.syncer.view.watches import Selection

_NAMED = 5
_MESSAGE_LIMIT = 4000
_API_VERSIONS = {"Job": "batch/v1", "JobSet": "jobset.x-k8s.io/v1alpha2", "Pod": "v1"}
_DONE = {"Job": "Complete", "JobSet": "Completed"}
_FAILED = {"Job": "Failed", "JobSet": "Failed"}


@dataclass(frozen=True)
class Criterion:
    """What must hold for some objects: a condition is True, or (for Pods) a phase is reached."""

    selection: Selection
    condition: str = ""
    phase: str = ""

    @property
    def key(self) -> str:
        """A stable identifier of this criterion, independent of the rest of its policy."""
        chosen = self.selection
        labels = ",".join(f"{key}={value}" for key, value in chosen.labels)
        return names.digest(
            chosen.api_version, chosen.kind, chosen.namespace, chosen.name, labels, self.condition, self.phase, length=16
        )

    @property
    def word(self) -> str:
        """The awaited condition or phase, for messages."""
        return self.condition or self.phase

    def is_met(self, obj: Object) -> bool:
        """True if the criterion holds for this object.

        Never for a pod that is being deleted (on a suspend, for example): how it ends then is not the application's doing.
        """
        if is_terminating(obj) and self.selection.kind == "Pod":
            return False
        status = status_of(obj)
        if self.condition:
            return conditions.is_true(status.get("conditions"), self.condition)
        return status.get("phase") == self.phase


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
    success: tuple[Criterion, ...]
    failure: tuple[Criterion, ...]
    operator: Literal["All", "Any"] = "All"


def build_success(policy: SuccessPolicy | None) -> list[Criterion]:
    return [_criterion(target, _DONE, "Succeeded") for target in policy.targets] if policy else []


def build_failure(success: SuccessPolicy | None, failure: FailurePolicy | None) -> list[Criterion]:
    """The criteria for failure. By default, the success targets of known kinds, with their kind's own failure condition."""
    if failure is not None and failure.targets is not None:
        return [_criterion(target, _FAILED, "Failed") for target in failure.targets]
    known = [target for target in (success.targets if success else []) if target.kind in _API_VERSIONS]
    return [_criterion(replace(target, condition=None), _FAILED, "Failed") for target in known]


def _criterion(target: OutcomeTarget, by_kind: dict[str, str], phase: str) -> Criterion:
    selection = Selection(
        target.api_version or _API_VERSIONS.get(target.kind, ""),
        target.kind,
        target.namespace,
        target.name or "",
        tuple(sorted((target.match_labels or {}).items())),
    )
    condition = target.condition or by_kind.get(target.kind, "")
    return Criterion(selection, condition, "" if condition else phase)


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
    if criterion.key in memory:
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
